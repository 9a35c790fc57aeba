#include "given/picture.h"
#include "judges/text.h"
#include "solutions/01_tape.h"
#include "tests/catch.h"
#include "tests/learn/variants.h"

#include <heed/autograd/ops.h>
#include <heed/autograd/random.h>
#include <heed/autograd/record.h>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

namespace learn {
namespace {

std::vector<Variant> variants(const std::function<bool(const Variant&)>& wanted) {
  std::vector<Variant> result;
  for (const Variant& variant : Variant::all())
    if (wanted(variant)) result.push_back(variant);
  return result;
}

bool has_chinese(const std::string& text) {
  for (const char c : text)
    if (static_cast<unsigned char>(c) >= 0xE4) return true;
  return false;
}

// Returns what the judge says of a variant. It is asked once: a solution of a late step trains for seconds.
const Verdict& verdict_of(const Variant& variant, Language language) {
  static std::map<std::tuple<std::string, std::string, Language>, Verdict> verdicts;
  const auto [found, is_new] = verdicts.try_emplace({variant.step, variant.name, language});
  if (is_new) found->second = judge(variant.judged(), language);
  return found->second;
}

// Checks that no line is wider than a terminal.
void check_width(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    CHECK(text_width(line) <= line_width);
  }
}

TEST_CASE("The judge accepts each solution of the course", "[learn]") {
  const auto right = variants([](const Variant& v) { return v.name == "right"; });
  CHECK(right.size() == 12);
  for (const Variant& variant : right) {
    const Verdict& verdict = verdict_of(variant, Language::en);
    INFO(variant.step << "\n" << verdict.text);
    CHECK(verdict.right);
    check_width(verdict.text);
  }
}

TEST_CASE("The judge says what an untouched step does not have, where to write it, and which page explains it",
          "[learn]") {
  for (const Variant& variant : variants([](const Variant& v) { return v.name == "unwritten"; })) {
    for (const Language language : {Language::en, Language::zh}) {
      const Verdict& verdict = verdict_of(variant, language);
      INFO(variant.step << "\n" << verdict.text);
      CHECK_FALSE(verdict.right);
      CHECK(verdict.named == std::vector<std::string>{"unwritten"});
      check_width(verdict.text);
      CHECK(verdict.text.find(language == Language::en
                                  ? "is not written yet: learn/steps/" + variant.step + ".h:"
                                  : "还没有写：learn/steps/" + variant.step + ".h:") != std::string::npos);
    }
  }
}

TEST_CASE("The judge names each of the wrong solutions, and nothing else", "[learn]") {
  std::map<std::string, std::set<std::string>> mistakes;
  for (const Variant& variant : variants([](const Variant& v) { return v.name != "right" && v.name != "unwritten"; })) {
    const Verdict &english = verdict_of(variant, Language::en), &chinese = verdict_of(variant, Language::zh);
    INFO(variant.step << " " << variant.name << "\n" << english.text << chinese.text);
    CHECK_FALSE(english.right);
    CHECK(english.named == std::vector{variant.mistake()});
    CHECK(chinese.named == english.named);
    check_width(english.text);
    check_width(chinese.text);
    CHECK(has_chinese(chinese.text));
    CHECK_FALSE(has_chinese(english.text));
    mistakes[variant.step].insert(variant.mistake());
  }
  std::size_t all = 0;
  for (const auto& [step, names] : mistakes) {
    INFO(step);
    CHECK(names.size() >= 3);
    all += names.size();
  }
  CHECK(mistakes.size() == 12);
  CHECK(all >= 36);
}

TEST_CASE("Each mistake that the judge knows is tried by a wrong solution", "[learn]") {
  std::set<std::string> tried;
  for (const Variant& variant : Variant::all()) tried.insert(variant.step + " " + variant.mistake());
  for (const Variant& variant : variants([](const Variant& v) { return v.name == "right"; }))
    for (const Check& check : variant.judged().checks)
      for (const Mistake& mistake : check.mistakes) {
        INFO(mistake.name);
        CHECK(tried.count(variant.step + " " + mistake.name) == 1);
      }
}

// The course is judged from "learn/steps", the variants from files of the build: the lines of their stubs differ.
std::string without_lines(std::string text) {
  for (std::size_t at = 0; (at = text.find(".h:", at)) != std::string::npos;) {
    at += 3;
    while (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at]))) text.erase(at, 1);
  }
  return text;
}

TEST_CASE("Each output of the judge that a page quotes is what it prints", "[learn]") {
  std::vector<std::string> outputs;
  for (const Variant& variant : Variant::all())
    for (const Language language : {Language::en, Language::zh})
      outputs.push_back(without_lines(verdict_of(variant, language).text));
  int quoted = 0;
  for (const auto& entry : std::filesystem::directory_iterator("learn")) {
    if (entry.path().extension() != ".md") continue;
    std::ifstream file(entry.path());
    const std::string page{std::istreambuf_iterator<char>(file), {}};
    for (std::size_t at = 0; (at = page.find("```text\n", at)) != std::string::npos; ++quoted) {
      at += 8;
      const std::string quote = without_lines(page.substr(at, page.find("```", at) - at));
      INFO(entry.path() << "\n" << quote);
      CHECK(std::any_of(outputs.begin(), outputs.end(),
                        [&](const std::string& text) { return text.find(quote) != std::string::npos; }));
    }
  }
  CHECK(quoted >= 30);
}

