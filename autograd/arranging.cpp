#include <heed/autograd/more_ops.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

// All in terms of other operations, which give the gradients.
namespace heed {
namespace {

// 0 where hides(j - i).
template <class Hides>
Tensor without(const char* operation, const Tensor& x, Hides hides) {
  if (x.rank() < 2) fail("{}: expected matrices (..., n, m), got {}", operation, to_string(x.shape()));
  std::vector<std::uint8_t> values;
  for (std::int64_t i = 0; i < x.size(-2); ++i) {
    for (std::int64_t j = 0; j < x.size(-1); ++j) values.push_back(hides(j - i));
  }
  return masked_fill(x, Booleans({x.size(-2), x.size(-1)}, std::move(values)), 0);
}

}  // namespace

Tensor Tensor::operator[](std::int64_t i) const {
  if (rank() == 0 || i < -size(0) || i >= size(0)) {
    fail("[]: index {} lies outside the first axis of shape {}", i, to_string(shape_));
  }
  const std::int64_t row = i < 0 ? i + size(0) : i;
  return squeeze(slice(*this, 0, row, row + 1), 0);
}

Tensor stack(const std::vector<Tensor>& parts, int axis) {
  std::vector<Tensor> with_axis;
  for (const Tensor& part : parts) with_axis.push_back(unsqueeze(part, axis));
  return concat(with_axis, axis);
}

std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& sizes, int axis) {
  const int a = checked_axis("split", axis, x.rank());
  if (std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) != x.size(a)) {
    fail("split: the sizes {} do not add up to axis {} of shape {}", fmt::join(sizes, ", "), axis,
         to_string(x.shape()));
  }
  std::vector<Tensor> parts;
  std::int64_t begin = 0;
  for (const std::int64_t size : sizes) {
    parts.push_back(slice(x, a, begin, begin + size));
    begin += size;
  }
  return parts;
}

Tensor squeeze(const Tensor& x, int axis) {
  const int a = checked_axis("squeeze", axis, x.rank());
  if (x.size(a) != 1) fail("squeeze: axis {} of shape {} has not size 1", axis, to_string(x.shape()));
  Shape shape;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != a) shape.append(x.size(i));
  }
  return reshape(x, shape);
}

Tensor unsqueeze(const Tensor& x, int axis) {
  const int a = checked_axis("unsqueeze", axis, x.rank() + 1);
  Shape shape;
  for (int i = 0; i <= x.rank(); ++i) shape.append(i == a ? 1 : x.size(i < a ? i : i - 1));
  return reshape(x, shape);
}

Tensor flatten(const Tensor& x, int first, int last) {
  if (x.rank() == 0) return reshape(x, {1});
  const int begin = checked_axis("flatten", first, x.rank()), end = checked_axis("flatten", last, x.rank());
  if (begin > end) fail("flatten: axis {} comes after axis {} of shape {}", first, last, to_string(x.shape()));
  Shape shape;
  for (int i = 0; i < x.rank(); ++i) {
    if (i <= begin || i > end) {
      shape.append(x.size(i));
    } else {
      shape[-1] *= x.size(i);
    }
  }
  return reshape(x, shape);
}

Tensor pad(const Tensor& x, int axis, std::int64_t before, std::int64_t after, double value) {
  const int a = checked_axis("pad", axis, x.rank());
  if (before < 0 || after < 0) fail("pad: expected sizes of at least 0, got {} and {}", before, after);
  Shape left = x.shape(), right = x.shape();
  left[a] = before, right[a] = after;
  return concat({full(left, value, x.dtype()), x, full(right, value, x.dtype())}, a);
}

Tensor repeat(const Tensor& x, const std::vector<std::int64_t>& times) {
  if (std::ssize(times) != x.rank() || std::ranges::any_of(times, [](auto n) { return n < 0; })) {
    fail("repeat: expected a number of at least 0 for each axis of {}, got {}", to_string(x.shape()),
         fmt::join(times, ", "));
  }
  Tensor y = x;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const std::size_t n = static_cast<std::size_t>(times[static_cast<std::size_t>(axis)]);
    if (n != 1) y = n == 0 ? slice(y, axis, 0, 0) : concat(std::vector<Tensor>(n, y), axis);
  }
  return y;
}

Tensor tril(const Tensor& x, std::int64_t diagonal) {
  return without("tril", x, [=](std::int64_t k) { return k > diagonal; });
}

Tensor triu(const Tensor& x, std::int64_t diagonal) {
  return without("triu", x, [=](std::int64_t k) { return k < diagonal; });
}

}  // namespace heed
