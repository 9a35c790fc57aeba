#pragma once
#include "given/picture.h"
#include "judge.h"
#include "python.h"

#include <sstream>

namespace learn {

/// The value of an expression, and its derivative by each input.
struct Differentiated {
  double value;
  std::vector<double> gradient;
};
using Inputs = std::vector<double>;
using Run = Differentiated (*)(const Inputs& x);

/// Computes `expression` of the numbers `x` on a new tape.
template <class Tape, class Expression>
Differentiated differentiated(const Inputs& x, Expression expression) {
  Tape tape;
  std::vector<decltype(tape.leaf(0))> leaves;
  for (const double v : x) leaves.push_back(tape.leaf(v));
  const auto y = expression(leaves);
  const std::vector<double> all = tape.backward(y);
  Differentiated result{y.number(), {}};
  for (const auto& leaf : leaves) result.gradient.push_back(all.at(leaf.index));
  return result;
}

/// The expressions of the checks, on any tape.
template <class Tape>
struct Expressions {
  static Differentiated add(const Inputs& x) {
    return differentiated<Tape>(x, [](auto& v) { return v[0] + v[1]; });
  }
  static Differentiated subtract(const Inputs& x) {
    return differentiated<Tape>(x, [](auto& v) { return v[0] - v[1]; });
  }
  static Differentiated multiply(const Inputs& x) {
    return differentiated<Tape>(x, [](auto& v) { return v[0] * v[1]; });
  }
  static Differentiated divide(const Inputs& x) {
    return differentiated<Tape>(x, [](auto& v) { return v[0] / v[1]; });
  }
  static Differentiated exp_of(const Inputs& x) {
    return differentiated<Tape>(x, [](auto& v) { return exp(v[0]); });
  }
  static Differentiated log_of(const Inputs& x) {
    return differentiated<Tape>(x, [](auto& v) { return log(v[0]); });
  }
  static Differentiated tanh_of(const Inputs& x) {
    return differentiated<Tape>(x, [](auto& v) { return tanh(v[0]); });
  }
  static Differentiated chain(const Inputs& x) {  // each entry is read once
    return differentiated<Tape>(x, [](auto& v) { return ((v[0] + v[1]) + v[2]) + v[3]; });
  }
  static Differentiated reused(const Inputs& x) {  // a is read three times
    return differentiated<Tape>(x, [](auto& v) { return (v[0] + v[1]) + (v[0] + v[0]); });
  }
  static Differentiated earlier(const Inputs& x) {  // y is not the last entry; the gradient is that of all entries
    Tape tape;
    const auto a = tape.leaf(x[0]), b = tape.leaf(x[1]), y = a + b;
    [[maybe_unused]] const auto later = y + a;
    return {y.number(), tape.backward(y)};
  }
  static Differentiated neuron(const Inputs& x) {
    return differentiated<Tape>(x, [](auto& v) { return tanh(v[0] * v[2] + v[1] * v[3] + v[4]) / (1.0 + exp(-v[0])); });
  }
  static std::string drawn() {
    Tape tape;
    const auto a = tape.leaf(2), b = tape.leaf(-3);
    return tape.drawn(a * b + a);
  }
  static std::string svg(Language language) {
    Tape tape;
    const auto a = tape.leaf(2), b = tape.leaf(-3);
    return picture(tape, a * b + a, {"a", "b"}, language == Language::zh);
  }
};

/// The code that the learner wrote.
struct TapeSolution {
  Run add, subtract, multiply, divide, exp_of, log_of, tanh_of, chain, reused, earlier, neuron;
  std::string (*drawn)();
  std::string (*svg)(Language language);
};
template <class Tape>
TapeSolution tape_solution() {
  using E = Expressions<Tape>;
  return {E::add,   E::subtract, E::multiply, E::divide, E::exp_of, E::log_of, E::tanh_of,
          E::chain, E::reused,   E::earlier,  E::neuron, E::drawn,  E::svg};
}
#define LEARN_01 tape_solution<Tape>()

/// Computes one of the expressions on the tape of the learner's Python file.
template <const char* name>
Differentiated in_python(const Inputs& x) {
  const auto [value, gradient] = python_pair(std::string("tape.") + name, {x});
  return {value.values.at(0), gradient.values};
}
inline TapeSolution python_01() {
  static constexpr char add[] = "add", subtract[] = "subtract", multiply[] = "multiply", divide[] = "divide",
                        exp[] = "exp", log[] = "log", tanh[] = "tanh", chain[] = "chain", reused[] = "reused",
                        earlier[] = "earlier", neuron[] = "neuron";
  return {in_python<add>,
          in_python<subtract>,
          in_python<multiply>,
          in_python<divide>,
          in_python<exp>,
          in_python<log>,
          in_python<tanh>,
          in_python<chain>,
          in_python<reused>,
          in_python<earlier>,
          in_python<neuron>,
          [] { return python_text("drawn"); },
          [](Language language) {
            std::vector<DrawnEntry>
                entries;  // each a line: the operation, the value, and for each input its entry and derivative
            std::istringstream lines(python_text("entries"));
            for (std::string line; std::getline(lines, line);) {
              std::istringstream words(line);
              DrawnEntry& entry = entries.emplace_back();
              words >> entry.operation >> entry.number;
              for (DrawnEntry::Input input; words >> input.entry >> input.derivative;) entry.inputs.push_back(input);
            }
            return picture(entries, {"a", "b"}, language == Language::zh);
          }};
}

Step step_01(const TapeSolution& yours);

}  // namespace learn
