#include "judge.h"

#include "text.h"

#include <heed/autograd/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <string_view>
#include <unistd.h>

namespace learn {
namespace {

std::string shape_of(const Numbers& x) {
  std::string text;
  for (const std::int64_t size : x.shape) text += fmt::format("{}{}", text.empty() ? "" : ", ", size);
  return "(" + text + ")";
}

// Returns the index of element i: "[1][2]".
std::string place(const Numbers& x, std::size_t i) {
  std::string text;
  for (std::size_t axis = x.shape.size(); axis-- > 0;) {
    const auto size = static_cast<std::size_t>(x.shape[axis]);
    text = fmt::format("[{}]", i % size) + text;
    i /= size;
  }
  return text;
}

// Returns the first element that differs, or the number of elements. NaN equals NaN, so that mistakes that give NaN have numbers too.
std::size_t first_difference(const Numbers& a, const Numbers& b, double tolerance) {
  double scale = 1;
  for (const double v : b.values)
    if (std::isfinite(v)) scale = std::max(scale, std::abs(v));
  for (std::size_t i = 0; i < b.values.size(); ++i) {
    const double x = a.values[i], y = b.values[i];
    const bool same = std::isnan(x) || std::isnan(y) ? std::isnan(x) && std::isnan(y)
                                                     : x == y || std::abs(x - y) <= tolerance * scale;
    if (!same) return i;
  }
  return b.values.size();
}

bool equal(const Results& a, const Results& b, double tolerance) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Numbers &x = a[i].second, &y = b[i].second;
    if (x.shape != y.shape || x.values.size() != y.values.size()) return false;
    if (first_difference(x, y, tolerance) < y.values.size()) return false;
  }
  return true;
}

std::string number(double x) { return std::isnan(x) ? "nan" : fmt::format("{:.6g}", x); }

// Returns the first difference: what was expected, and what came.
std::string difference(const Results& yours, const Results& expected, double tolerance, Language language) {
  const bool zh = language == Language::zh;
  for (std::size_t i = 0; i < expected.size() && i < yours.size(); ++i) {
    const auto& [names, right] = expected[i];
    const std::string& name = in(language, names);
    const Numbers& got = yours[i].second;
    const auto line = [&](const std::string& what, const std::string& a, const std::string& b) {
      return zh ? fmt::format("      应为    {}{}\n      实际    {}{}\n", what, a, what, b)
                : fmt::format("      expected  {}{}\n      got       {}{}\n", what, a, what, b);
    };
    if (got.shape != right.shape || got.values.size() != right.values.size())
      return line(name + (zh ? " 的形状 " : " of shape "), shape_of(right), shape_of(got));
    const std::size_t at = first_difference(got, right, tolerance);
    if (at < right.values.size())
      return line(name + place(right, at) + " = ", number(right.values[at]), number(got.values[at]));
  }
  return "";
}

bool have_equal_shapes(const Results& yours, const Results& expected) {
  return std::ranges::equal(yours, expected,
                            [](const auto& a, const auto& b) { return a.second.shape == b.second.shape; });
}

// Returns the formula behind `lead`, and below it a line that marks the parts in [[ ]]. A long formula breaks at spaces.
std::string marked(const std::string& formula, const std::string& lead) {
  std::string text, marks;
  std::size_t at = 0;
  for (std::size_t begin; (begin = formula.find("[[", at)) != std::string::npos;) {
    while (formula[begin + 2] == '[') ++begin;  // "w[[[t]]]" marks the t of w[t]
    const std::size_t end = formula.find("]]", begin);
    const std::string before = formula.substr(at, begin - at), part = formula.substr(begin + 2, end - begin - 2);
    text += before + part, marks += std::string(before.size(), ' ') + std::string(part.size(), '^');
    at = end + 2;
  }
  text += formula.substr(at);
  marks.resize(text.size(), ' ');
  const std::string indent(text_width(lead), ' ');
  const std::size_t room = line_width - indent.size();
  std::string result;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = text.size();
    if (end - begin > room) end = std::max(text.rfind(' ', begin + room), begin + 1);
    const std::string line = marks.substr(begin, end - begin);
    result += (begin == 0 ? lead : indent) + text.substr(begin, end - begin) + "\n";
    if (const std::size_t last = line.rfind('^'); last != std::string::npos)
      result += indent + line.substr(0, last + 1) + "\n";
    begin = std::max(end, std::min(text.find_first_not_of(' ', end), text.size()));
  }
  return result;
}

