#include <heed/nn/adapter.h>
#include <heed/nn/attention.h>

#include <cmath>
#include <string_view>

namespace heed {
namespace {

// (B, T, heads d) -> (B, heads, T, d), a view.
Tensor split_heads(const Tensor& x, int heads) {
  return transpose(reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads}), 1, 2);
}

// (B, heads, T, d) -> (B, T, heads d)
Tensor join_heads(const Tensor& x) {
  return reshape(transpose(x, 1, 2), {x.size(0), x.size(2), x.size(1) * x.size(3)});
}

// Returns x W, normalised per head or over all heads, as for queries and keys: (B, heads, T, d_k).
Tensor projected(const Linear& W, const std::optional<Norm>& norm, QueryKeyNorm over, int heads, const Tensor& x) {
  Tensor y = W(x);
  if (over == QueryKeyNorm::all) y = (*norm)(y);
  y = split_heads(y, heads);
  return over == QueryKeyNorm::heads ? (*norm)(y) : y;
}

// Does the same for one head and one token.
Linearised projected_linearised(const MultiHeadAttention& layer, const Linear& W, const std::optional<Norm>& norm,
                                int head, const Tensor& x, std::int64_t position) {
  const int d_k = layer.config.d_k;
  const std::int64_t begin = head * d_k, end = begin + d_k;
  const Tensor row = reshape(x, {1, x.size(0)});
  Linearised map = W.linearised();
  if (layer.config.query_key_norm == QueryKeyNorm::all) {
    map = map.then(norm->linearised(reshape(linear(row, merged(W.weight), W.bias), {-1})));
  }
  const auto columns = [=](const Tensor& y) { return slice(y, -1, begin, end); };
  map = map.then({columns});
  if (layer.config.query_key_norm == QueryKeyNorm::heads) {
    map = map.then(norm->linearised(reshape(columns(linear(row, merged(W.weight), W.bias)), {-1})));
  }
  return layer.rotary ? map.then(layer.rotary->linearised(position)) : map;
}

bool is_number_from_0(double value) { return value >= 0 && std::isfinite(value); }

}  // namespace

AttentionConfig AttentionConfig::complete() const {
  const AttentionConfig& c = *this;
  if (c.d_model < 1 || c.heads < 1 || c.d_k < 0 || c.d_v < 0) {
    fail("MultiHeadAttention: d_model and heads must be positive, d_k and d_v not negative, got {}, {}, {}, {}",
         c.d_model, c.heads, c.d_k, c.d_v);
  }
  if (c.d_model % c.heads != 0 && (c.d_k == 0 || c.d_v == 0)) {
    fail("MultiHeadAttention: d_model {} is not divisible by {} heads; give d_k (and d_v) or another d_model",
         c.d_model, c.heads);
  }
  if (c.kv_heads < 0 || c.heads % c.keys() != 0) {
    fail("MultiHeadAttention: {} kv_heads do not divide {} heads", c.kv_heads, c.heads);
  }
  if (!is_number_from_0(c.scale) || !is_number_from_0(c.soft_cap) || c.window < 0) {
    fail("MultiHeadAttention: scale, soft_cap and window must be finite and at least 0, got {}, {}, {}", c.scale,
         c.soft_cap, c.window);
  }
  AttentionConfig config = c;
  config.kv_heads = c.keys();
  if (c.d_k == 0) config.d_k = c.d_model / c.heads;
  if (c.d_v == 0) config.d_v = c.d_model / c.heads;
  if (c.tie == Tie::K_is_V && config.d_k != config.d_v) {
    fail("MultiHeadAttention: W_K can serve as W_V only when d_k == d_v, got {} and {}", config.d_k, config.d_v);
  }
  if (c.tie == Tie::Q_is_K && config.kv_heads != c.heads) {
    fail("MultiHeadAttention: W_Q can serve as W_K only when kv_heads == heads, got {} and {}", config.kv_heads,
         c.heads);
  }
  return config;
}

MultiHeadAttention::MultiHeadAttention(Scope scope, const AttentionConfig& given,
                                       std::optional<RotaryEmbedding> rotation)
    : name(scope.name()),
      config(given.complete()),
      W_Q(scope / "W_Q", config.d_model, config.heads * config.d_k, {.bias = config.bias}),
      W_K(config.tie == Tie::Q_is_K
              ? W_Q
              : Linear(scope / "W_K", config.d_model, config.kv_heads * config.d_k, {.bias = config.bias})),
      W_V(config.tie == Tie::K_is_V
              ? W_K
              : Linear(scope / "W_V", config.d_model, config.kv_heads * config.d_v, {.bias = config.bias})),
      W_O(scope / "W_O", config.heads * config.d_v, config.d_model, {.bias = config.output_bias}),
      rotary(std::move(rotation)) {
  if (config.query_key_norm == QueryKeyNorm::none) return;
  const bool over_all = config.query_key_norm == QueryKeyNorm::all;
  q_norm.emplace(scope / "q_norm", over_all ? config.heads * config.d_k : config.d_k, config.query_key);
  k_norm.emplace(scope / "k_norm", over_all ? config.kv_heads * config.d_k : config.d_k, config.query_key);
}

