#include <heed/nn/attention.h>

namespace heed {
namespace {

AttentionConfig with_defaults(AttentionConfig config) {
  const AttentionConfig& c = config;
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
  config.kv_heads = c.keys();
  if (c.d_k == 0) config.d_k = c.d_model / c.heads;
  if (c.d_v == 0) config.d_v = c.d_model / c.heads;
  if (c.tie == Tie::K_is_V && c.d_k != c.d_v) {
    fail("MultiHeadAttention: W_K can serve as W_V only when d_k == d_v, got {} and {}", c.d_k, c.d_v);
  }
  if (c.tie == Tie::Q_is_K && c.kv_heads != c.heads) {
    fail("MultiHeadAttention: W_Q can serve as W_K only when kv_heads == heads, got {} and {}", c.kv_heads, c.heads);
  }
  return config;
}

// (B, T, heads d) -> (B, heads, T, d), a view.
Tensor split_heads(const Tensor& x, int heads) {
  return transpose(reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads}), 1, 2);
}

// (B, heads, T, d) -> (B, T, heads d)
Tensor join_heads(const Tensor& x) {
  return reshape(transpose(x, 1, 2), {x.size(0), x.size(2), x.size(1) * x.size(3)});
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(Scope scope, AttentionConfig given)
    : name(scope.name()),
      config(with_defaults(given)),
      W_Q(scope / "W_Q", config.d_model, config.heads * config.d_k, config.bias),
      W_K(config.tie == Tie::Q_is_K ? W_Q
                                    : Linear(scope / "W_K", config.d_model, config.kv_heads * config.d_k, config.bias)),
      W_V(config.tie == Tie::K_is_V ? W_K
                                    : Linear(scope / "W_V", config.d_model, config.kv_heads * config.d_v, config.bias)),
      W_O(scope / "W_O", config.heads * config.d_v, config.d_model, config.output_bias) {
  if (config.normalised == NormalisedHeads::yes) {
    q_norm.emplace(scope / "q_norm", config.d_k);
    k_norm.emplace(scope / "k_norm", config.d_k);
  }
  if (config.rotary > 0) {
    rotary.emplace(config.rotary, rotary_frequencies(config.d_k), RotaryPairs::halves, W_Q.weight.dtype());
  }
}

Tensor MultiHeadAttention::queries_of(const Tensor& x, std::int64_t first) const {
  const LayerScope scope(name);
  Tensor Q = split_heads(W_Q(x), config.heads);
  if (q_norm) Q = (*q_norm)(Q);
  return rotary ? (*rotary)(Q, first) : Q;
}

Tensor MultiHeadAttention::keys_of(const Tensor& x, std::int64_t first) const {
  const LayerScope scope(name);
  Tensor K = split_heads(W_K(x), config.kv_heads);
  if (k_norm) K = (*k_norm)(K);
  return rotary ? (*rotary)(K, first) : K;
}

AttentionResult MultiHeadAttention::operator()(const Tensor& queries, const Tensor& x, const Mask& mask,
                                               Weights weights, const Dropout& drop) const {
  const LayerScope scope(name);
  for (const Tensor* input : {&queries, &x}) {
    if (input->rank() == 3 && input->size(2) == config.d_model) continue;
    fail("MultiHeadAttention: expected x (B, T, {}), got {}", config.d_model, to_string(input->shape()));
  }
  if (rotary && queries.size(1) != x.size(1)) {
    fail("MultiHeadAttention: {} queries among {} tokens have no positions to be turned by", queries.size(1),
         x.size(1));
  }
  const Tensor Q = queries_of(queries), K = keys_of(x);
  const Tensor V = split_heads(W_V(x), config.kv_heads);  // (B, kv_heads, T, d_v)
  const auto show = [&](const char* what, Tensor& value) {
    Hook::show(name, what, value);
    if (what == std::string_view("weights")) value = drop.with(drop.attention, value);
  };
  AttentionResult attended = Hook::is_open() || drop.attention != 0 ? attention_composed(Q, K, V, mask, show)
                                                                    : attention(Q, K, V, mask, weights);
  attended.output = W_O(join_heads(attended.output));  // (B, T_q, d_model)
  Hook::show(name, "output", attended.output);
  return attended;
}

Tensor MultiHeadAttention::go_on(const Tensor& x, KeyValueCache& past, const Mask& mask) const {
  const LayerScope scope(name);
  const std::int64_t first = past.length();
  const auto [K, V] = past.append(keys_of(x, first), split_heads(W_V(x), config.kv_heads));
  return W_O(join_heads(attention(queries_of(x, first), K, V, mask).output));  // (B, T, d_model)
}

}  // namespace heed
