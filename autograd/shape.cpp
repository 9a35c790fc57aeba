#include <heed/autograd/error.h>
#include <heed/autograd/shape.h>

#include <fmt/ranges.h>

#include <algorithm>

namespace heed {

Shape::Shape(std::span<const std::int64_t> sizes) {
  for (const std::int64_t size : sizes) append(size);
}

void Shape::append(std::int64_t size) {
  if (rank_ == max_rank) [[unlikely]]
    fail("shape: at most {} axes, got one more than {}", max_rank, to_string(*this));
  sizes_[static_cast<std::size_t>(rank_++)] = size;
}

std::int64_t Shape::numel(const char* operation) const {
  std::int64_t product = 1;
  for (const std::int64_t size : *this) {
    if (!__builtin_mul_overflow(product, size, &product)) continue;
    if (std::find(begin(), end(), 0) != end()) return 0;
    fail("{}: {} has more than 2^63 - 1 elements", operation, to_string(*this));
  }
  return product;
}

bool Shape::operator==(const Shape& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }

std::string to_string(const Shape& shape) { return fmt::format("({})", fmt::join(shape, ", ")); }

void detail::fail_axis(const char* operation, int axis, int rank) {
  fail("{}: axis {} is outside [{}, {}) for rank {}", operation, axis, -rank, rank, rank);
}

std::int64_t checked_numel(const char* operation, const Shape& shape) {
  if (std::any_of(shape.begin(), shape.end(), [](std::int64_t size) { return size < 0; })) {
    fail("{}: sizes must not be negative, got {}", operation, to_string(shape));
  }
  return shape.numel(operation);
}

std::int64_t checked_offset(const char* operation, std::initializer_list<std::int64_t> index, const Shape& shape) {
  bool inside = std::ssize(index) == shape.rank();
  std::int64_t offset = 0;
  for (int axis = 0; inside && axis < shape.rank(); ++axis) {
    const std::int64_t i = index.begin()[axis];
    inside = i >= 0 && i < shape[axis];
    offset = offset * shape[axis] + i;
  }
  if (std::ssize(index) != shape.rank()) {
    fail("{}: expected an index for each axis of shape {}, got ({})", operation, to_string(shape),
         fmt::join(index, ", "));
  }
  if (!inside) fail("{}: index ({}) lies outside shape {}", operation, fmt::join(index, ", "), to_string(shape));
  return offset;
}

Shape row_major_strides(const Shape& shape) {
  Shape strides = shape;
  std::int64_t stride = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[axis] = stride;
    // The product can overflow only for arrays without elements, whose strides are unused.
    if (__builtin_mul_overflow(stride, std::max<std::int64_t>(shape.begin()[axis], 1), &stride)) stride = 1;
  }
  return strides;
}

Shape broadcast_shapes(const char* operation, const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  std::array<std::int64_t, Shape::max_rank> sizes{};
  for (int i = 1; i <= rank; ++i) {
    const std::int64_t m = i <= a.rank() ? a.end()[-i] : 1;
    const std::int64_t n = i <= b.rank() ? b.end()[-i] : 1;
    if (m != n && m != 1 && n != 1) {
      fail("{}: shapes {} and {} do not broadcast: {} != {} at axis -{}. Sizes must be equal, or one of them 1",
           operation, to_string(a), to_string(b), m, n, i);
    }
    sizes[static_cast<std::size_t>(rank - i)] = m == 1 ? n : m;
  }
  return Shape(std::span<const std::int64_t>(sizes.data(), static_cast<std::size_t>(rank)));
}

}  // namespace heed
