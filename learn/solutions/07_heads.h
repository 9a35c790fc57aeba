// The solution of step 7: several heads side by side, mixed by W_O.
#pragma once
#include "given/array.h"

#include <heed/autograd/ops.h>

#include <cmath>

namespace learn {

using heed::Tensor;

/// Cuts the d features of each token into `heads` groups of d / heads neighbours: (B, T, d) -> (B, heads, T, d / heads). Head h gets
/// the features h d_k, ..., (h + 1) d_k - 1. reshape() keeps the order of the numbers; transpose(x, a, b) swaps two axes:
///
///     reshape(x, {x.size(0), x.size(1), heads, d_k})        where x.size(0) is B
///
///     (B, T, d) --reshape--> (B, T, heads, d_k) --transpose(1, 2)--> (B, heads, T, d_k)
inline Tensor split_heads(const Tensor& x, int heads) {
  // begin split_heads
  return transpose(reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads}), 1, 2);
  // end split_heads
}

/// The way back: (B, heads, T, d_k) -> (B, T, heads d_k). The features of a token lie side by side again, head after head.
///
///     (B, heads, T, d_k) --transpose(1, 2)--> (B, T, heads, d_k) --reshape--> (B, T, heads d_k)
inline Tensor join_heads(const Tensor& x) {
  // begin join_heads
  return reshape(transpose(x, 1, 2), {x.size(0), x.size(2), x.size(1) * x.size(3)});
  // end join_heads
}

/// Multi-head attention of x (B, T, d), every key visible. W_Q, W_K, W_V, W_O (d, d).
///
///     Q, K, V = split_heads(x W_Q), split_heads(x W_K), split_heads(x W_V)
///     head_h  = softmax(Q_h K_h^T / sqrt(d_k)) V_h,  where d_k = d / heads
///     output  = join_heads(head_1, head_2, ...) W_O
///
/// matmul() and softmax() treat leading axes as a batch: (B, heads, T, d_k) x (B, heads, d_k, T) -> (B, heads, T, T).
inline Tensor multi_head(const Tensor& x, const Tensor& W_Q, const Tensor& W_K, const Tensor& W_V, const Tensor& W_O,
                         int heads) {
  // begin multi_head
  const Tensor Q = split_heads(matmul(x, W_Q), heads), K = split_heads(matmul(x, W_K), heads);
  const Tensor V = split_heads(matmul(x, W_V), heads);
  const Tensor weights = softmax(matmul(Q, transpose(K)) / std::sqrt(static_cast<double>(Q.size(-1))));
  return matmul(join_heads(matmul(weights, V)), W_O);
  // end multi_head
}

}  // namespace learn
