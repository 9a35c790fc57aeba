// Step 2: a product of tensors whose shapes broadcast, and its gradients. From here on, dx means d loss / dx, in the shape
// of x; dy, the gradient of the result, is given to you.
#pragma once
#include "given/array.h"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <utility>
#include <vector>

namespace learn {

/// Returns the shape that `a` and `b` broadcast to. Align both shapes at their last axes; an axis that one of them does not have counts as
/// size 1. Per axis:
///
///     the sizes are equal  -> this size
///     one size is 1        -> the other size
///     otherwise            -> throw std::invalid_argument
///
/// (4, 3) with (3) -> (4, 3);  (4, 1) with (3) -> (4, 3);  (4, 3) with (4) -> an error
inline std::vector<int> broadcast_shape(const std::vector<int>& a, const std::vector<int>& b) {
  throw NotWritten("broadcast_shape");  // your code here
}

/// Returns where the element of `x` lies in x.values that stands at `index` of a result that x broadcasts to. The last axis of x
/// belongs to the last of `index`. Along an axis of size 1, x repeats its only element: position 0.
///
///     offset = (i_1 * size_2 + i_2) * size_3 + i_3 ...
inline std::size_t offset(const Array& x, const std::vector<int>& index) {
  throw NotWritten("offset");  // your code here
}

/// Advances `index` to the next element of `shape`, row by row. This one is written:
///
///     std::vector<int> index(shape.size());
///     for (double& v : y.values) { ...; next(index, shape); }
inline void next(std::vector<int>& index, const std::vector<int>& shape) {
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (++index[axis] < shape[axis]) return;
    index[axis] = 0;
  }
}

/// y = a b, element by element, with broadcasting.
inline Array multiply(const Array& a, const Array& b) {
  throw NotWritten("multiply");  // your code here
}

/// Returns the gradient of `x`, which was broadcast to the shape of `dy`. Every copy of an element contributes to its gradient:
///
///     dx = sum of dy over the axes along which x was repeated
inline Array sum_to(const Array& dy, const std::vector<int>& shape) {
  throw NotWritten("sum_to");  // your code here
}

/// Returns the gradients (da, db) of y = a b:  da = sum_to(dy b, shape of a),  db = sum_to(dy a, shape of b).
inline std::pair<Array, Array> multiply_backward(const Array& dy, const Array& a, const Array& b) {
  throw NotWritten("multiply_backward");  // your code here
}

}  // namespace learn