std::string indented(const std::string& text) {
  std::string result;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    result += wrapped("      ", text.substr(begin, end - begin), 6);
    begin = end + 1;
  }
  return result;
}

std::string page(const Step& step, Language language) {
  std::string name = step.name;
  std::replace(name.begin(), name.end(), '_', '-');
  return "learn/" + name + (language == Language::zh ? ".zh-CN.md" : ".md");
}

// What a crash, and a function that does not end, print; a handler of signals may only read it.
char crash_text[1024] = "", endless_text[1024] = "";
constexpr unsigned minutes = 10;  // of a clock, for code that waits and uses no processor time
extern "C" void on_crash(int signal) {
  const char* const text = signal == SIGALRM ? endless_text : crash_text;
  [[maybe_unused]] const auto written = write(STDOUT_FILENO, text, std::strlen(text));
  _exit(1);
}

using Print = std::function<void(const std::string&)>;

Verdict judged(const Step& step, Language language, const Print& print) {
  const bool zh = language == Language::zh;
  const std::string ending = step.in_python ? "py" : "h",
                    option = std::string(zh ? " --language zh" : "") + (step.in_python ? " --python" : "");
  Verdict verdict;
  print(zh ? fmt::format("第 {} 步：{}\n", step.number, step.title.zh)
           : fmt::format("step {}: {}\n", step.number, step.title.en));
  for (const Check& check : step.checks) {
    const auto headed = [&](const std::string& mark) {
      return wrapped("  " + mark + " ", in(language, check.what), 4);
    };
    const std::string crashed =
        headed("✗") +
        wrapped("      ",
                zh ? fmt::format("{}() 崩溃了：很可能读写了数组之外的元素。", check.function)
                   : fmt::format("{}() crashed. It probably reads or writes outside an array.", check.function),
                6);
    const std::string endless =
        headed("✗") +
        wrapped("      ",
                zh ? fmt::format("{}() 用了 {} 秒处理器时间，或者过了 {} 分钟，还没有结束：有没有不会停的循环？",
                                 check.function, seconds_of_a_step, minutes)
                   : fmt::format("{}() has not ended after {} seconds of processor time, or {} minutes. "
                                 "Is there a loop that never stops?",
                                 check.function, seconds_of_a_step, minutes),
                6);
    std::snprintf(endless_text, sizeof endless_text, "%s", endless.c_str());
    std::snprintf(crash_text, sizeof crash_text, "%s", crashed.c_str());
    const std::string& given = in(language, check.input);
    const std::string input =
        given.empty() ? "" : wrapped(zh ? "      输入    " : "      input     ", given, zh ? 14 : 16);
    Results yours, expected;
    try {
      yours = check.yours();
      expected = check.expected();
      if (equal(yours, expected, check.tolerance)) {
        print(headed("✓"));
        ++verdict.passed;
        continue;
      }
      print(headed("✗") + input + difference(yours, expected, check.tolerance, language));
    } catch (const NotWritten& missing) {
      const std::string place = fmt::format("learn/steps/{}.{}:{}", step.name, ending, missing.line);
      print(
          headed("·") +
          wrapped("      ",
                  zh ? fmt::format("{}() 还没有写：{}。", missing.function, place)
                     : fmt::format("{}() is not written yet: {}.", missing.function, place),
                  6) +
          wrapped("      ",
                  zh ? fmt::format("公式在它上面的注释里，讲解见 {}。", page(step, language))
                     : fmt::format("Its formula is in the comment there, the explanation in {}.", page(step, language)),
                  6));
      verdict.named.push_back("unwritten");
      break;
    } catch (const Endless&) {
      print(endless);
    } catch (const std::exception& error) {
      print(headed("✗") + input +
            (zh ? fmt::format("      {}() 抛出了异常：\n", check.function)
                : fmt::format("      {}() threw:\n", check.function)) +
            indented(error.what()));
    }
    std::string found;
    for (const Mistake& mistake : check.mistakes) {
      try {
        if (yours.empty() || !equal(yours, mistake.compute(), check.tolerance)) continue;
      } catch (const std::exception&) {
        continue;  // this mistake does not compute with these inputs
      }
      verdict.named.push_back(mistake.name);
      found += wrapped("      → ", in(language, mistake.what), 8) +
               (mistake.formula.empty() ? "" : marked(mistake.formula, zh ? "        公式：" : "        formula:  "));
    }
    if (!found.empty())
      print((zh ? "      你的数字与下面这个错误的数字相同：\n" : "      Your numbers equal those of this mistake:\n") +
            found);
    else if (!yours.empty() && !have_equal_shapes(yours, expected))
      print(wrapped("      ",
                    zh ? fmt::format("先看形状：{}() 上面的注释说了结果该有的形状。", check.function)
                       : fmt::format("Look at the shapes first: the comment of {}() says which shape the result has.",
                                     check.function),
                    6));
    else if (!yours.empty())
      print(
          wrapped("      ",
                  zh ? fmt::format("这些数字不属于任何已知的错误。请把 {}() 与公式逐项比较。", check.function)
                     : fmt::format("No known mistake gives these numbers. Compare {}() with its formula, term by term.",
                                   check.function),
                  6));
    break;
  }
  crash_text[0] = '\0';
  const std::size_t all = step.checks.size();
  verdict.right = verdict.passed == all;
  if (verdict.right) {
    if (step.picture) print("\n" + step.picture(language));
    print(zh ? fmt::format("\n{} 项检查全部通过。\n", all) : fmt::format("\nAll {} checks pass.\n", all));
  } else {
    print(zh ? fmt::format("\n{} 项检查通过了 {} 项。\n修改 learn/steps/{}.{}，再运行 learn/judge {}{}。\n", all,
                           verdict.passed, step.name, ending, step.number, option)
             : fmt::format("\n{} of {} checks pass.\nEdit learn/steps/{}.{}, and run learn/judge {}{} again.\n",
                           verdict.passed, all, step.name, ending, step.number, option));
  }
  return verdict;
}

}  // namespace

