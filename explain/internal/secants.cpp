#include "explain/internal/secants.h"

#include <limits>

namespace heed {
namespace {

// Returns f(x) of an elementwise function, with its slope between y and x: beside x where y is too near to tell.
template <class Function>
Tensor elementwise(const Function& f, const Tensor& x, const Tensor& y) {
  constexpr double near = 1e-3;
  const Tensor at = x.detach(), far = where(abs(at - y) < near, at - near, y);
  const Tensor value = f(at);
  return value + (value - f(far)) / (at - far) * change_of(x);
}

// Returns the product of x and a, with the slopes between those of (y, b) and (x, a).
template <class Product>
Tensor product(const Product& times, const Tensor& x, const Tensor& a, const Tensor& y, const Tensor& b) {
  const Tensor slopes = times(change_of(x), (a.detach() + b) * 0.5) + times((x.detach() + y) * 0.5, change_of(a));
  return times(x.detach(), a.detach()) + slopes;
}

// Returns softmax(x) over the last axis, which is 0 where `hidden`, with its slope between y and x.
Tensor softmax_between(const Tensor& x, const Tensor& y, const Booleans& hidden) {
  const auto logarithm = [&](const Tensor& scores) {
    return masked_fill(log_softmax(masked_fill(scores, hidden, -std::numeric_limits<double>::infinity())), hidden, 0);
  };
  const Tensor log_p = logarithm(x.detach()), log_q = logarithm(y), d = log_p - log_q;
  const Tensor p = masked_fill(exp(log_p), hidden, 0), q = masked_fill(exp(log_q), hidden, 0);
  // The logarithmic mean (p - q) / d = (p + q) tanh(d / 2) / d.
  const Tensor mean = (p + q) * where(abs(d) < 1e-4, 0.5, tanh(d * 0.5) / d);
  const Tensor change = mean * change_of(x), all = sum(mean, {-1}, true);
  return p + change - mean * (sum(change, {-1}, true) / maximum(all, full(all.shape(), 1e-30, all.dtype())));
}

// Repeats heads of keys or values (B, kv_heads, T, d) for the query heads that share them.
Tensor for_queries(const Tensor& x, std::int64_t heads) {
  const std::int64_t kv = x.size(1), group = heads / kv;
  if (group == 1) return x;
  const Tensor repeated = broadcast_to(unsqueeze(x, 2), {x.size(0), kv, group, x.size(2), x.size(3)});
  return reshape(repeated, {x.size(0), heads, x.size(2), x.size(3)});
}

}  // namespace

Tensor secant_values(const MultiHeadAttention& layer, const HeadInputs& x, const HeadInputs& y, const Mask& mask,
                     const EarlierTokens& earlier) {
  const std::int64_t H = layer.config.heads;
  const HeadProjections at_y = projected_heads(layer, y, earlier);
  HeadProjections at_x = projected_heads(layer, x, earlier);
  if (layer.q_norm) {
    at_x.Q = secant(
        [&](const Tensor& q) {
          return projected_heads(layer, {q, x.keys, x.values}, earlier).Q;
        },
        x.queries, y.queries);
    at_x.K = secant(
        [&](const Tensor& k) {
          return projected_heads(layer, {x.queries, k, x.values}, earlier).K;
        },
        x.keys, y.keys);
  }
  const Tensor K = for_queries(at_x.K, H), K_y = for_queries(at_y.K, H);
  const Tensor V = for_queries(at_x.V, H), V_y = for_queries(at_y.V, H);
  const double scale = layer.score_scale(), cap = layer.config.soft_cap;
  const auto scored = [&](const Tensor& q, const Tensor& k) { return matmul(q, transpose(k)) * scale; };
  Tensor scores = product(scored, at_x.Q, K, at_y.Q, K_y), scores_y = scored(at_y.Q, K_y);
  if (cap > 0) {
    const auto capped = [&](const Tensor& s) { return tanh(s / cap) * cap; };
    scores = elementwise(capped, scores, scores_y), scores_y = capped(scores_y);
  }
  const Booleans hidden = layer.narrowed(mask).hidden(scores.size(2), scores.size(3));
  const Tensor weights = softmax_between(scores, scores_y, hidden);
  const Tensor weights_y = softmax(masked_fill(scores_y, hidden, -std::numeric_limits<double>::infinity()));
  return product([](const Tensor& p, const Tensor& v) { return matmul(p, v); }, weights, V, weights_y, V_y);
}

Tensor secant_mlp(const Mlp& mlp, const Tensor& x, const Tensor& y) {
  const auto f = [&](const Tensor& values) { return activated(mlp.activation, values); };
  if (!mlp.gate) return mlp.out(elementwise(f, mlp.in(x), mlp.in(y)));
  const auto times = [](const Tensor& a, const Tensor& b) { return a * b; };
  const Tensor gates = (*mlp.gate)(y);
  return mlp.out(product(times, elementwise(f, (*mlp.gate)(x), gates), mlp.in(x), f(gates), mlp.in(y)));
}

}  // namespace heed
