#include "autograd/cpu/attention.h"

#include <heed/autograd/gradcheck/attention_samples.h>
#include <heed/autograd/machine.h>
#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>

#include <cmath>
#include <limits>
#include <utility>

namespace heed {
namespace {

void check_shapes(const Tensor& Q, const Tensor& K, const Tensor& V, const Mask& mask) {
  bool fits = Q.rank() >= 2 && K.rank() == Q.rank() && V.rank() == Q.rank() && Q.size(-1) == K.size(-1) &&
              K.size(-2) == V.size(-2) && Q.dtype() == K.dtype() && Q.dtype() == V.dtype();
  for (int axis = 0; fits && axis + 2 < Q.rank(); ++axis) {
    fits = Q.size(axis) == K.size(axis) && Q.size(axis) == V.size(axis);
  }
  if (!fits) {
    fail(
        "attention: expected Q (..., T_q, d_k), K (..., T_k, d_k), V (..., T_k, d_v) of one dtype, got {}, "
        "{}, {}",
        to_string(Q.shape()), to_string(K.shape()), to_string(V.shape()));
  }
  if (!mask.has_visible()) return;
  Shape weights = Q.shape();  // (..., T_q, T_k)
  weights[-1] = K.size(-2);
  if (broadcast_shapes("attention: mask", mask.visible().shape(), weights) != weights) {
    fail("attention: a mask of shape {} does not broadcast to the weights' {}", to_string(mask.visible().shape()),
         to_string(weights));
  }
}

}  // namespace

AttentionResult attention_composed(Tensor Q, Tensor K, Tensor V, const Mask& mask, const AttentionWatch& watch) {
  check_shapes(Q, K, V, mask);
  const auto show = [&](const char* name, Tensor& value) {
    if (watch) watch(name, value);
  };
  show("Q", Q);
  show("K", K);
  show("V", V);
  Tensor scores = matmul(Q, transpose(K)) / std::sqrt(static_cast<double>(Q.size(-1)));  // (..., T_q, T_k)
  show("scores", scores);
  const Booleans hidden = mask.hidden(Q.size(-2), K.size(-2));
  Tensor weights = softmax(masked_fill(scores, hidden, -std::numeric_limits<double>::infinity()));  // (..., T_q, T_k)
  show("weights", weights);
  Tensor heads = matmul(weights, V);  // (..., T_q, d_v)
  show("heads", heads);
  return {heads, weights};
}

// P  = softmax(Q K^T / sqrt(d_k)), an output of its own when asked for
// dS = P (dP - sum(P dP)) / sqrt(d_k), dQ = dS K, dK = dS^T Q
static const Operation weights_operation("attention weights",
                                         [] { return attention_samples(AttentionOutput::weights); });

// O  = P V
// dV = P^T dO, and with dP = dO V^T dQ and dK as above. Keeps Q, K, V, O and two numbers a query.
static const Operation attention_operation("attention", [] { return attention_samples(AttentionOutput::output); });
AttentionResult attention(const Tensor& Q, const Tensor& K, const Tensor& V, const Mask& mask, Weights weights) {
  check_shapes(Q, K, V, mask);
  blas_description();  // loaded before any thread needs it
  cpu::AttentionForward f = cpu::attention_forward(Q, K, V, mask, weights == Weights::yes);
  const Tensor P = std::exchange(f.weights, {});
  AttentionResult result;
  result.output = record(attention_operation, {&Q, &K, &V}, f.output, [Q, K, V, mask, f](const Tensor& dO) {
    const auto [dQ, dK, dV] = cpu::attention_backward(Q, K, V, mask, f, dO);
    return std::vector{dQ, dK, dV};
  });
  if (weights == Weights::no) return result;
  result.weights = record(weights_operation, {&Q, &K}, P, [Q, K, P](const Tensor& dP) {
    const Tensor dS = P * (dP - sum(dP * P, {-1}, true)) * (1 / std::sqrt(static_cast<double>(Q.size(-1))));
    return std::vector{matmul(dS, K), matmul(transpose(dS), Q)};
  });
  return result;
}

}  // namespace heed
