#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace learn {

/// An entry of a tape, as a picture shows it.
struct DrawnEntry {
  struct Input {
    std::size_t entry;
    double derivative;
  };
  std::string operation;
  double number;
  std::vector<Input> inputs;
};

/// Returns the picture of entries, of which the last is y.
std::string picture(const std::vector<DrawnEntry>& entries, const std::vector<std::string>& names, bool in_chinese);

/// Returns an SVG file that shows a tape: a box per entry with its value, and the walk backward from `y` step by step. Opened in a browser,
/// an arrow key or a press goes one step; shown inside a page, it shows all gradients. `names` are those of the leaves, in order.
///
///     Tape tape;
///     const Value a = tape.leaf(2), b = tape.leaf(-3), y = a * b + a;
///     std::ofstream("tape.svg") << picture(tape, y, {"a", "b"});
template <class Tape, class Value>
std::string picture(const Tape& tape, Value y, const std::vector<std::string>& names = {}, bool in_chinese = false) {
  std::vector<DrawnEntry> entries;
  for (std::size_t i = 0; i <= y.index; ++i) {
    const auto& entry = tape.entries()[i];
    entries.push_back({entry.operation, entry.number, {}});
    for (const auto& [value, derivative] : entry.inputs) entries[i].inputs.push_back({value.index, derivative});
  }
  return picture(entries, names, in_chinese);
}

/// A matrix of a picture: its formula, its numbers row by row, and names of its rows and columns, if any.
struct DrawnMatrix {
  std::string formula;
  std::vector<std::string> rows, columns;
  std::vector<double> values;
  std::vector<std::string> says{};  ///< how each number is computed, shown at the pointer
};

/// Returns an SVG file of matrices in lines, with a note below: blue for positive numbers, orange for negative ones.
std::string picture(const std::vector<std::vector<DrawnMatrix>>& lines, const std::string& note);

}  // namespace learn
