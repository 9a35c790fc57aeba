// The solution of step 5: the loss of a classifier, and its gradient.
#pragma once
#include "given/array.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace learn {

/// The mean over the rows of -ln softmax(x)[label]: how surprised the model is by the right answer. x (n, C), one label per row.
///
///     loss = mean over i of (ln(sum over k of e^x_ik) - x_i,label)
///
/// As in step 4, e^1000 is infinite. With m_i = max over k of x_ik:
///
///     ln(sum over k of e^x_ik) = m_i + ln(sum over k of e^(x_ik - m_i))
inline double cross_entropy(const Array& x, const std::vector<int>& labels) {
  // begin cross_entropy
  double loss = 0;
  for (int i = 0; i < x.rows(); ++i) {
    double largest = x(i, 0), sum = 0;
    for (int k = 0; k < x.columns(); ++k) largest = std::max(largest, x(i, k));
    for (int k = 0; k < x.columns(); ++k) sum += std::exp(x(i, k) - largest);
    loss += largest + std::log(sum) - x(i, labels[static_cast<std::size_t>(i)]);
  }
  return loss / x.rows();
  // end cross_entropy
}

/// Returns the gradient of x, for a gradient of 1 at the loss:
///
///     dx_ij = (softmax(x)_ij - [j is the label of row i]) / n        where [ ] is 1 or 0
///
/// What the model expects, less what is right, per row. Each row of dx adds up to 0.
inline Array cross_entropy_backward(const Array& x, const std::vector<int>& labels) {
  // begin cross_entropy_backward
  Array dx(x.shape);
  for (int i = 0; i < x.rows(); ++i) {
    double largest = x(i, 0), sum = 0;
    for (int k = 0; k < x.columns(); ++k) largest = std::max(largest, x(i, k));
    for (int k = 0; k < x.columns(); ++k) sum += std::exp(x(i, k) - largest);
    for (int j = 0; j < x.columns(); ++j) {
      const double right = j == labels[static_cast<std::size_t>(i)] ? 1 : 0;
      dx(i, j) = (std::exp(x(i, j) - largest) / sum - right) / x.rows();
    }
  }
  return dx;
  // end cross_entropy_backward
}

}  // namespace learn
