#pragma once
#include <heed/autograd/ops.h>
#include <heed/tokenizers/graphemes.h>

#include <fmt/format.h>

namespace heed {

// Prints "scores  (3, 3)", then one line per row with its label and its numbers, below the column labels if given.
inline void print(const std::string& name, const Tensor& x, const std::vector<std::string>& rows = {},
                  const std::vector<std::string>& columns = {}, int decimals = 4) {
  const int cell = decimals + 4;
  fmt::print("\n{}  {}\n", name, to_string(x.shape()));
  if (!columns.empty()) {
    fmt::print("{:8}", "");
    for (const std::string& word : columns) fmt::print("{:{}}{}", "", cell - display_width(word), word);
    fmt::print("\n");
  }
  const Tensor table = reshape(x, {-1, x.size(-1)});
  for (std::int64_t i = 0; i < table.size(0); ++i) {
    fmt::print("{}", fit_width(rows.empty() ? "" : rows[static_cast<std::size_t>(i)], 8));
    for (std::int64_t j = 0; j < table.size(1); ++j) fmt::print("{:{}.{}f}", table.at({i, j}), cell, decimals);
    fmt::print("\n");
  }
}

// Returns numbers with mean 0 and variance 1.
inline Tensor normal(const Shape& shape, Random& random) {
  std::vector<double> values(static_cast<std::size_t>(shape.numel()));
  for (double& value : values) value = random.normal();
  return tensor(shape, values);
}

inline double largest_difference(const Tensor& a, const Tensor& b) { return sqrt(max(square(a - b))).item(); }

}  // namespace heed
