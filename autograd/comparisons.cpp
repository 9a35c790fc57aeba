#include "autograd/cpu/extreme_row.h"
#include "autograd/cpu/kernels.h"
#include "autograd/cpu/sort_row.h"

#include <heed/autograd/ops.h>

#include <algorithm>
#include <limits>

namespace heed {
namespace {

Booleans compared(const char* operation, const Tensor& a, const Tensor& b, auto compare) {
  cpu::check_one_dtype(operation, a, b);
  const Shape shape = broadcast_shapes(operation, a.shape(), b.shape());
  const auto values = cpu::unset_values<std::uint8_t>(operation, shape);
  dispatch(a.dtype(), [&]<class T>() {
    cpu::map(
        shape, values.get(), [compare](T u, T v) { return static_cast<std::uint8_t>(compare(u, v)); },
        cpu::operand<T>(a, shape), cpu::operand<T>(b, shape));
  });
  return Booleans(shape, values);
}

Tensor constant_like(const Tensor& a, double b) { return full({}, b, a.dtype()); }

// Returns the indices of the first k elements of each row along the axis, in order; NaN is greater than all numbers. With k = 1,
// `last` chooses the last of equal elements, and NaN comes first if `nan_first`.
Ids first_in_order(const char* operation, const Tensor& x, int axis, std::int64_t k, bool largest, bool last = false,
                   bool nan_first = false) {
  const int a = cpu::axis_of(operation, x, axis);
  const std::int64_t n = x.size(a);
  if (n > std::numeric_limits<std::int32_t>::max()) {
    fail("{}: axis {} of shape {} is too long for indices of 32 bits", operation, axis, to_string(x.shape()));
  }
  if (k < 0 || k > n)
    fail("{}: expected k from 0 to {}, the size of axis {} of {}, got {}", operation, n, axis, to_string(x.shape()), k);
  const Tensor rows = contiguous(transpose(x.detach(), a, -1));
  Shape shape = rows.shape();
  shape[-1] = k;
  std::vector<std::int32_t> chosen = cpu::new_values<std::int32_t>(operation, shape);
  dispatch(x.dtype(), [&]<class T>() {
    const T* data = rows.data<T>();
    const std::int64_t count = n ? x.numel() / n : 0;
    cpu::parallel_for(count, cpu::row_grain(count, 8 * n), [&](std::int64_t begin, std::int64_t end) {
      if (k == 1 && n < cpu::short_row && !last && (largest || nan_first)) {
        std::vector<T> values(static_cast<std::size_t>(end - begin));
        const auto find = largest ? cpu::extremes_of_columns<true, T> : cpu::extremes_of_columns<false, T>;
        return find(data + begin * n, n, end - begin, 1, n, values.data(), chosen.data() + begin);
      }
      cpu::RowSorter<T> sorter;
      for (std::int64_t r = begin; r < end; ++r) {
        const T* const row = data + r * n;
        if (k == 1) {
          chosen[static_cast<std::size_t>(r)] = static_cast<std::int32_t>(
              largest ? cpu::find_extreme<true>(row, n, cpu::extreme_of_row<true>(row, n), true, last)
                      : cpu::find_extreme<false>(row, n, cpu::extreme_of_row<false>(row, n), nan_first, last));
        } else {
          sorter.first(row, n, k, largest, chosen.data() + r * k);
        }
      }
    });
  });
  if (a == shape.rank() - 1) return Ids(shape, std::move(chosen));
  Shape strides = shape;  // of the rows, with the axis in its own position
  std::int64_t stride = 1;
  for (int i = shape.rank() - 1; i >= 0; stride *= shape[i], --i) strides[i] = stride;
  std::swap(strides[a], strides[-1]);
  std::swap(shape[a], shape[-1]);
  std::vector<std::int32_t> result(chosen.size());
  cpu::map(
      shape, result.data(), [](std::int32_t i) { return i; }, cpu::Operand<std::int32_t>{chosen.data(), strides});
  return Ids(shape, std::move(result));
}

Ids extreme(const char* operation, const Tensor& x, int axis, bool keepdim, bool largest, bool last) {
  const int a = cpu::axis_of(operation, x, axis);
  if (x.size(a) == 0)
    fail("{}: expected at least one element along axis {} of {}", operation, axis, to_string(x.shape()));
  const Ids found = first_in_order(operation, x, a, 1, largest, last, true);  // as max() and min() return NaN
  return keepdim ? found : Ids(cpu::without_axis(x.shape(), a), {found.data(), found.data() + found.numel()});
}

}  // namespace

Booleans operator<(const Tensor& a, const Tensor& b) { return compared("<", a, b, std::less<>()); }
Booleans operator<=(const Tensor& a, const Tensor& b) { return compared("<=", a, b, std::less_equal<>()); }
Booleans operator>(const Tensor& a, const Tensor& b) { return compared(">", a, b, std::greater<>()); }
Booleans operator>=(const Tensor& a, const Tensor& b) { return compared(">=", a, b, std::greater_equal<>()); }
Booleans operator<(const Tensor& a, double b) { return a < constant_like(a, b); }
Booleans operator<=(const Tensor& a, double b) { return a <= constant_like(a, b); }
Booleans operator>(const Tensor& a, double b) { return a > constant_like(a, b); }
Booleans operator>=(const Tensor& a, double b) { return a >= constant_like(a, b); }
Booleans equal(const Tensor& a, double b) { return equal(a, constant_like(a, b)); }
Booleans equal(const Tensor& a, const Tensor& b) { return compared("equal", a, b, std::equal_to<>()); }
Booleans operator!=(const Tensor& a, const Tensor& b) { return compared("!=", a, b, std::not_equal_to<>()); }
Booleans operator!=(const Tensor& a, double b) { return a != constant_like(a, b); }

Ids argmax(const Tensor& x, int axis, bool keepdim, bool last_of_equals) {
  return extreme("argmax", x, axis, keepdim, true, last_of_equals);
}

Ids argmin(const Tensor& x, int axis, bool keepdim, bool last_of_equals) {
  return extreme("argmin", x, axis, keepdim, false, last_of_equals);
}

Ordered topk(const Tensor& x, std::int64_t k, int axis, bool largest) {
  const Ids indices = first_in_order("topk", x, axis, k, largest);
  return {gather(x, indices, axis), indices};
}

Ordered sort(const Tensor& x, int axis, bool descending) {
  const std::int64_t n = x.size(cpu::axis_of("sort", x, axis));
  const Ids indices = first_in_order("sort", x, axis, n, descending);
  return {gather(x, indices, axis), indices};
}

}  // namespace heed
