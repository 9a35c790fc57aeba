#pragma once
#include <heed/autograd/enum_names.h>
#include <heed/nn/more_layers.h>

#include <optional>
#include <utility>

namespace heed {

// Keys and values of the tokens so far, for a text that is read or written piece by piece: one an attention layer.
class KeyValueCache {
 public:
  std::int64_t length() const { return length_; }  // tokens held
  // Takes K and V of the tokens that follow, (B, kv_heads, T, d_k); gives those of all: views, valid until the next call.
  // Error when they are recorded (use NoRecording), or do not fit what is held.
  std::pair<Tensor, Tensor> append(const Tensor& K, const Tensor& V);

 private:
  Tensor K_, V_;  // (B, kv_heads, capacity, d_k), of which `length_` tokens are filled
  std::int64_t length_ = 0;
};

// Whether queries and keys are normalised, each head by itself (Dehghani et al. 2023, arXiv:2302.05442).
enum class NormalisedHeads { no, yes };
template <>
inline constexpr EnumName<NormalisedHeads> enum_names<NormalisedHeads>[] = {{NormalisedHeads::no, "no"},
                                                                            {NormalisedHeads::yes, "yes"}};

// Sizes of a grouped attention layer.
struct GroupedAttentionConfig {
  int d_model = 0;
  int heads = 1;
  int kv_heads = 0;             // divides heads; 0: heads
  int d_k = 0;                  // per head, of V too; 0: d_model / heads
  int window = 0;               // tokens that a token sees, itself among them; 0: all before it
  Bias bias = Bias::no;         // of W_Q, W_K, W_V
  Bias output_bias = Bias::no;  // of W_O
  NormalisedHeads normalised = NormalisedHeads::no;
  double norm_eps = 1e-6;
};

// Causal multi-head attention in which several heads of queries share one of keys and values (Ainslie et al. 2023,
// arXiv:2305.13245): x (B, T, d_model) -> (B, T, d_model).
//   W_Q (d_model, heads d_k), W_K, W_V (d_model, kv_heads d_k), W_O (heads d_k, d_model); q_norm, k_norm: gain (d_k)
// Normalised, then turned by their positions, where these are given. With a cache x follows the tokens held there.
// Shows a Hook what MultiHeadAttention shows; K and V have kv_heads.
struct GroupedAttention {
  std::string name;
  GroupedAttentionConfig config;  // with the defaults filled in
  Linear W_Q, W_K, W_V, W_O;
  std::optional<RMSNorm> q_norm, k_norm;
  // Error when heads does not divide d_model and d_k is 0, or kv_heads does not divide heads.
  GroupedAttention(Scope scope, GroupedAttentionConfig config);
  Tensor operator()(const Tensor& x, const RotaryPositions* positions = nullptr, KeyValueCache* cache = nullptr) const;
};

}  // namespace heed
