#include "autograd/cpu/kernels.h"

#include <heed/autograd/ops.h>

#include <algorithm>

// Operations on arrays of integers and booleans. Each returns a new array.
namespace heed {
namespace {

// Copies the elements at offset + sum of index[i] * strides[i] to an array of `shape`.
template <class T>
Array<T> copied(const Array<T>& x, const Shape& shape, const Shape& strides, std::int64_t offset = 0) {
  std::vector<T> values(static_cast<std::size_t>(shape.numel()));
  if (!values.empty()) {
    cpu::map(
        shape, values.data(), [](T v) { return v; }, cpu::Operand<T>{x.data() + offset, strides});
  }
  return Array<T>(shape, std::move(values));
}

template <class T>
Array<T> reshaped(const Array<T>& x, const Shape& shape) {
  return Array<T>(cpu::checked_reshape(x.shape(), shape), std::vector<T>(x.begin(), x.end()));
}

template <class T>
Array<T> sliced(const Array<T>& x, int axis, std::int64_t begin, std::int64_t end, std::int64_t step) {
  const int a = checked_axis("slice", axis, x.rank());
  const cpu::SliceRange range = cpu::checked_slice(x.shape(), a, begin, end, step);
  Shape shape = x.shape(), strides = row_major_strides(x.shape());
  shape[a] = range.count;
  const std::int64_t offset = range.begin * strides[a];
  strides[a] *= step;
  return copied(x, shape, strides, offset);
}

// Copies runs of `inner` elements from each part in turn.
template <class T>
Array<T> concatenated(const std::vector<Array<T>>& parts, int axis) {
  if (parts.empty()) fail("concat: expected at least one array");
  const int a = checked_axis("concat", axis, parts[0].rank());
  Shape shape = parts[0].shape();
  shape[a] = 0;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    Shape rest = parts[p].shape();
    if (rest.rank() == shape.rank()) rest[a] = shape[a];
    if (rest != shape) {
      fail("concat: part {} has shape {}; expected that of part 0, {}, except along axis {}", p,
           to_string(parts[p].shape()), to_string(parts[0].shape()), axis);
    }
    shape[a] += parts[p].size(a);
  }
  std::vector<T> values;
  values.reserve(static_cast<std::size_t>(shape.numel("concat")));
  std::int64_t outer = 1, inner = 1;
  for (int i = 0; i < shape.rank(); ++i) (i < a ? outer : inner) *= i == a ? 1 : shape[i];
  for (std::int64_t o = 0; o < outer; ++o) {
    for (const Array<T>& part : parts) {
      const std::int64_t block = part.size(a) * inner;
      values.insert(values.end(), part.data() + o * block, part.data() + (o + 1) * block);
    }
  }
  return Array<T>(shape, std::move(values));
}

template <class T>
Array<T> squeezed(const Array<T>& x, int axis) {
  const int a = checked_axis("squeeze", axis, x.rank());
  if (x.size(a) != 1) fail("squeeze: expected size 1 along axis {} of shape {}", axis, to_string(x.shape()));
  return reshaped(x, cpu::without_axis(x.shape(), a));
}

template <class T>
Array<T> unsqueezed(const Array<T>& x, int axis) {
  return reshaped(x, cpu::with_axis("unsqueeze", x.shape(), axis));
}

template <class T>
Array<T> selected(const Array<T>& x, const Ids& indices, int axis) {
  const int a = checked_axis("index_select", axis, x.rank());
  cpu::check_selection("index_select", x.shape(), indices, a);
  Shape shape = x.shape();
  shape[a] = indices.numel();
  std::vector<T> values;
  values.reserve(static_cast<std::size_t>(shape.numel("index_select")));
  const std::int64_t inner = row_major_strides(x.shape())[a], outer = x.numel() ? x.numel() / (inner * x.size(a)) : 0;
  for (std::int64_t o = 0; o < outer; ++o) {
    for (const std::int32_t i : indices) {
      const T* block = x.data() + (o * x.size(a) + i) * inner;
      values.insert(values.end(), block, block + inner);
    }
  }
  return Array<T>(shape, std::move(values));
}

template <class T, class F>
Booleans combined(const char* operation, const Array<T>& a, const Array<T>& b, F f) {
  const Shape shape = broadcast_shapes(operation, a.shape(), b.shape());
  const auto values = cpu::unset_values<std::uint8_t>(operation, shape);
  cpu::map(
      shape, values.get(), [f](T u, T v) { return static_cast<std::uint8_t>(f(u, v)); }, cpu::operand(a, shape),
      cpu::operand(b, shape));
  return Booleans(shape, values);
}

}  // namespace

