// Step 6: self-attention. From here on you compute with heed's tensors, which differentiate themselves: you have
// written their like in steps 1 to 5. What you need, all in <heed/autograd/ops.h>:
//
//     matmul(a, b)   transpose(x)   softmax(x)   x / 2.0          of tensors, as in the formulas
//     x.size(-1)                                                  the number of columns
//     masked_fill(x, booleans, value)   !booleans                 `value` where the booleans are true, else x
//     Booleans({2, 2}, {1, 0, 1, 1})                              an array of booleans: its shape, its elements row by row
#pragma once
#include "given/array.h"

#include <heed/autograd/ops.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace learn {

using heed::Booleans;
using heed::Tensor;

/// What attention returns.
struct Attended {
  Tensor output;   ///< (T, d_v)
  Tensor weights;  ///< (T, T): row = query, column = key; each row adds up to 1
};

/// Attention with nothing to learn. Each word is compared with each word by the dot product: X (T, d) has one word per row.
///
///     scores = X X^T      weights = softmax(scores), of each row      output = weights X
inline Attended simple_attention(const Tensor& X) {
  throw NotWritten("simple_attention");  // your code here
}

/// Attention of queries Q (T, d_k) to keys K (T, d_k) with values V (T, d_v). d_k is the number of columns of Q. visible (T, T) is true where query i may attend to
/// key j.
///
///     scores  = Q K^T / sqrt(d_k)
///     scores  = -infinity where visible is false
///     weights = softmax(scores), of each row
///     output  = weights V
inline Attended attention(const Tensor& Q, const Tensor& K, const Tensor& V, const Booleans& visible) {
  throw NotWritten("attention");  // your code here
}

/// Returns the causal mask (T, T): visible_ij = j <= i. A language model must not see the words that it is to predict.
inline Booleans causal_mask(int T) {
  throw NotWritten("causal_mask");  // your code here
}

/// Self-attention of X (T, d): queries, keys and values are three views of the same words. W_Q, W_K (d, d_k), W_V (d, d_v).
///
///     Q = X W_Q      K = X W_K      V = X W_V      attention(Q, K, V)
inline Attended self_attention(const Tensor& X, const Tensor& W_Q, const Tensor& W_K, const Tensor& W_V,
                               const Booleans& visible) {
  throw NotWritten("self_attention");  // your code here
}

}  // namespace learn