Step in_python(Step step) {
  step.in_python = true;
  std::erase_if(step.checks, [](const Check& check) { return check.is_recorded; });
  constexpr std::string_view member = ".output";  // a block in Python returns the tensor itself
  for (Check& check : step.checks)
    for (Mistake& mistake : check.mistakes)
      if (const auto at = mistake.formula.find(member); at != std::string::npos)
        mistake.formula.erase(at, member.size());
  return step;
}

Verdict judge(const Step& step, Language language) {
  std::string text;
  Verdict verdict = judged(step, language, [&](const std::string& part) { text += part; });
  verdict.text = text;
  return verdict;
}

int run(const Step& step, int argc, char** argv) {
  Language language = Language::en;
  for (const char* variable : {"LC_ALL", "LC_MESSAGES", "LANG"}) {
    const char* value = std::getenv(variable);
    if (value == nullptr || *value == '\0') continue;
    if (std::string_view(value).starts_with("zh")) language = Language::zh;
    break;  // the first that is set decides
  }
  std::string file;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view argument = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    if (argument == "--picture" && !value.empty()) {
      file = value;
      continue;
    }
    if (argument != "--language" || (value != "en" && value != "zh")) {
      fmt::print(stderr, "expected --language en or --language zh, got '{}'\n",
                 argument == "--language" ? value : argument);
      return 2;
    }
    language = value == "zh" ? Language::zh : Language::en;
  }
  for (const int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGALRM}) std::signal(signal, on_crash);
  alarm(60 * minutes);
  timer_t timer{};  // of this thread, which runs the step: other threads may use time while they wait
  const itimerspec limit{{}, {seconds_of_a_step, 0}};
  if (timer_create(CLOCK_THREAD_CPUTIME_ID, nullptr, &timer) == 0) timer_settime(timer, 0, &limit, nullptr);
  const Verdict verdict = judged(step, language, [](const std::string& part) {
    std::fputs(part.c_str(), stdout);
    std::fflush(stdout);
  });
  if (!verdict.right || file.empty()) return verdict.right ? 0 : 1;
  const bool zh = language == Language::zh;
  if (!step.svg) {
    fmt::print(stderr, "{}",
               zh ? "这一步没有图；第 1 步和第 6 步有。\n" : "This step has no picture; steps 1 and 6 have one.\n");
    return 2;
  }
  std::ofstream out(file);
  out << step.svg(language);
  if (!out.flush()) {
    fmt::print(stderr, "{}", zh ? fmt::format("无法写入 {}。\n", file) : fmt::format("cannot write {}\n", file));
    return 2;
  }
  fmt::print("{}", zh ? fmt::format("{}：在浏览器里打开。\n", file) : fmt::format("{}: open it in a browser.\n", file));
  return 0;
}

