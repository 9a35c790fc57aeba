#pragma once
#include <heed/autograd/error.h>
#include <heed/autograd/shape.h>

#include <memory>
#include <vector>

namespace heed {

// An n-dimensional, row-major array of integers or booleans: never differentiated, cheap to copy, immutable.
template <class T>
class Array {
 public:
  Array() : Array(Shape{0}, {}) {}
  // Throws Error when a size is negative or the counts differ.
  Array(Shape shape, std::vector<T> values)
      : shape_(shape), values_(std::make_shared<const std::vector<T>>(std::move(values))) {
    const std::int64_t needed = checked_numel("array", shape_);
    if (needed != numel()) fail("array: shape {} needs {} values, got {}", to_string(shape_), needed, numel());
  }

  /// Returns the shape.
  const Shape& shape() const { return shape_; }
  /// Returns the number of elements.
  std::int64_t numel() const { return static_cast<std::int64_t>(values_->size()); }
  const T* data() const { return values_->data(); }  // row-major
  // Returns element `i`, counted row-major. Throws Error outside [0, numel()).
  T operator[](std::int64_t i) const {
    if (static_cast<std::uint64_t>(i) >= values_->size()) [[unlikely]]
      fail_index(i);
    return (*values_)[static_cast<std::size_t>(i)];
  }

 private:
  [[noreturn, gnu::cold]] void fail_index(std::int64_t i) const {
    fail("[]: index {} lies outside [0, {}) of an array of shape {}", i, numel(), to_string(shape_));
  }

  Shape shape_;
  std::shared_ptr<const std::vector<T>> values_;
};

using Ids = Array<std::int32_t>;       // tokens, labels, positions
using Booleans = Array<std::uint8_t>;  // 0 is false, anything else is true

}  // namespace heed
