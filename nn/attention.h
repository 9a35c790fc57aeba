#pragma once
#include <heed/autograd/enum_names.h>
#include <heed/nn/layers.h>

namespace heed {

// One matrix in two roles, to show what three are for.
enum class Tie { none, K_is_V, Q_is_K };
template <>
inline constexpr EnumName<Tie> enum_names<Tie>[] = {
    {Tie::none, "none"}, {Tie::K_is_V, "K_is_V"}, {Tie::Q_is_K, "Q_is_K"}};

// Sizes of an attention layer.
struct AttentionConfig {
  int d_model = 0;
  int heads = 1;
  int d_k = 0;                   // per head; 0: d_model / heads
  int d_v = 0;                   // per head; 0: d_model / heads
  Bias bias = Bias::no;          // of W_Q, W_K, W_V
  Bias output_bias = Bias::yes;  // of W_O
  Tie tie = Tie::none;

  // Calls field(name, value) for each; with the least value that makes sense for a size. As saved models name them.
  template <class Self, class Field>
  static void for_each_field(Self& self, Field&& field) {
    field("d_model", self.d_model, 1);
    field("heads", self.heads, 1);
    field("d_k", self.d_k, 0);
    field("d_v", self.d_v, 0);
    field("bias", self.bias);
    field("output_bias", self.output_bias);
    field("tie", self.tie);
  }
};

// What attention keeps of the tokens that were read, so that those after them are computed alone: room for `capacity`.
struct KeyValues {
  Tensor K, V;  // (B, heads, capacity, d_k), (B, heads, capacity, d_v)
};

// Multi-head self-attention (Vaswani et al. 2017, section 3.2.2): x (B, T, d_model) -> output (B, T, d_model),
// weights (B, heads, T, T) when asked for. One head is plain self-attention.
//   W_Q, W_K (d_model, heads d_k), W_V (d_model, heads d_v), W_O (heads d_v, d_model)
// Head h owns columns [h d_k, (h + 1) d_k). Tied matrices are one parameter, under the first one's name.
// Computed by attention(); while a Hook is open by attention_composed(), whose values it sees.
struct MultiHeadAttention {
  std::string name;
  AttentionConfig config;  // with the defaults filled in
  Linear W_Q, W_K, W_V, W_O;
  // Error when heads does not divide d_model and d_k or d_v is 0.
  MultiHeadAttention(Scope scope, AttentionConfig config);
  AttentionResult operator()(const Tensor& x, const Mask& mask = {}, Weights weights = Weights::no) const {
    return (*this)(x, x, mask, weights);
  }
  // Queries of their own (section 3.2.3), (B, T_q, d_model) -> output (B, T_q, d_model), weights (B, heads, T_q, T).
  AttentionResult operator()(const Tensor& queries, const Tensor& x, const Mask& mask, Weights weights) const;
  // Causal, of tokens x (B, T, d_model) that follow `read` others, whose keys and values are in `past`, where theirs are
  // put as well: output (B, T, d_model). Not recorded. Error where `past` has no room.
  Tensor go_on(const Tensor& x, KeyValues& past, std::int64_t read) const;
};

}  // namespace heed
