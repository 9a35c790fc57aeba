#include <heed/nn/attention.h>

#include <algorithm>

namespace heed {
namespace {

AttentionConfig with_defaults(AttentionConfig config) {
  const auto& [d_model, heads, d_k, d_v, bias, output_bias, tie] = config;
  if (d_model < 1 || heads < 1 || d_k < 0 || d_v < 0) {
    fail("MultiHeadAttention: d_model and heads must be positive, d_k and d_v not negative, got {}, {}, {}, {}",
         d_model, heads, d_k, d_v);
  }
  if (d_model % heads != 0 && (d_k == 0 || d_v == 0)) {
    fail("MultiHeadAttention: d_model {} is not divisible by {} heads; give d_k (and d_v) or another d_model", d_model,
         heads);
  }
  if (config.d_k == 0) config.d_k = d_model / heads;
  if (config.d_v == 0) config.d_v = d_model / heads;
  if (tie == Tie::K_is_V && d_k != d_v) {
    fail("MultiHeadAttention: W_K can serve as W_V only when d_k == d_v, got {} and {}", d_k, d_v);
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

// to[:, :, begin : begin + T] = x, both (B, heads, ..., d)
void put(const Tensor& x, Tensor to, std::int64_t begin) {
  const Tensor dense = contiguous(x);
  const std::int64_t rows = x.size(2), d = x.size(3);
  dispatch(x.dtype(), [&]<class T>() {
    const T* from = dense.data<T>();
    T* into = to.mutable_data<T>() + begin * d;
    for (std::int64_t i = 0; i < x.size(0) * x.size(1); ++i) {
      std::copy_n(from + i * rows * d, rows * d, into + i * to.size(2) * d);
    }
  });
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(Scope scope, AttentionConfig given)
    : name(scope.name()),
      config(with_defaults(given)),
      W_Q(scope / "W_Q", config.d_model, config.heads * config.d_k, config.bias),
      W_K(config.tie == Tie::Q_is_K ? W_Q
                                    : Linear(scope / "W_K", config.d_model, config.heads * config.d_k, config.bias)),
      W_V(config.tie == Tie::K_is_V ? W_K
                                    : Linear(scope / "W_V", config.d_model, config.heads * config.d_v, config.bias)),
      W_O(scope / "W_O", config.heads * config.d_v, config.d_model, config.output_bias) {}

AttentionResult MultiHeadAttention::operator()(const Tensor& queries, const Tensor& x, const Mask& mask,
                                               Weights weights) const {
  for (const Tensor* input : {&queries, &x}) {
    if (input->rank() == 3 && input->size(2) == config.d_model) continue;
    fail("MultiHeadAttention: expected x (B, T, {}), got {}", config.d_model, to_string(input->shape()));
  }
  const Tensor Q = split_heads(W_Q(queries), config.heads);  // (B, heads, T_q, d_k)
  const Tensor K = split_heads(W_K(x), config.heads);        // (B, heads, T, d_k)
  const Tensor V = split_heads(W_V(x), config.heads);        // (B, heads, T, d_v)
  const auto show = [&](const char* what, Tensor& value) { Hook::show(name, what, value); };
  AttentionResult attended =
      Hook::is_open() ? attention_composed(Q, K, V, mask, show) : attention(Q, K, V, mask, weights);
  attended.output = W_O(join_heads(attended.output));  // (B, T_q, d_model)
  Hook::show(name, "output", attended.output);
  return attended;
}

Tensor MultiHeadAttention::go_on(const Tensor& x, KeyValues& past, std::int64_t read) const {
  const std::int64_t end = read + x.size(1);
  if (end > past.K.size(2))
    fail("MultiHeadAttention: {} tokens were read, and there is room for {}", end, past.K.size(2));
  const Tensor Q = split_heads(W_Q(x), config.heads);  // (B, heads, T, d_k)
  put(split_heads(W_K(x), config.heads), past.K, read);
  put(split_heads(W_V(x), config.heads), past.V, read);
  const Tensor K = slice(past.K, 2, 0, end), V = slice(past.V, 2, 0, end);
  return W_O(join_heads(attention(Q, K, V, Mask::causal()).output));  // (B, T, d_model)
}

}  // namespace heed
