#include "autograd/cpu/kernels.h"

#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>

#include <array>

namespace heed {

static const Operation cumsum_operation(
    "cumsum", "y[j] = sum of x[i] for i <= j", "dx[i] = sum of dy[j] for j >= i", [] {
      std::vector<GradientSample> samples;
      for (const bool exclusive : {false, true}) {
        for (const bool reversed : {false, true}) {
          for (const auto& [shape, axis] : {std::pair<Shape, int>{{4}, 0}, {{2, 3, 2}, 1}, {{3, 2}, 0}, {{2, 0}, 1}}) {
            samples.push_back({fmt::format("{} along {}{}{}", to_string(shape), axis, exclusive ? " exclusive" : "",
                                           reversed ? " reversed" : ""),
                               {{shape}},
                               [a = axis, exclusive, reversed](auto& x) {
                                 return cumsum(x[0], a, {exclusive, reversed});
                               }});
          }
        }
      }
      return samples;
    });
Tensor cumsum(const Tensor& x, int axis, const CumsumOptions& options) {
  const int a = cpu::axis_of("cumsum", x, axis);
  const std::int64_t n = x.size(a), inner = row_major_strides(x.shape())[a];
  const std::int64_t outer = x.numel() ? x.numel() / (n * inner) : 0;
  const Tensor y = cpu::computed(x, x.shape(), [=]<class T>(const T* from, T* to) {
    const std::int64_t step = options.reversed ? -inner : inner;
    // several rows at a time, so that their additions overlap
    const auto sum_rows = [=]<std::size_t rows>(std::int64_t row) {
      std::array<std::int64_t, rows> at;
      std::array<double, rows> total{};
      for (std::size_t l = 0; l < rows; ++l) {
        const std::int64_t r = row + static_cast<std::int64_t>(l);
        at[l] = r / inner * n * inner + r % inner + (options.reversed ? n - 1 : 0) * inner;
      }
      for (std::int64_t k = 0; k < n; ++k) {
        for (std::size_t l = 0; l < rows; ++l) {
          const std::int64_t i = at[l] + k * step;
          const double before = total[l];
          total[l] += static_cast<double>(from[i]);
          to[i] = static_cast<T>(options.exclusive ? before : total[l]);
        }
      }
    };
    cpu::parallel_for(outer * inner, cpu::row_grain(outer * inner, n), [&](std::int64_t begin, std::int64_t end) {
      std::int64_t row = begin;
      for (; row + 8 <= end; row += 8) sum_rows.template operator()<8>(row);
      for (; row < end; ++row) sum_rows.template operator()<1>(row);
    });
  });
  return record(cumsum_operation, {&x}, y, Saved(), Recordable([a, options](const Tensor& dy) {
                  return std::vector{cumsum(dy, a, {options.exclusive, !options.reversed})};
                }));
}

}  // namespace heed
