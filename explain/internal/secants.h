#pragma once
#include <heed/autograd/ops.h>
#include <heed/nn/head_inputs.h>
#include <heed/nn/mlp.h>

/// @file
/// Functions recorded with the mean slope between two inputs, so that backward() gives the multipliers of DeepLIFT (Shrikumar et al.
/// 2017, arXiv:1704.02685): gradients that do not vanish where a softmax or an activation is saturated at both inputs. Each returns
/// f(x); its derivative m satisfies m (x - y) = f(x) - f(y).
namespace heed {

/// Returns a tensor of zeros whose derivative with respect to x is 1.
inline Tensor change_of(const Tensor& x) { return x - x.detach(); }

/// Returns the value of `at_x` with the mean of both derivatives: the mean slope of a function whose derivative is linear.
inline Tensor mean_slope(const Tensor& at_x, const Tensor& at_y) {
  return at_x.detach() + (change_of(at_x) + change_of(at_y)) * 0.5;
}
/// Returns f(x) with the mean of the derivatives at x and y.
template <class Function>
Tensor secant(const Function& f, const Tensor& x, const Tensor& y) {
  return mean_slope(f(x), f(y + change_of(x)));
}

/// Returns weighted_values() of the inputs x, with the slopes between y and x: of the products exactly, and of the softmax by the
/// logarithmic means L of both weights, dP = L (dS - sum(L dS) / sum(L)).
Tensor secant_values(const MultiHeadAttention& layer, const HeadInputs& x, const HeadInputs& y, const Mask& mask,
                     const EarlierTokens& earlier = {});

/// Returns the MLP's output for x, with the slopes between y and x of its activation and its gate.
Tensor secant_mlp(const Mlp& mlp, const Tensor& x, const Tensor& y);

}  // namespace heed