Ids reshape(const Ids& x, const Shape& shape) { return reshaped(x, shape); }
Booleans reshape(const Booleans& x, const Shape& shape) { return reshaped(x, shape); }
Ids slice(const Ids& x, int axis, std::int64_t begin, std::int64_t end, std::int64_t step) {
  return sliced(x, axis, begin, end, step);
}
Booleans slice(const Booleans& x, int axis, std::int64_t begin, std::int64_t end, std::int64_t step) {
  return sliced(x, axis, begin, end, step);
}
Ids squeeze(const Ids& x, int axis) { return squeezed(x, axis); }
Booleans squeeze(const Booleans& x, int axis) { return squeezed(x, axis); }
Ids unsqueeze(const Ids& x, int axis) { return unsqueezed(x, axis); }
Booleans unsqueeze(const Booleans& x, int axis) { return unsqueezed(x, axis); }
Ids concat(const std::vector<Ids>& parts, int axis) { return concatenated(parts, axis); }
Booleans concat(const std::vector<Booleans>& parts, int axis) { return concatenated(parts, axis); }
Ids index_select(const Ids& x, const Ids& indices, int axis) { return selected(x, indices, axis); }
Booleans index_select(const Booleans& x, const Ids& indices, int axis) { return selected(x, indices, axis); }

Booleans operator<(const Ids& a, const Ids& b) { return combined("<", a, b, std::less<>()); }
Booleans operator<=(const Ids& a, const Ids& b) { return combined("<=", a, b, std::less_equal<>()); }
Booleans operator>(const Ids& a, const Ids& b) { return combined(">", a, b, std::greater<>()); }
Booleans operator>=(const Ids& a, const Ids& b) { return combined(">=", a, b, std::greater_equal<>()); }
Booleans operator<(const Ids& a, std::int32_t b) { return a < full_ids({}, b); }
Booleans operator<=(const Ids& a, std::int32_t b) { return a <= full_ids({}, b); }
Booleans operator>(const Ids& a, std::int32_t b) { return a > full_ids({}, b); }
Booleans operator>=(const Ids& a, std::int32_t b) { return a >= full_ids({}, b); }
Booleans equal(const Ids& a, const Ids& b) { return combined("equal", a, b, std::equal_to<>()); }
Booleans equal(const Ids& a, std::int32_t b) { return equal(a, full_ids({}, b)); }
Booleans equal(const Booleans& a, const Booleans& b) {
  return combined("equal", a, b, [](auto u, auto v) { return !u == !v; });
}

Booleans operator!(const Booleans& x) {
  const auto values = cpu::unset_values<std::uint8_t>("!", x.shape());
  std::transform(x.begin(), x.end(), values.get(), [](std::uint8_t v) { return v == 0; });
  return Booleans(x.shape(), values);
}
Booleans operator&(const Booleans& a, const Booleans& b) { return combined("&", a, b, std::logical_and<>()); }
Booleans operator|(const Booleans& a, const Booleans& b) { return combined("|", a, b, std::logical_or<>()); }

std::int64_t count(const Booleans& x) { return x.numel() - std::count(x.begin(), x.end(), 0); }
bool any(const Booleans& x) { return count(x) > 0; }
bool all(const Booleans& x) { return count(x) == x.numel(); }

template <class T>
Array<T> stack(const std::vector<Array<T>>& parts, int axis) {
  if (parts.empty()) fail("stack: expected at least one array");
  std::vector<Array<T>> with_axis;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (parts[p].shape() != parts[0].shape()) {
      fail("stack: part {} has shape {}; expected {} like part 0", p, to_string(parts[p].shape()),
           to_string(parts[0].shape()));
    }
    with_axis.push_back(reshaped(parts[p], cpu::with_axis("stack", parts[p].shape(), axis)));
  }
  return concatenated(with_axis, axis);
}
template Ids stack(const std::vector<Ids>& parts, int axis);
template Booleans stack(const std::vector<Booleans>& parts, int axis);

template <class T>
Tensor tensor(const Array<T>& x, DType dtype) {
  if constexpr (std::same_as<Array<T>, Ids>) {
    constexpr std::int32_t most = 1 << 24;
    const auto is_rounded = [](T v) {
      return (v > most || v < -most) && static_cast<double>(static_cast<float>(v)) != v;
    };
    const auto rounded = dtype == DType::float32 ? std::find_if(x.begin(), x.end(), is_rounded) : x.end();
    if (rounded != x.end())
      fail("tensor: float32 does not hold {} exactly; write tensor(ids, DType::float64)", *rounded);
  }
  Tensor y(x.shape(), dtype);
  dispatch(dtype, [&]<class To>() {
    const auto number = [](T v) { return static_cast<To>(std::same_as<Array<T>, Booleans> ? v != 0 : v); };
    std::transform(x.begin(), x.end(), y.mutable_data<To>(), number);
  });
  return y;
}
template Tensor tensor(const Ids& x, DType dtype);
template Tensor tensor(const Booleans& x, DType dtype);

}  // namespace heed
