#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace heed {

namespace detail {
[[noreturn, gnu::cold]] void fail_axis(const char* operation, int axis, int rank);
}

// Returns `axis`, which lies in [-rank, rank), as an axis in [0, rank). Throws Error under the name of `operation` otherwise.
inline int checked_axis(const char* operation, int axis, int rank) {
  if (axis < -rank || axis >= rank) [[unlikely]]
    detail::fail_axis(operation, axis, rank);
  return axis < 0 ? axis + rank : axis;
}

// The sizes of an n-dimensional array, outermost first. () is a scalar. At most max_rank axes, else Error. Also holds
// strides, an index, or sizes asked for (-1 in reshape), so that negative numbers are refused where a tensor is made.
class Shape {
 public:
  static constexpr int max_rank = 8;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> sizes)
      : Shape(std::span<const std::int64_t>(sizes.begin(), sizes.size())) {}
  explicit Shape(std::span<const std::int64_t> sizes);

  // Number of axes, and product of the sizes: 1 for a scalar.
  int rank() const { return rank_; }
  std::int64_t numel() const { return numel("shape"); }
  // Throws Error under the name of `operation` when the product exceeds 2^63 - 1.
  std::int64_t numel(const char* operation) const;

  // Returns the size along `axis`. A negative axis counts from the end. Throws Error outside [-rank, rank).
  std::int64_t operator[](int axis) const {
    return sizes_[static_cast<std::size_t>(checked_axis("shape", axis, rank_))];
  }
  std::int64_t& operator[](int axis) { return sizes_[static_cast<std::size_t>(checked_axis("shape", axis, rank_))]; }

  // Outermost first.
  const std::int64_t* begin() const { return sizes_.data(); }
  const std::int64_t* end() const { return sizes_.data() + rank_; }

  // Adds an innermost axis. Error beyond max_rank.
  void append(std::int64_t size);
  // Same sizes in the same order.
  bool operator==(const Shape& other) const;

 private:
  std::array<std::int64_t, max_rank> sizes_{};
  int rank_ = 0;
};

// "(8, 12, 64)"
std::string to_string(const Shape& shape);

// Returns the number of elements of `shape`. Throws Error under the name of `operation` when a size is negative, or when the
// number exceeds 2^63 - 1.
std::int64_t checked_numel(const char* operation, const Shape& shape);

/// Returns the position, counted row-major, of the element at one index per axis. Throws `Error` outside the shape.
std::int64_t checked_offset(const char* operation, std::initializer_list<std::int64_t> index, const Shape& shape);

// Strides, in elements, of an array of this shape whose last axis runs fastest and which has no gaps.
Shape row_major_strides(const Shape& shape);

// The shape that a and b broadcast to (NumPy's rule); an Error naming `operation` when they do not.
Shape broadcast_shapes(const char* operation, const Shape& a, const Shape& b);

}  // namespace heed
