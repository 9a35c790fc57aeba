#include "autograd/cpu/attention.h"

#include "autograd/cpu/checks.h"

#include <heed/autograd/gradcheck/attention_samples.h>
#include <heed/autograd/machine.h>
#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>

namespace heed {

template <>
inline constexpr bool holds_no_tensor<Mask> = true;

namespace {

// Returns the number of query heads per key head: 1 when their numbers are equal, or for one head without an axis.
std::int64_t group_size(const Tensor& Q, const Tensor& K) {
  if (Q.rank() < 3 || K.rank() != Q.rank() || K.size(-3) == 0 || Q.size(-3) % K.size(-3) != 0) return 1;
  return Q.size(-3) / K.size(-3);
}

// Refuses three axes for weights (B, heads, T_q, T_k): the first may be meant as the texts or as the heads.
void check_axes(const char* operation, const Shape& mask, const Shape& weights) {
  if (mask.rank() != 3 || weights.rank() != 4 || mask[0] == 1) return;
  fail("{}: a mask of shape {} may be one per text or one per head of the weights {}. Give it {}", operation,
       to_string(mask), to_string(weights), detail::four_axes(mask));
}

// Removes the axis of heads for weights without one: (B, 1, 1, T_k) of Mask::padding() serves weights (B, T_q, T_k).
Mask fitted(const Mask& mask, int rank) {
  Booleans visible = mask.visible();
  while (visible.rank() > std::max(rank, 2) && visible.size(-3) == 1) visible = squeeze(visible, -3);
  return mask.with_visible(std::move(visible));
}

// Returns the options with a mask of at most as many axes as the weights.
AttentionOptions checked_options(const char* operation, const Tensor& Q, const Tensor& K, const Tensor& V,
                                 AttentionOptions options) {
  check_defined(operation, {&Q, &K, &V});
  bool fits = Q.rank() >= 2 && K.rank() == Q.rank() && V.rank() == Q.rank() && Q.size(-1) == K.size(-1) &&
              K.size(-2) == V.size(-2) && Q.dtype() == K.dtype() && Q.dtype() == V.dtype();
  for (int axis = 0; fits && axis + 2 < Q.rank(); ++axis) {
    const std::int64_t group = axis + 3 == Q.rank() ? group_size(Q, K) : 1;
    fits = Q.size(axis) == K.size(axis) * group && K.size(axis) == V.size(axis);
  }
  if (!fits) {
    fail(
        "{}: expected Q (..., T_q, d_k), K (..., T_k, d_k), V (..., T_k, d_v) of one dtype, got {}, "
        "{}, {}",
        operation, to_string(Q.shape()), to_string(K.shape()), to_string(V.shape()));
  }
  const Shape batch(std::span(Q.shape().begin(), Q.shape().end() - 2));
  if (std::max({batch.numel(operation), Q.size(-2), K.size(-2), Q.size(-1), V.size(-1)}) >=
      std::numeric_limits<std::int32_t>::max()) {
    fail("{}: expected fewer than 2^31 - 1 sequences, queries, keys and features, got Q {}, K {}, V {}", operation,
         to_string(Q.shape()), to_string(K.shape()), to_string(V.shape()));
  }
  if (Q.size(-1) < 1) fail("{}: d_k must be at least 1, got Q {}", operation, to_string(Q.shape()));
  if (group_size(Q, K) > 1) cpu::check_rank(operation, Q.rank() + 1);
  Shape weights = Q.shape();  // (..., T_q, T_k)
  weights[-1] = K.size(-2);
  const auto check_broadcast = [&](const char* what, const Shape& shape) {
    if (broadcast_shapes((std::string(operation) + ": " + what).c_str(), shape, weights) == weights) return;
    fail("{}: a {} of shape {} does not broadcast to the weights' {}", operation, what, to_string(shape),
         to_string(weights));
  };
  if (options.mask.has_visible()) {
    check_axes(operation, options.mask.visible().shape(), weights);
    if (group_size(Q, K) == 1) options.mask = fitted(options.mask, weights.rank());
    check_broadcast("mask", options.mask.visible().shape());
  }
  if (options.bias.defined()) check_broadcast("bias", options.bias.shape());
  if (options.bias.defined() && options.bias.dtype() != Q.dtype())
    fail("{}: Q is {}, the bias {}", operation, to_string(Q.dtype()), to_string(options.bias.dtype()));
  const auto is_finite_number = [&](double x) {
    return dispatch(Q.dtype(), [&]<class T>() { return std::isfinite(static_cast<T>(x)); });
  };
  if (!(options.soft_cap >= 0 && is_finite_number(options.soft_cap))) {
    fail("{}: expected a finite soft_cap above 0, or 0 for none, got {}", operation, options.soft_cap);
  }
  if (!is_finite_number(options.scale)) fail("{}: expected a finite scale, got {}", operation, options.scale);
  return options;
}

// Reshapes (..., H, n, m) to (..., H_kv, H / H_kv, n, m), or to (..., 1, 1, n, m) where it broadcasts.
Shape grouped(const Shape& shape, std::int64_t groups) {
  Shape result;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (axis != shape.rank() - 3) {
      result.append(shape[axis]);
      continue;
    }
    result.append(shape[axis] == 1 ? 1 : groups);
    result.append(shape[axis] == 1 ? 1 : shape[axis] / groups);
  }
  return result;
}

// Repeats each head of K or V for its group of query heads, with stride 0: (..., H_kv, T, d) -> (..., H_kv, group, T,
// d).
Tensor shared_heads(const Tensor& x, std::int64_t group) {
  Tensor one = unsqueeze(x, -3);
  Shape shape = one.shape();
  shape[-3] = group;
  return broadcast_to(one, shape);
}

Tensor joined_heads(const Tensor& x) { return x.defined() ? flatten(x, -4, -3) : x; }

// Computes the scores and their softmax with single operations.
Tensor scaled(const Tensor& Q, const Tensor& K, double scale) {
  const Tensor products = matmul(Q, transpose(K));  // (..., T_q, T_k)
  return scale == 0 ? products / std::sqrt(static_cast<double>(Q.size(-1))) : products * scale;
}

}  // namespace

