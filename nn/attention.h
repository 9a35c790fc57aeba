#pragma once
#include <heed/autograd/enum_names.h>
#include <heed/nn/key_value_cache.h>
#include <heed/nn/more_layers.h>

#include <optional>

namespace heed {

// One matrix in two roles, to show what three are for.
enum class Tie { none, K_is_V, Q_is_K };
template <>
inline constexpr EnumName<Tie> enum_names<Tie>[] = {
    {Tie::none, "none"}, {Tie::K_is_V, "K_is_V"}, {Tie::Q_is_K, "Q_is_K"}};

// Whether queries and keys are normalised, each head by itself (Dehghani et al. 2023, arXiv:2302.05442).
enum class NormalisedHeads { no, yes };
template <>
inline constexpr EnumName<NormalisedHeads> enum_names<NormalisedHeads>[] = {{NormalisedHeads::no, "no"},
                                                                            {NormalisedHeads::yes, "yes"}};

// Sizes of an attention layer.
struct AttentionConfig {
  int d_model = 0;
  int heads = 1;
  int kv_heads = 0;              // of keys and values; divides heads; 0: heads
  int d_k = 0;                   // per head; 0: d_model / heads
  int d_v = 0;                   // per head; 0: d_model / heads
  Bias bias = Bias::no;          // of W_Q, W_K, W_V
  Bias output_bias = Bias::yes;  // of W_O
  Tie tie = Tie::none;
  NormalisedHeads normalised = NormalisedHeads::no;
  int rotary = 0;  // positions by which queries and keys are turned, from 0 to this; 0: they are not

  int keys() const { return kv_heads > 0 ? kv_heads : heads; }  // heads of keys and values

  // Calls field(name, value) for each that a saved model holds: with the least value that makes sense for a size, and with
  // the usual value of what is left out where it is that.
  template <class Self, class Field>
  static void for_each_field(Self& self, Field&& field) {
    field("d_model", self.d_model, 1);
    field("heads", self.heads, 1);
    field("kv_heads", self.kv_heads, 0, 0);
    field("d_k", self.d_k, 0);
    field("d_v", self.d_v, 0);
    field("bias", self.bias);
    field("output_bias", self.output_bias);
    field("tie", self.tie);
    field("normalised_heads", self.normalised, NormalisedHeads::no);
  }
};

// Dropout for training, where Vaswani et al. 2017 (section 5.4) and GPT-2 have it; by default none.
struct Dropout {
  double p = 0;  // of what each layer adds
  Random* random = nullptr;
  double embedding = 0;  // of what the first layer reads
  double attention = 0;  // of attention weights, which are then composed and held as a whole

  Tensor operator()(const Tensor& x) const { return with(p, x); }
  // dropout() of such a share; Error without random numbers, unless the share is 0.
  Tensor with(double share, const Tensor& x) const {
    if (share == 0) return x;
    if (!random) fail("Dropout: p is {}, but no random numbers were given", share);
    return dropout(x, share, *random);
  }
};

// Multi-head self-attention (Vaswani et al. 2017, section 3.2.2): x (B, T, d_model) -> output (B, T, d_model),
// weights (B, heads, T, T) when asked for. One head is plain self-attention.
//   W_Q (d_model, heads d_k), W_K (d_model, kv_heads d_k), W_V (d_model, kv_heads d_v), W_O (heads d_v, d_model)
// Head h owns columns [h d_k, (h + 1) d_k). Tied matrices are one parameter, under the first one's name. With fewer heads of
// keys and values several of queries share one (Ainslie et al. 2023, arXiv:2305.13245). Q and K are normalised, with q_norm
// and k_norm (d_k), then turned by their positions (Su et al. 2021, arXiv:2104.09864), where the configuration says so.
// Computed by attention(); while a Hook is open by attention_composed(), whose values it sees: K and V have kv_heads.
struct MultiHeadAttention {
  std::string name;
  AttentionConfig config;  // with the defaults filled in
  Linear W_Q, W_K, W_V, W_O;
  std::optional<RMSNorm> q_norm, k_norm;
  std::optional<RotaryPositions> rotary;
  // Error when heads does not divide d_model and d_k or d_v is 0, or kv_heads does not divide heads.
  MultiHeadAttention(Scope scope, AttentionConfig config);
  AttentionResult operator()(const Tensor& x, const Mask& mask = {}, Weights weights = Weights::no,
                             const Dropout& drop = {}) const {
    return (*this)(x, x, mask, weights, drop);
  }
  // Queries of their own (section 3.2.3), (B, T_q, d_model) -> output (B, T_q, d_model), weights (B, heads, T_q, T).
  // Error where positions turn them, unless they are as many as the tokens of x.
  AttentionResult operator()(const Tensor& queries, const Tensor& x, const Mask& mask, Weights weights,
                             const Dropout& drop = {}) const;
  // Of tokens x (B, T, d_model) that follow those of `past`, with which they are then: output (B, T, d_model). Not recorded.
  Tensor go_on(const Tensor& x, KeyValueCache& past, const Mask& mask = Mask::causal()) const;

  // (B, T, d_model) -> (B, heads, T, d_k) and (B, kv_heads, T, d_k): normalised and turned, the first token at `first`.
  Tensor queries_of(const Tensor& x, std::int64_t first = 0) const;
  Tensor keys_of(const Tensor& x, std::int64_t first = 0) const;
};

}  // namespace heed