Mask MultiHeadAttention::narrowed(const Mask& mask) const {
  return config.window > 0 ? mask & Mask::window(config.window - 1, config.window - 1) : mask;
}

Tensor MultiHeadAttention::queries_of(const Tensor& x, std::int64_t first) const {
  const LayerScope scope(name);
  const Tensor Q = projected(W_Q, q_norm, config.query_key_norm, config.heads, x);
  return rotary ? (*rotary)(Q, first) : Q;
}

Tensor MultiHeadAttention::keys_of(const Tensor& x, std::int64_t first) const {
  const LayerScope scope(name);
  const Tensor K = projected(W_K, k_norm, config.query_key_norm, config.kv_heads, x);
  return rotary ? (*rotary)(K, first) : K;
}

Tensor MultiHeadAttention::values_of(const Tensor& x) const { return split_heads(W_V(x), config.kv_heads); }

AttentionResult MultiHeadAttention::operator()(const Tensor& queries, const Tensor& x, const Mask& mask,
                                               const PassOptions& options) const {
  const LayerScope scope(name);
  for (const Tensor* input : {&queries, &x}) {
    if (input->rank() == 3 && input->size(2) == config.d_model) continue;
    fail("MultiHeadAttention: expected x (B, T, {}), got {}", config.d_model, to_string(input->shape()));
  }
  if (rotary && queries.size(1) != x.size(1)) {
    fail("MultiHeadAttention: rotary embeddings need a position for each query, got {} queries for {} tokens",
         queries.size(1), x.size(1));
  }
  const Tensor Q = queries_of(queries), K = keys_of(x), V = values_of(x);  // recorded in this order
  return attended(Q, K, V, mask, options);
}

Tensor MultiHeadAttention::append(const Tensor& x, KeyValueCache& cache, const Mask& mask) const {
  const LayerScope scope(name);
  cache.take_layer(W_K.weight);
  const std::int64_t first = cache.length();
  const auto [K, V] = cache.append(keys_of(x, first), values_of(x));
  return attended(queries_of(x, first), K, V, mask, {}).output;
}

AttentionResult MultiHeadAttention::attended(const Tensor& Q, const Tensor& K, const Tensor& V, const Mask& mask,
                                             const PassOptions& pass) const {
  const Dropout& drop = pass.drop;
  const AttentionOptions options{
      .mask = narrowed(mask), .scale = config.scale, .soft_cap = config.soft_cap, .weights = pass.weights};
  const auto show = [&](const char* what, Tensor& value) {
    Hook::show(name, what, value);
    if (what == std::string_view("weights")) value = drop.with(drop.attention, value);
  };
  const AttentionResult parts =
      Hook::is_open() || drop.attention != 0 ? attention_composed(Q, K, V, options, show) : attention(Q, K, V, options);
  AttentionResult result{W_O(join_heads(parts.output)), parts.weights};  // (B, T_q, d_model)
  Hook::show(name, "output", result.output);
  return result;
}

Linearised MultiHeadAttention::query_linearised(int head, const Tensor& x, std::int64_t position) const {
  return projected_linearised(*this, W_Q, q_norm, head, x, position);
}

Linearised MultiHeadAttention::key_linearised(int head, const Tensor& x, std::int64_t position) const {
  return projected_linearised(*this, W_K, k_norm, key_head(head), x, position);
}

Linearised MultiHeadAttention::value_linearised(int head) const {
  const std::int64_t at = key_head(head) * config.d_v;
  return W_V.linearised(at, at + config.d_v).then({[layer = *this, head](const Tensor& z) {
    return layer.head_output(head, z);
  }});
}

Tensor MultiHeadAttention::head_output(int head, const Tensor& z) const {
  return matmul(z, slice(merged(W_O.weight), 0, head * config.d_v, (head + 1) * config.d_v));
}

double MultiHeadAttention::score_scale() const {
  return config.scale > 0 ? config.scale : 1 / std::sqrt(static_cast<double>(config.d_k));
}

}  // namespace heed
