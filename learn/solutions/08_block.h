// The solution of step 8: a transformer block. Layer norm, an MLP, and two residuals around them.
#pragma once
#include "given/array.h"

#include <heed/autograd/ops.h>

#include <functional>

namespace learn {

using heed::Tensor;

/// Layer norm of each token: x (..., d), gain and bias (d).
///
///     mean     = mean of the d features of a token
///     variance = mean of (x - mean)^2              (divided by d, not by d - 1)
///     y        = (x - mean) / sqrt(variance + eps) * gain + bias
///
/// mean(x, -1, true) is the mean over the last axis, which stays with size 1, so that it broadcasts. Also: square(x), sqrt(x).
/// heed has layer_norm() and var(); write it without them.
inline Tensor layer_norm(const Tensor& x, const Tensor& gain, const Tensor& bias, double eps = 1e-5) {
  // begin layer_norm
  const Tensor centred = x - mean(x, -1, true);
  const Tensor variance = mean(square(centred), -1, true);
  return centred / sqrt(variance + eps) * gain + bias;
  // end layer_norm
}

/// The MLP of each token: x (..., d), W_1 (d, 4 d), b_1 (4 d), W_2 (4 d, d), b_2 (d).
///
///     y = gelu(x W_1 + b_1) W_2 + b_2
inline Tensor mlp(const Tensor& x, const Tensor& W_1, const Tensor& b_1, const Tensor& W_2, const Tensor& b_2) {
  // begin mlp
  return matmul(gelu(matmul(x, W_1) + b_1), W_2) + b_2;
  // end mlp
}

/// A function from (B, T, d) to (B, T, d), such as an attention layer with its weights.
using Part = std::function<Tensor(const Tensor&)>;

/// A block with norms before its parts ("pre-norm"). The state x of each token runs through; each part reads a normalised copy and adds
/// to the state.
///
///     x = x + attention(first_norm(x))
///     x = x + mlp(second_norm(x))
inline Tensor block(Tensor x, const Part& attention, const Part& mlp, const Part& first_norm, const Part& second_norm) {
  // begin block
  x = x + attention(first_norm(x));
  return x + mlp(second_norm(x));
  // end block
}

}  // namespace learn
