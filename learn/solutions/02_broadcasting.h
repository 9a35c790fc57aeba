// The solution of step 2: a product of tensors whose shapes broadcast, and its gradients. From here on, dx means d loss / dx, in the shape
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
  // begin broadcast_shape
  std::vector<int> shape(std::max(a.size(), b.size()));
  for (std::size_t i = 1; i <= shape.size(); ++i) {  // counted from the last axis
    const int m = i <= a.size() ? a[a.size() - i] : 1, n = i <= b.size() ? b[b.size() - i] : 1;
    if (m != n && m != 1 && n != 1) throw std::invalid_argument("these shapes do not broadcast");
    shape[shape.size() - i] = m == 1 ? n : m;
  }
  return shape;
  // end broadcast_shape
}

/// Returns where the element of `x` lies in x.values that stands at `index` of a result that x broadcasts to. The last axis of x
/// belongs to the last of `index`. Along an axis of size 1, x repeats its only element: position 0.
///
///     offset = (i_1 * size_2 + i_2) * size_3 + i_3 ...
inline std::size_t offset(const Array& x, const std::vector<int>& index) {
  // begin offset
  std::size_t at = 0;
  for (std::size_t axis = 0; axis < x.shape.size(); ++axis) {
    const int i = index[index.size() - x.shape.size() + axis], size = x.shape[axis];
    at = at * static_cast<std::size_t>(size) + static_cast<std::size_t>(size == 1 ? 0 : i);
  }
  return at;
  // end offset
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
  // begin multiply
  Array y(broadcast_shape(a.shape, b.shape));
  std::vector<int> index(y.shape.size());
  for (double& v : y.values) {
    v = a.values[offset(a, index)] * b.values[offset(b, index)];
    next(index, y.shape);
  }
  return y;
  // end multiply
}

/// Returns the gradient of `x`, which was broadcast to the shape of `dy`. Every copy of an element contributes to its gradient:
///
///     dx = sum of dy over the axes along which x was repeated
inline Array sum_to(const Array& dy, const std::vector<int>& shape) {
  // begin sum_to
  Array dx(shape);
  std::vector<int> index(dy.shape.size());
  for (const double g : dy.values) {
    dx.values[offset(dx, index)] += g;
    next(index, dy.shape);
  }
  return dx;
  // end sum_to
}

/// Returns the gradients (da, db) of y = a b:  da = sum_to(dy b, shape of a),  db = sum_to(dy a, shape of b).
inline std::pair<Array, Array> multiply_backward(const Array& dy, const Array& a, const Array& b) {
  // begin multiply_backward
  return {sum_to(multiply(dy, b), a.shape), sum_to(multiply(dy, a), b.shape)};
  // end multiply_backward
}

}  // namespace learn
