#pragma once
#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace heed {

namespace detail {
[[noreturn, gnu::cold]] void fail_axis(const char* operation, int axis, int rank);
}

/// Returns `axis`, in [-rank, rank), as an axis in [0, rank). Throws Error, prefixed by `operation`, for other values.
inline int checked_axis(const char* operation, int axis, int rank) {
  if (axis < -rank || axis >= rank) [[unlikely]]
    detail::fail_axis(operation, axis, rank);
  return axis < 0 ? axis + rank : axis;
}

/// The sizes of an n-dimensional array, outermost first; () is a scalar. Throws Error beyond max_rank axes. Also holds
/// strides, an index, or requested sizes (-1 in reshape): negative sizes are rejected when a tensor is made.
///
///     const Shape shape{8, 12, 64};
///     shape[-1];       // 64
///     shape.numel();   // 6144
class Shape {
 public:
  static constexpr int max_rank = 8;

  Shape() = default;
  /// Sizes in braces.
  Shape(std::initializer_list<std::int64_t> sizes)
      : Shape(std::span<const std::int64_t>(sizes.begin(), sizes.size())) {}
  explicit Shape(std::span<const std::int64_t> sizes);  ///< sizes in an array

  /// Return the number of axes, and the product of the sizes (1 for a scalar).
  int rank() const { return rank_; }
  std::int64_t numel() const { return numel("shape"); }  ///< the product of the sizes
  /// Throws Error, prefixed by `operation`, when the product exceeds 2^63 - 1.
  std::int64_t numel(const char* operation) const;

  /// Returns the size along `axis`. A negative axis counts from the end. Throws Error outside [-rank, rank).
  std::int64_t operator[](int axis) const {
    return sizes_[static_cast<std::size_t>(checked_axis("shape", axis, rank_))];
  }
  /// Returns the size, to change it.
  std::int64_t& operator[](int axis) { return sizes_[static_cast<std::size_t>(checked_axis("shape", axis, rank_))]; }

  /// Iterate over the sizes, outermost first.
  const std::int64_t* begin() const { return sizes_.data(); }
  const std::int64_t* end() const { return sizes_.data() + rank_; }  ///< behind the innermost size

  /// Adds an innermost axis. Throws Error beyond max_rank.
  void append(std::int64_t size);
  /// Returns whether rank and sizes are equal.
  bool operator==(const Shape& other) const;

 private:
  std::array<std::int64_t, max_rank> sizes_{};
  int rank_ = 0;
};

/// The axes of a reduction: one, several in braces, or all of them, {}. A negative axis counts from the end.
///
///     sum(x, 1);   sum(x, {0, -1});   sum(x, {}, true);
class Axes {
 public:
  Axes() = default;  ///< all axes
  /// One axis.
  template <std::same_as<int> Axis>
  Axes(Axis axis) : axes_{axis} {}
  Axes(std::initializer_list<int> axes) : axes_(axes) {}   ///< axes in braces; all when empty
  Axes(std::vector<int> axes) : axes_(std::move(axes)) {}  ///< all when empty
  template <std::same_as<bool> Flag>
  Axes(Flag) = delete;  // keepdim follows the axes: sum(x, 1, true), or sum(x, {}, true) for all axes

  operator const std::vector<int>&() const { return axes_; }  ///< the axes as they were given

 private:
  std::vector<int> axes_;
};

/// Returns the shape as text: "(8, 12, 64)".
std::string to_string(const Shape& shape);

/// Returns the number of elements of `shape`. Throws Error, prefixed by `operation`, when a size is negative or the
/// number exceeds 2^63 - 1.
std::int64_t checked_numel(const char* operation, const Shape& shape);

/// Returns the row-major position of the element at one index per axis. Throws `Error` outside the shape.
std::int64_t checked_offset(const char* operation, std::initializer_list<std::int64_t> index, const Shape& shape);

/// Returns the strides, in elements, of a contiguous row-major array of this shape.
Shape row_major_strides(const Shape& shape);

/// Returns the shape that a and b broadcast to by NumPy's rule. Throws Error, prefixed by `operation`, when they do not
/// broadcast.
Shape broadcast_shapes(const char* operation, const Shape& a, const Shape& b);

}  // namespace heed