AttentionResult attention_composed(Tensor Q, Tensor K, Tensor V, const AttentionOptions& given,
                                   const AttentionWatch& watch) {
  const auto show = [&](const char* name, Tensor& value) {
    if (watch) watch(name, value);
  };
  const AttentionOptions options = checked_options("attention_composed", Q, K, V, given);
  show("Q", Q);
  show("K", K);
  show("V", V);
  const std::int64_t group = group_size(Q, K);
  if (group > 1) K = joined_heads(shared_heads(K, group)), V = joined_heads(shared_heads(V, group));
  Tensor scores = scaled(Q, K, options.scale);
  show("scores", scores);
  Tensor capped = options.soft_cap == 0 ? scores : tanh(scores / options.soft_cap) * options.soft_cap;
  // The watch may cut an edge: its score of minus infinity must not become minus the cap.
  if (watch && options.soft_cap != 0) {
    constexpr double cut = -std::numeric_limits<double>::infinity();
    capped = masked_fill(capped, equal(scores, cut), cut);
  }
  if (options.bias.defined()) capped = capped + options.bias;
  const Booleans hidden = options.mask.hidden(Q.size(-2), K.size(-2));
  Tensor weights = softmax(masked_fill(capped, hidden, -std::numeric_limits<double>::infinity()));
  show("weights", weights);
  Tensor heads = matmul(weights, V);  // (..., T_q, d_v)
  show("heads", heads);
  return {heads, weights, scores};
}

static const Operation weights_operation("attention weights", "P = softmax(scale Q K^T)",
                                         "dQ = dS K, dK = dS^T Q, with dS = scale P (dP - sum(P dP))",
                                         [] { return attention_samples(AttentionOutput::weights); });

static const Operation attention_operation(
    "attention", "O = P V, P = softmax(S), S = cap(scale Q K^T) + bias",
    "dQ = dT K, dK = dT^T Q, dV = P^T dO, dbias = dS, with dP = dO V^T, dS = P (dP - sum(P dP)), dT = scale cap' dS",
    [] { return attention_samples(AttentionOutput::output); }, {.broadcasts = true});