std::vector<double> numerical_gradient(const std::function<double(const std::vector<double>&)>& f,
                                       std::vector<double> x) {
  constexpr double step = 4e-3, weights[] = {4.0 / 5, -1.0 / 5, 4.0 / 105, -1.0 / 280};  // Fornberg 1988, 8th order
  std::vector<double> gradient(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double at = x[i];
    for (int k = 1; k <= 4; ++k) {
      for (const int side : {1, -1}) {
        x[i] = at + side * k * step;
        gradient[i] += side * weights[k - 1] * f(x) / step;
      }
    }
    x[i] = at;
  }
  return gradient;
}

Array numerical_gradient(const std::function<Array(const Array&)>& f, const Array& x, const Array& cotangent) {
  const auto loss = [&](const std::vector<double>& values) {
    const Array y = f(Array(x.shape, values));
    double sum = 0;
    for (std::size_t i = 0; i < cotangent.values.size(); ++i) sum += y.values.at(i) * cotangent.values[i];
    return sum;
  };
  return Array(x.shape, numerical_gradient(loss, x.values));
}

heed::Tensor tensor_of(const Array& x) {
  const std::vector<std::int64_t> sizes(x.shape.begin(), x.shape.end());
  return heed::tensor(heed::Shape(sizes), x.values, heed::DType::float64);
}

std::string table(const Numbers& x, const std::vector<std::string>& rows, const std::vector<std::string>& columns,
                  int decimals) {
  const std::size_t last = x.shape.empty() ? 1 : static_cast<std::size_t>(x.shape.back());
  const std::size_t cell = static_cast<std::size_t>(decimals) + 4;
  std::string text;
  if (!columns.empty()) {
    text += std::string(8, ' ');
    for (const std::string& name : columns) text += std::string(cell - std::min(cell, text_width(name)), ' ') + name;
    text += "\n";
  }
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    if (i % last == 0) {
      const std::string name = i / last < rows.size() ? rows[i / last] : "";
      text += name + std::string(8 - std::min<std::size_t>(8, text_width(name)), ' ');
    }
    text += fmt::format("{:{}.{}f}", x.values[i], cell, decimals);
    if (i % last + 1 == last) text += "\n";
  }
  return text;
}

}  // namespace learn
