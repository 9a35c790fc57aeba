// Step 1: a tape that differentiates any expression of numbers.
//
//     Tape tape;
//     const Value a = tape.leaf(2), b = tape.leaf(-3);
//     const Value y = a * b + a;                             // -4
//     const std::vector<double> gradient = tape.backward(y);
//     gradient[a.index];                                     // dy/da = b + 1 = -2
//     gradient[b.index];                                     // dy/db = a = 2
//
// Each operation appends one entry to the tape: its value, the entries that it was computed from, and its derivative by each of them.
// An entry depends on earlier entries alone. So one loop from the last entry to the first applies the chain rule to all of them.
#pragma once
#include "given/array.h"

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace learn {

class Tape;

/// A number on a tape: a handle, cheap to copy. The tape must outlive it.
struct Value {
  Tape* tape;
  std::size_t index;  ///< of its entry

  double number() const;
};

/// An entry that another one was computed from, and the derivative of the new value by its value.
struct Input {
  Value value;
  double derivative;
};

/// The list of everything that was computed, in order.
class Tape {
 public:
  struct Entry {
    const char* operation;
    double number;
    std::vector<Input> inputs;
  };

  /// Appends a number that was not computed: a variable or a constant.
  Value leaf(double number) { return record("leaf", number, {}); }

  /// Appends the result of an operation.
  Value record(const char* operation, double number, std::vector<Input> inputs) {
    entries_.push_back({operation, number, std::move(inputs)});
    return {this, entries_.size() - 1};
  }

  /// Returns dy/dv for every entry v. The chain rule: an entry v changes y through every entry u that was computed from it,
  ///
  ///     dy/dy = 1
  ///     dy/dv = sum over u of dy/du * du/dv
  ///
  /// Walk from y back to the first entry. When the walk reaches u, dy/du is complete, since all entries that read u come later.
  /// Add dy/du * du/dv to the gradient of each input v of u.
  std::vector<double> backward(Value y) const {
    throw NotWritten("backward");  // your code here
  }

  double number(std::size_t index) const { return entries_[index].number; }
  const std::vector<Entry>& entries() const { return entries_; }

  /// Returns the tape as a table: one line per entry, with the gradient of y.
  std::string drawn(Value y) const {
    const std::vector<double> gradient = backward(y);
    std::string text = "entry  operation  inputs       value   gradient\n";
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      std::string inputs;
      for (const Input& v : entries_[i].inputs) inputs += (inputs.empty() ? "" : ", ") + std::to_string(v.value.index);
      char line[128];
      std::snprintf(line, sizeof line, "%5zu  %-9s  %-6s %11.4f%11.4f\n", i, entries_[i].operation, inputs.c_str(),
                    entries_[i].number, gradient[i]);
      text += line;
    }
    return text;
  }

 private:
  std::vector<Entry> entries_;
};

inline double Value::number() const { return tape->number(index); }

/// y = a + b. Both derivatives are 1. This one is written: each function below follows its pattern.
inline Value operator+(Value a, Value b) { return a.tape->record("+", a.number() + b.number(), {{a, 1}, {b, 1}}); }

/// y = a - b;  dy/da = 1,  dy/db = -1.
inline Value operator-(Value a, Value b) {
  throw NotWritten("subtract");  // your code here
}

/// y = a b;  dy/da = b,  dy/db = a.
inline Value operator*(Value a, Value b) {
  throw NotWritten("multiply");  // your code here
}

/// y = a / b;  dy/da = 1 / b,  dy/db = -a / b^2.
inline Value operator/(Value a, Value b) {
  throw NotWritten("divide");  // your code here
}

/// y = e^x;  dy/dx = e^x = y.
inline Value exp(Value x) {
  throw NotWritten("exp");  // your code here
}

/// y = ln x;  dy/dx = 1 / x.
inline Value log(Value x) {
  throw NotWritten("log");  // your code here
}

/// y = tanh x;  dy/dx = 1 - y^2.
inline Value tanh(Value x) {
  throw NotWritten("tanh");  // your code here
}

// A plain number beside a Value is a constant: it becomes a leaf, whose gradient nobody reads.
inline Value operator+(Value a, double b) { return a + a.tape->leaf(b); }
inline Value operator-(Value a, double b) { return a - a.tape->leaf(b); }
inline Value operator*(Value a, double b) { return a * a.tape->leaf(b); }
inline Value operator/(Value a, double b) { return a / a.tape->leaf(b); }
inline Value operator+(double a, Value b) { return b.tape->leaf(a) + b; }
inline Value operator-(double a, Value b) { return b.tape->leaf(a) - b; }
inline Value operator*(double a, Value b) { return b.tape->leaf(a) * b; }
inline Value operator/(double a, Value b) { return b.tape->leaf(a) / b; }
inline Value operator-(Value x) { return 0.0 - x; }

}  // namespace learn
