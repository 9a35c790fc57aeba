#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace heed {

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
  std::int64_t numel() const;  // the product of the sizes; Error when it exceeds 2^63 - 1

  // Negative axes count from the end; `axis` must lie in [-rank, rank).
  std::int64_t operator[](int axis) const { return sizes_[static_cast<std::size_t>(axis < 0 ? axis + rank_ : axis)]; }
  std::int64_t& operator[](int axis) { return sizes_[static_cast<std::size_t>(axis < 0 ? axis + rank_ : axis)]; }

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

// `axis` in [-rank, rank) as one in [0, rank); an Error naming `operation` otherwise.
int checked_axis(const char* operation, int axis, int rank);

// Strides, in elements, of an array of this shape whose last axis runs fastest and which has no gaps.
Shape row_major_strides(const Shape& shape);

// The shape that a and b broadcast to (NumPy's rule); an Error naming `operation` when they do not.
Shape broadcast_shapes(const char* operation, const Shape& a, const Shape& b);

}  // namespace heed
