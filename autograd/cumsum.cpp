#include "autograd/cpu/kernels.h"

#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>

namespace heed {

// y_j = sum of x_i for i <= j          dx_i = sum of dy_j for j >= i
static const Operation cumsum_operation("cumsum", [] {
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
  check_defined("cumsum", {&x});
  const int a = checked_axis("cumsum", axis, x.rank());
  const Tensor dense = contiguous(x.detach());
  Tensor y(x.shape(), x.dtype());
  const std::int64_t n = x.size(a), inner = y.strides()[a], outer = x.numel() ? x.numel() / (n * inner) : 0;
  dispatch(x.dtype(), [&]<class T>() {
    const T* from = dense.data<T>();
    T* to = y.mutable_data<T>();
    cpu::parallel_for(outer * inner, cpu::row_grain(outer * inner, n), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t first = row / inner * n * inner + row % inner;
        double total = 0;
        for (std::int64_t k = 0; k < n; ++k) {
          const std::int64_t i = first + (options.reversed ? n - 1 - k : k) * inner;
          const double before = total;
          total += static_cast<double>(from[i]);
          to[i] = static_cast<T>(options.exclusive ? before : total);
        }
      }
    });
  });
  return record(cumsum_operation, {&x}, y, [a, options](const Tensor& dy) {
    return std::vector{cumsum(dy, a, {options.exclusive, !options.reversed})};
  });
}

}  // namespace heed