// Attends with equally many heads of Q, K and V, whose shapes are checked.
static AttentionResult attend(const Tensor& Q, const Tensor& K, const Tensor& V, const AttentionOptions& options) {
  const bool want_weights = options.weights;
  // Callers that request (T_q x T_k) results can afford the intermediates.
  if (options.scores || (want_weights && (options.soft_cap > 0 || options.bias.defined()))) {
    AttentionResult all = attention_composed(Q, K, V, options);
    if (!want_weights) all.weights = {};
    if (!options.scores) all.scores = {};
    return all;
  }
  blas_description();  // loads the library before any thread needs it
  Shape full_shape = Q.shape();
  full_shape[-1] = K.size(-2);
  const double scale = options.scale == 0 ? 1 / std::sqrt(static_cast<double>(Q.size(-1))) : options.scale;
  const cpu::AttentionTerms terms{options.mask, scale, options.soft_cap,
                                  options.bias.defined() ? broadcast_to(options.bias.detach(), full_shape) : Tensor()};
  cpu::AttentionForward f = cpu::attention_forward(Q, K, V, terms, want_weights);
  const Tensor P = std::exchange(f.weights, {});
  AttentionResult result;
  result.output = record(
      attention_operation, {&Q, &K, &V, &options.bias}, f.output,
      Saved(Q, K, V, terms.mask, options.bias, f.output, f.row_max, f.inverse_row_sum),
      [scale, cap = options.soft_cap, full_shape](const Tensor& dO, const NeedsInputGrad& needs, auto& q, auto& k,
                                                  auto& v, auto& mask, auto& bias, auto& O, auto& row_max,
                                                  auto& inverse_row_sum) {
        const Tensor wide = bias.defined() ? broadcast_to(bias.detach(), full_shape) : bias;
        const auto [dQ, dK, dV, dbias] =
            cpu::attention_backward(q, k, v, {mask, scale, cap, wide}, {O, {}, row_max, inverse_row_sum}, dO, needs[3]);
        return std::vector{dQ, dK, dV, dbias};
      },
      Recordable([scale, cap = options.soft_cap](const Tensor& dO, auto& q, auto& k, auto& v, auto& mask, auto& bias,
                                                 const Tensor&, const Tensor&, const Tensor&) {
        const auto composed = [&](const std::vector<Tensor>& x) {
          return attention_composed(x[0], x[1], x[2], {.mask = mask, .scale = scale, .soft_cap = cap, .bias = x[3]})
              .output;
        };
        return Recorder::gradients_of(composed, {q, k, v, bias}, dO);
      }));
  if (!want_weights) return result;
  result.weights = record(weights_operation, {&Q, &K}, P, Saved(Q, K, P),
                          Recordable([scale](const Tensor& dy, auto& q, auto& k, auto& p) {
                            const Tensor dS = p * (dy - sum(dy * p, {-1}, true)) * scale;
                            return std::vector{matmul(dS, k), matmul(transpose(dS), q)};
                          }));
  return result;
}

AttentionResult attention(const Tensor& Q, const Tensor& K, const Tensor& V, const AttentionOptions& given) {
  const AttentionOptions options = checked_options("attention", Q, K, V, given);
  const std::int64_t group = group_size(Q, K);
  if (group == 1) return attend(Q, K, V, options);
  const std::int64_t groups = K.size(-3);
  AttentionOptions inner = options;
  if (options.bias.defined()) inner.bias = reshape(options.bias, grouped(options.bias.shape(), groups));
  if (options.mask.has_visible()) {
    const Booleans& visible = options.mask.visible();
    const Booleans shaped(grouped(visible.shape(), groups), {visible.data(), visible.data() + visible.numel()});
    inner.mask = options.mask.with_visible(shaped);
  }
  const AttentionResult result =
      attend(reshape(Q, grouped(Q.shape(), groups)), shared_heads(K, group), shared_heads(V, group), inner);
  return {joined_heads(result.output), joined_heads(result.weights), joined_heads(result.scores)};
}

}  // namespace heed