TEST_CASE("The pictures in the pages of steps 1 and 6 are those that --picture writes", "[learn]") {
  int compared = 0;
  for (const Variant& right : variants([](const Variant& v) { return v.name == "right"; })) {
    const Step step = right.judged();
    if (!step.svg) continue;
    const std::string file = step.number == 1 ? "learn/tape" : "learn/attention";
    for (const auto& [ending, language] : {std::pair(".svg", Language::en), std::pair(".zh-CN.svg", Language::zh)}) {
      std::ifstream in(file + ending);
      const bool is_same = step.svg(language) == std::string{std::istreambuf_iterator<char>(in), {}};
      INFO(file << ending);
      CHECK(is_same);
      ++compared;
    }
  }
  CHECK(compared == 4);
  Tape tape;
  const Value x = tape.leaf(0.5), unread = exp(x), y = tanh(x * x) - x;
  const std::string drawn = picture(tape, y, {"<x>"});
  CHECK(drawn.find("&lt;x></text>") != std::string::npos);
  CHECK(drawn.find(">tanh</text>") == std::string::npos);
  CHECK(drawn.find(": tanh</text>") != std::string::npos);
  CHECK(drawn.find(": exp</text>") == std::string::npos);  // y does not depend on it
  CHECK(drawn.find(fmt::format("{:.4g}</text>", std::abs(tape.backward(y)[x.index]))) != std::string::npos);
  CHECK(unread.number() > 1);
}

TEST_CASE("The judge names no mistake when the numbers belong to none", "[learn]") {
  Step step{4, "04_softmax", {"softmax", "softmax"}, {}};
  step.checks = {{{"values", "数值"},
                  "softmax",
                  "",
                  [] {
                    return Results{{"y", 3.0}};
                  },
                  [] {
                    return Results{{"y", 1.0}};
                  },
                  {{"twice", {"Doubled.", "翻倍了。"}, "", [] {
                      return Results{{"y", 2.0}};
                    }}}}};
  const Verdict verdict = judge(step, Language::en);
  CHECK(verdict.named.empty());
  CHECK(verdict.text ==
        "step 4: softmax\n  ✗ values\n      expected  y = 1\n      got       y = 3\n"
        "      No known mistake gives these numbers. Compare softmax() with its formula,\n      term by term.\n\n"
        "0 of 1 checks pass.\nEdit learn/steps/04_softmax.h, and run learn/judge 4 again.\n");
  step.checks[0].yours = [] { return Results{{"y", 2.0}}; };
  step.checks[0].mistakes[0].formula = "w[t][[[t - 1]]]";
  CHECK(judge(step, Language::en).text.find("formula:  w[t][t - 1]\n                       ^^^^^\n") !=
        std::string::npos);
  step.checks[0].yours = []() -> Results { throw std::runtime_error("no"); };
  CHECK(judge(step, Language::en).text.find("softmax() threw:\n      no\n") != std::string::npos);
  step.checks[0].yours = [] { return Results{{"y", std::vector<double>{1, 2}}}; };
  CHECK(judge(step, Language::zh).text.find("应为    y 的形状 ()\n      实际    y 的形状 (2)\n") != std::string::npos);
}

// A random expression of two numbers; the same for both tapes.
template <class V>
V random_expression(std::vector<V> values, std::uint64_t seed) {
  heed::Random random(seed);
  for (int i = 0; i < 30; ++i) {
    const V a = values[static_cast<std::size_t>(random.below(std::ssize(values)))],
            b = values[static_cast<std::size_t>(random.below(std::ssize(values)))];
    switch (random.below(8)) {
      case 0:
        values.push_back(a + b);
        break;
      case 1:
        values.push_back(a - b);
        break;
      case 2:
        values.push_back(a * tanh(b));
        break;
      case 3:
        values.push_back(a / (2.0 + tanh(b)));
        break;
      case 4:
        values.push_back(exp(tanh(a)));
        break;
      case 5:
        values.push_back(log(2.0 + tanh(a)));
        break;
      case 6:
        values.push_back(-a * 0.5);
        break;
      default:
        values.push_back(1.0 - tanh(a + b));
        break;
    }
  }
  V sum = values[0];
  for (const V& v : values) sum = sum + tanh(v);
  return sum;
}

TEST_CASE("The tape of step 1 has heed's gradients on random graphs", "[learn]") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const double x = std::sin(static_cast<double>(seed)), y = std::cos(static_cast<double>(seed));
    Tape tape;
    const Value a = tape.leaf(x), b = tape.leaf(y), result = random_expression<Value>({a, b}, seed);
    const std::vector<double> gradient = tape.backward(result);

    const heed::Recording recording;
    const heed::Tensor u = variable(heed::full({}, x, heed::DType::float64)),
                       v = variable(heed::full({}, y, heed::DType::float64));
    const heed::Tensor expected = random_expression<heed::Tensor>({u, v}, seed);
    const heed::Gradients gradients = backward(expected);
    INFO(seed);
    CHECK(result.number() == Approx(expected.item()).epsilon(1e-12));
    CHECK(gradient[a.index] == Approx(gradients[u].item()).epsilon(1e-12).margin(1e-12));
    CHECK(gradient[b.index] == Approx(gradients[v].item()).epsilon(1e-12).margin(1e-12));
  }
}

}  // namespace
}  // namespace learn
