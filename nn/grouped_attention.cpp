#include <heed/nn/grouped_attention.h>

#include <algorithm>

namespace heed {
namespace {

GroupedAttentionConfig with_sizes(GroupedAttentionConfig config) {
  const auto& c = config;
  if (c.d_model < 1 || c.heads < 1 || c.kv_heads < 0 || c.d_k < 0 || c.window < 0) {
    fail(
        "GroupedAttention: d_model and heads must be positive, kv_heads, d_k and window not negative, got {}, {}, {}, "
        "{}, {}",
        c.d_model, c.heads, c.kv_heads, c.d_k, c.window);
  }
  if (c.d_k == 0 && c.d_model % c.heads != 0) {
    fail("GroupedAttention: d_model {} is not divisible by {} heads; give d_k or another d_model", c.d_model, c.heads);
  }
  if (config.kv_heads == 0) config.kv_heads = c.heads;
  if (config.d_k == 0) config.d_k = c.d_model / c.heads;
  if (c.heads % c.kv_heads != 0) fail("GroupedAttention: {} kv_heads do not divide {} heads", c.kv_heads, c.heads);
  return config;
}

// (B, T, heads d) -> (B, heads, T, d), a view.
Tensor heads_apart(const Tensor& x, int heads) {
  return transpose(reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads}), 1, 2);
}

// Writes `x`, of the tokens from `length` on, into `buffer`, which grows where it is too small.
Tensor appended(Tensor& buffer, const Tensor& x, std::int64_t length) {
  const std::int64_t B = x.size(0), heads = x.size(1), T = x.size(2), d = x.size(3), end = length + T;
  const bool fits = !buffer.defined() || (buffer.size(0) == B && buffer.size(1) == heads && buffer.size(3) == d &&
                                          buffer.dtype() == x.dtype());
  if (!fits)
    fail("KeyValueCache: {} does not follow what is held, {}", to_string(x.shape()), to_string(buffer.shape()));
  if (!buffer.defined() || end > buffer.size(2)) {
    Tensor larger({B, heads, std::max<std::int64_t>(2 * length, end + 64), d}, x.dtype());
    if (length > 0) {
      const Tensor held = slice(buffer, 2, 0, length);
      buffer = {};
      appended(larger, held, 0);
    }
    buffer = larger;
  }
  const Tensor dense = contiguous(x.detach());
  dispatch(x.dtype(), [&]<class T_>() {
    const T_* from = dense.data<T_>();
    T_* to = buffer.mutable_data<T_>();
    for (std::int64_t row = 0; row < B * heads; ++row) {
      std::copy_n(from + row * T * d, T * d, to + (row * buffer.size(2) + length) * d);
    }
  });
  return slice(buffer, 2, 0, end);
}

}  // namespace

std::pair<Tensor, Tensor> KeyValueCache::append(const Tensor& K, const Tensor& V) {
  for (const Tensor* x : {&K, &V}) {
    if (x->rank() != 4) fail("KeyValueCache: expected (B, kv_heads, T, d_k), got {}", to_string(x->shape()));
    if (x->trace().recording != 0) fail("KeyValueCache: keys and values that are recorded; open a NoRecording");
  }
  std::pair<Tensor, Tensor> all{appended(K_, K, length_), appended(V_, V, length_)};
  length_ += K.size(2);
  return all;
}

GroupedAttention::GroupedAttention(Scope scope, GroupedAttentionConfig given)
    : name(scope.name()),
      config(with_sizes(given)),
      W_Q(scope / "W_Q", config.d_model, config.heads * config.d_k, config.bias),
      W_K(scope / "W_K", config.d_model, config.kv_heads * config.d_k, config.bias),
      W_V(scope / "W_V", config.d_model, config.kv_heads * config.d_k, config.bias),
      W_O(scope / "W_O", config.heads * config.d_k, config.d_model, config.output_bias) {
  if (config.normalised == NormalisedHeads::no) return;
  q_norm.emplace(scope / "q_norm", config.d_k, config.norm_eps);
  k_norm.emplace(scope / "k_norm", config.d_k, config.norm_eps);
}

Tensor GroupedAttention::operator()(const Tensor& x, const RotaryPositions* positions, KeyValueCache* cache) const {
  if (x.rank() != 3 || x.size(2) != config.d_model) {
    fail("GroupedAttention: expected x (B, T, {}), got {}", config.d_model, to_string(x.shape()));
  }
  const std::int64_t past = cache ? cache->length() : 0;
  Tensor Q = heads_apart(W_Q(x), config.heads);     // (B, heads, T, d_k)
  Tensor K = heads_apart(W_K(x), config.kv_heads);  // (B, kv_heads, T, d_k)
  Tensor V = heads_apart(W_V(x), config.kv_heads);
  if (q_norm) Q = (*q_norm)(Q), K = (*k_norm)(K);
  if (positions) Q = (*positions)(Q, past), K = (*positions)(K, past);
  if (cache) std::tie(K, V) = cache->append(K, V);  // (B, kv_heads, past + T, d_k)
  const AttentionOptions options{.mask =
                                     Mask::window(config.window > 0 ? config.window - 1 : Mask::Band::unlimited, 0)};
  const auto show = [&](const char* what, Tensor& value) { Hook::show(name, what, value); };
  const Tensor attended = Hook::is_open() ? attention_composed(Q, K, V, options, show).output
                                          : attention(Q, K, V, options).output;  // (B, heads, T, d_k)
  Tensor y = W_O(reshape(transpose(attended, 1, 2), {x.size(0), x.size(1), config.heads * config.d_k}));
  Hook::show(name, "output", y);
  return y;
}

}  // namespace heed
