#pragma once
#include <heed/autograd/enum_names.h>
#include <heed/nn/dropout.h>
#include <heed/nn/key_value_cache.h>
#include <heed/nn/layers.h>
#include <heed/nn/norm.h>
#include <heed/nn/rotary_embedding.h>

#include <optional>

namespace heed {

/// Uses one matrix in two roles, to show the purpose of three separate ones.
enum class Tie { none, K_is_V, Q_is_K };
template <>
inline constexpr EnumName<Tie> enum_names<Tie>[] = {
    {Tie::none, "none"}, {Tie::K_is_V, "K_is_V"}, {Tie::Q_is_K, "Q_is_K"}};

/// RMSNorm of queries and keys: none, of each head (Dehghani et al. 2023, arXiv:2302.05442), or of all heads together
/// (OLMo 2).
enum class QueryKeyNorm { none, heads, all };
template <>
inline constexpr EnumName<QueryKeyNorm> enum_names<QueryKeyNorm>[] = {
    {QueryKeyNorm::none, "none"}, {QueryKeyNorm::heads, "heads"}, {QueryKeyNorm::all, "all"}};

/// Sizes and constants of an attention layer.
struct AttentionConfig {
  int d_model = 0;
  int heads = 1;
  int kv_heads = 0;         ///< heads of keys and values; divides heads; 0: heads
  int d_k = 0;              ///< per head; 0: d_model / heads
  int d_v = 0;              ///< per head; 0: d_model / heads
  bool bias = false;        ///< for W_Q, W_K, W_V
  bool output_bias = true;  ///< for W_O
  Tie tie = Tie::none;
  QueryKeyNorm query_key_norm = QueryKeyNorm::none;
  NormConfig query_key = rms_config;
  double scale = 0;     ///< factor of the scores; 0: 1 / sqrt(d_k)
  double soft_cap = 0;  ///< scores become cap tanh(score / cap); 0: unchanged
  int window = 0;       ///< tokens that a query sees on either side, its own included; 0: all

  /// Returns the number of key and value heads.
  int keys() const { return kv_heads > 0 ? kv_heads : heads; }
  /// Returns the configuration with kv_heads, d_k and d_v filled in. Throws `Error` when d_k or d_v is 0 and heads does
  /// not divide d_model, when kv_heads does not divide heads, or when a constant is out of range.
  AttentionConfig complete() const;

  /// Calls field(name, value, ...) for each field, as TransformerConfig does.
  static void for_each_field(auto& self, auto&& field) {
    field("d_model", self.d_model, 1);
    field("heads", self.heads, 1);
    field("kv_heads", self.kv_heads, 0);
    field("d_k", self.d_k, 0);
    field("d_v", self.d_v, 0);
    field("bias", self.bias);
    field("output_bias", self.output_bias);
    field("tie", self.tie);
    field("query_key_norm", self.query_key_norm);
    field("query_key", self.query_key);
    field("scale", self.scale, 0.0);
    field("soft_cap", self.soft_cap, 0.0);
    field("window", self.window, 0);
  }
};

/// Options of a pass through a layer with attention.
struct PassOptions {
  bool weights = false;  ///< whether to return the attention weights
  Dropout drop{};
};

/// Multi-head self-attention (Vaswani et al. 2017, section 3.2.2): x (B, T, d_model) -> output (B, T, d_model) and, on
/// request, weights (B, heads, T, T). One head is plain self-attention.
///
///     W_Q (d_model, heads d_k), W_K (d_model, kv_heads d_k), W_V (d_model, kv_heads d_v), W_O (heads d_v, d_model)
/// Head h uses the columns [h d_k, (h + 1) d_k). With fewer key heads than query heads, several query heads share one
/// (Ainslie et al. 2023, arXiv:2305.13245). Tied matrices are one parameter, with the name of the first. The
/// configuration and `rotary` decide whether queries and keys are normalised (q_norm, k_norm) and rotated.
///
///     const MultiHeadAttention layer(scope / "attention", {.d_model = 64, .heads = 4});
///     const AttentionResult y = layer(x, Mask::causal(), {.weights = true});
///
/// Tokens outside config.window are hidden, too. attention() computes the result; while a Hook is open, attention_composed()
/// does, so that the hook sees all values (K and V have kv_heads).
struct MultiHeadAttention {
  std::string name;
  AttentionConfig config;  ///< complete
  Linear W_Q, W_K, W_V, W_O;
  std::optional<Norm> q_norm, k_norm;
  std::optional<RotaryEmbedding> rotary;
  /// Throws `Error` as AttentionConfig::complete() does.
  MultiHeadAttention(Scope scope, const AttentionConfig& config, std::optional<RotaryEmbedding> rotary = {});
  /// Attends from x to itself.
  AttentionResult operator()(const Tensor& x, const Mask& mask = {}, const PassOptions& options = {}) const {
    return (*this)(x, x, mask, options);
  }
  /// Attends from `queries` (B, T_q, d_model) to x (section 3.2.3): output (B, T_q, d_model), weights (B, heads, T_q,
  /// T). With a rotary embedding it throws `Error` unless there are as many queries as tokens of x.
  AttentionResult operator()(const Tensor& queries, const Tensor& x, const Mask& mask,
                             const PassOptions& options) const;
  /// Appends the tokens x (B, T, d_model) to those of `cache` and attends to all: output (B, T, d_model). Not recorded.
  Tensor append(const Tensor& x, KeyValueCache& cache, const Mask& mask = Mask::causal()) const;

  /// Returns `mask`, narrowed to the configuration's window, if any.
  Mask narrowed(const Mask& mask) const;

  /// Returns queries (B, heads, T, d_k), normalised and rotated; x's first token is at position `first`.
  Tensor queries_of(const Tensor& x, std::int64_t first = 0) const;
  /// Returns keys (B, kv_heads, T, d_k), normalised and rotated.
  Tensor keys_of(const Tensor& x, std::int64_t first = 0) const;
  /// Returns values (B, kv_heads, T, d_v).
  Tensor values_of(const Tensor& x) const;

  /// Returns the map from the layer's input at one token, x (d_model) at `position`, to the query of `head` (d_k).
  Linearised query_linearised(int head, const Tensor& x, std::int64_t position) const;
  /// Returns the map to the key that `head` compares its queries with.
  Linearised key_linearised(int head, const Tensor& x, std::int64_t position) const;
  /// Returns W_V W_O of `head` as a map from the layer's input at a token to the token's contribution to the output, at
  /// weight 1. It excludes the bias of W_O.
  Linearised value_linearised(int head) const;
  /// Returns what `head` adds to the layer's output, without the bias of W_O, where its weighted sums of values are z (n, d_v):
  /// z times the head's rows of W_O, (n, d_model).
  Tensor head_output(int head, const Tensor& z) const;
  /// Returns the head of keys and values that `head` reads.
  int key_head(int head) const { return head / (config.heads / config.kv_heads); }
  /// Returns the factor of the scores.
  double score_scale() const;

 private:
  AttentionResult attended(const Tensor& Q, const Tensor& K, const Tensor& V, const Mask& mask,
                           const PassOptions& pass) const;
};

}  // namespace heed
