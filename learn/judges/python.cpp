#include "python.h"

#include "judge.h"

#include <heed/autograd/ops.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace learn {
namespace {

struct Process {
  pid_t number = -1;
  std::FILE *to = nullptr, *from = nullptr;
  ~Process() { end(); }
  // Ends it, and returns the signal that did, or 0.
  int end() {
    if (number < 0) return 0;
    std::fclose(to);
    std::fclose(from);
    kill(number, SIGKILL);  // does nothing to one that has ended
    int status = 0;
    waitpid(number, &status, 0);
    number = -1;
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }
};
Process python_process;

std::string unescaped(std::string text) {
  for (std::size_t at = 0; (at = text.find("\\n", at)) != std::string::npos;) text.replace(at, 2, "\n");
  return text;
}

std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

// Parses "2 3:1 2 3 4 5 6".
Array array_of(const std::string& text) {
  const std::vector<std::string> halves = parts_of(text, ':');
  Array x;
  for (const std::string& size : parts_of(halves.at(0), ' '))
    if (!size.empty()) x.shape.push_back(std::atoi(size.c_str()));
  for (const std::string& number : parts_of(halves.at(1), ' '))
    if (!number.empty()) x.values.push_back(std::strtod(number.c_str(), nullptr));
  return x;
}

// Returns the parts of the answer to a request, without its kind. Throws what it reports.
std::vector<std::string> asked(const std::string& request, const std::vector<PythonPart>& callable = {}) {
  if (python_process.number < 0) throw std::runtime_error("Python was not started");
  std::string answer;
  if (std::fputs((request + "\n").c_str(), python_process.to) >= 0 && std::fflush(python_process.to) == 0) {
    for (int c; (c = std::fgetc(python_process.from)) != EOF && c != '\n';) answer += static_cast<char>(c);
  }
  std::vector<std::string> parts = parts_of(answer, '|');
  const std::string kind = parts[0];
  parts.erase(parts.begin());
  if (kind == "call") {  // one of the parts
    const auto part = static_cast<std::size_t>(std::atoi(parts.at(0).c_str()));
    return asked(PythonArgument(callable.at(part)(tensor_of(array_of(parts.at(1))))).text, callable);
  }
  if (kind == "missing") {
    static std::string name;  // NotWritten points to it
    name = parts.at(0);
    throw NotWritten(name.c_str(), std::atoi(parts.at(1).c_str()));
  }
  if (kind == "invalid") throw std::invalid_argument(unescaped(fmt::format("{}", fmt::join(parts, "|"))));
  if (kind == "error") throw std::runtime_error(unescaped(fmt::format("{}", fmt::join(parts, "|"))));
  if (kind.empty()) {
    if (python_process.end() == SIGXCPU) throw Endless();
    throw std::runtime_error("python3 ended; it needs NumPy: pip install numpy");
  }
  return parts;
}

}  // namespace

PythonArgument::PythonArgument(const Array& x)
    : text(fmt::format("{}:{}", fmt::join(x.shape, " "), fmt::join(x.values, " "))) {}
PythonArgument::PythonArgument(const std::vector<int>& x) : text(fmt::format("i:{}", fmt::join(x, " "))) {}
PythonArgument::PythonArgument(double x) : text(fmt::format("f:{}", x)) {}
PythonArgument::PythonArgument(int x) : text(fmt::format("n:{}", x)) {}
PythonArgument::PythonArgument(const std::vector<double>& x)
    : text(fmt::format("{}:{}", x.size(), fmt::join(x, " "))) {}

PythonArgument::PythonArgument(const heed::Tensor& x)
    : text(fmt::format("{}:{}", fmt::join(x.shape(), " "), fmt::join(x.to_vector(), " "))) {}
PythonArgument::PythonArgument(const heed::Booleans& x)
    : text("b " + PythonArgument(heed::tensor(x, heed::DType::float64)).text) {}
PythonArgument::PythonArgument(const heed::Ids& x)
    : text(fmt::format("i {}:{}", fmt::join(x.shape(), " "), fmt::join(x, " "))) {}
PythonArgument::PythonArgument(const heed::Parameters& x) : text("m") {
  for (const auto& [name, tensor] : x) text += fmt::format(";{}={}", name, PythonArgument(tensor).text);
}

void start_python(const std::string& answer_py, const std::string& step, int seconds) {
  const std::string load = fmt::format("load|{}|{}", step, seconds);
  if (python_process.number >= 0) {
    try {
      asked(load);
      return;
    } catch (const std::runtime_error&) {  // it has ended
      python_process.end();
    }
  }
  std::signal(SIGPIPE, SIG_IGN);
  int to[2], from[2];
  if (pipe(to) != 0 || pipe(from) != 0) throw std::runtime_error("cannot start python3");
  python_process.number = fork();
  if (python_process.number == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // a loop that never ends ends with the judge
    dup2(to[0], 0);
    dup2(from[1], 1);
    for (const int end : {to[0], to[1], from[0], from[1]}) close(end);
    execlp("python3", "python3", "-B", answer_py.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  close(to[0]);
  close(from[1]);
  python_process.to = fdopen(to[1], "w");
  python_process.from = fdopen(from[0], "r");
  asked(load);
}

std::vector<Array> python(const std::string& function, const std::vector<PythonArgument>& arguments,
                          const std::vector<PythonPart>& parts) {
  std::string request = function;
  for (const PythonArgument& argument : arguments) request += "|" + argument.text;
  std::vector<Array> results;
  for (std::size_t i = 0; i < parts.size(); ++i) request += fmt::format("|p:{}", i);
  for (const std::string& part : asked(request, parts)) results.push_back(array_of(part));
  return results;
}

Array python_one(const std::string& function, const std::vector<PythonArgument>& arguments,
                 const std::vector<PythonPart>& parts) {
  const std::vector<Array> results = python(function, arguments, parts);
  if (results.size() != 1) throw std::runtime_error(fmt::format("expected one result, got {}", results.size()));
  return results[0];
}

std::pair<Array, Array> python_pair(const std::string& function, const std::vector<PythonArgument>& arguments) {
  const std::vector<Array> results = python(function, arguments);
  if (results.size() != 2) throw std::runtime_error(fmt::format("expected two results, got {}", results.size()));
  return {results[0], results[1]};
}

std::string python_text(const std::string& function) { return unescaped(asked(function).at(0)); }

}  // namespace learn
