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
  Array(Shape shape, std::vector<T> values)  // Error when the counts differ
      : shape_(shape), values_(std::make_shared<const std::vector<T>>(std::move(values))) {
    if (shape_.numel() != numel()) {
      fail("array: shape {} needs {} values, got {}", to_string(shape_), shape_.numel(), numel());
    }
  }

  // Row-major; operator[] counts in that order.
  const Shape& shape() const { return shape_; }
  std::int64_t numel() const { return static_cast<std::int64_t>(values_->size()); }
  const T* data() const { return values_->data(); }
  T operator[](std::int64_t i) const { return (*values_)[static_cast<std::size_t>(i)]; }

 private:
  Shape shape_;
  std::shared_ptr<const std::vector<T>> values_;
};

using Ids = Array<std::int32_t>;       // tokens, labels, positions
using Booleans = Array<std::uint8_t>;  // 0 is false, anything else is true

}  // namespace heed
