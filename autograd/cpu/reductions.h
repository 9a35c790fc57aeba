#pragma once
#include "autograd/cpu/sums.h"
#include "autograd/cpu/thread_pool.h"

#include <heed/autograd/operation.h>

#include <cmath>
#include <numeric>
#include <vector>

// What reductions share. Internal.
namespace heed::cpu {

// The axes of a tensor of `shape` and `strides`, split into kept and reduced ones; each group is traversed as one list.
struct Split {
  Shape output, output_keepdim;
  Shape kept, kept_strides, reduced, reduced_strides;
};
Split split_axes(const char* operation, const Tensor& x, const std::vector<int>& axes, const Shape& strides);

// The least number of kept elements beside each other in memory, the columns, for which whole rows of them are reduced.
constexpr std::int64_t min_columns = 8;

// What is added up of each element: the element, or its square, in double.
enum class Of { elements, squares };

// Returns the sum of total(begin, count) over equal parts of n elements, in order; computes them in parallel.
double total_of_parts(std::int64_t n, auto total) {
  constexpr std::int64_t part = 65536;
  std::vector<double> totals(static_cast<std::size_t>((n + part - 1) / part));
  parallel_for(n, part, [&](std::int64_t begin, std::int64_t end) {
    totals[static_cast<std::size_t>(begin / part)] = total(begin, end - begin);
  });
  return std::accumulate(totals.begin(), totals.end(), 0.0);
}

// Returns the sum over a row. Adds again in double what exceeds the range of T.
template <Of of, class T>
double total_of_row(const T* x, std::int64_t n, std::int64_t stride = 1) {
  const auto term = [=](std::int64_t i) {
    const double value = static_cast<double>(x[i * stride]);
    return of == Of::elements ? value : value * value;
  };
  if (stride == 1 && of == Of::squares) return sum_terms<double>(n, term);
  if (stride == 1) {
    const double total = sum_row(x, n);
    if (std::isfinite(total)) return total;
  }
  double total = 0;
  for (std::int64_t i = 0; i < n; ++i) total += term(i);
  return total;
}

// Does the same in parallel, for long rows.
template <Of of, class T>
double total_of_long_row(const T* x, std::int64_t n) {
  return total_of_parts(n, [=](std::int64_t begin, std::int64_t count) { return total_of_row<of>(x + begin, count); });
}

// Returns sum x^2 over the axes, in double.
Tensor squares_in_double(const Tensor& x, const std::vector<int>& axes, bool keepdim);

std::vector<GradientSample> reduction_samples(Tensor (*f)(const Tensor&, const Axes&, bool), Argument::Values values,
                                              bool empty_allowed);

}  // namespace heed::cpu
