// The solution of step 4: softmax of each row, and its gradient.
#pragma once
#include "given/array.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace learn {

/// Softmax of each row: y_ij = e^x_ij / sum over k of e^x_ik.  (n, m) -> (n, m)
///
/// e^1000 is infinite, so subtract the largest element of the row first; the quotient stays the same:
///
///     m_i  = max over k of x_ik
///     y_ij = e^(x_ij - m_i) / sum over k of e^(x_ik - m_i)
///
/// An element of -infinity gets 0. A row that is -infinity throughout gets 0 everywhere: a query that may attend to no key.
inline Array softmax(const Array& x) {
  // begin softmax
  Array y(x.shape);
  for (int i = 0; i < x.rows(); ++i) {
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int j = 0; j < x.columns(); ++j) largest = std::max(largest, x(i, j));
    if (std::isinf(largest)) continue;
    for (int j = 0; j < x.columns(); ++j) sum += y(i, j) = std::exp(x(i, j) - largest);
    for (int j = 0; j < x.columns(); ++j) y(i, j) /= sum;
  }
  return y;
  // end softmax
}

/// Returns the gradient of x from that of y = softmax(x). Each element of a row of x changes every element of that row of y:
///
///     dy_k/dx_j = y_k (1 - y_j) if k == j, else -y_k y_j
///     dx_ij     = y_ij (dy_ij - sum over k of dy_ik y_ik)
inline Array softmax_backward(const Array& dy, const Array& y) {
  // begin softmax_backward
  Array dx(y.shape);
  for (int i = 0; i < y.rows(); ++i) {
    double sum = 0;
    for (int k = 0; k < y.columns(); ++k) sum += dy(i, k) * y(i, k);
    for (int j = 0; j < y.columns(); ++j) dx(i, j) = y(i, j) * (dy(i, j) - sum);
  }
  return dx;
  // end softmax_backward
}

}  // namespace learn
