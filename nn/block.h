#pragma once
#include <heed/nn/attention.h>
#include <heed/nn/mlp.h>

#include <optional>
#include <vector>

namespace heed {

/// Place of the norms, for each of a block's two parts f (attention, MLP):
///
///     before  x + f(norm(x))          pre-norm (Xiong et al. 2020, arXiv:2002.04745): GPT-2, LLaMA
///     after   norm(x + f(x))          post-norm (Vaswani et al. 2017): BERT
///     output  x + norm(f(x))          OLMo 2
///     both    x + norm'(f(norm(x)))   Gemma 2
enum class NormPlacement { before, after, output, both };
template <>
inline constexpr EnumName<NormPlacement> enum_names<NormPlacement>[] = {{NormPlacement::before, "before"},
                                                                        {NormPlacement::after, "after"},
                                                                        {NormPlacement::output, "output"},
                                                                        {NormPlacement::both, "both"}};

/// Parts of a block.
struct BlockConfig {
  AttentionConfig attention{};
  MlpConfig mlp{};
  NormConfig norm{};
  NormPlacement placement = NormPlacement::before;
  bool parallel = false;       ///< x + attention(norm(x)) + mlp(norm'(x)) (GPT-NeoX); with placement before only
  bool shared_norm = false;    ///< norm' is norm, with the same parameters (Phi-2); with parallel only
  bool attention_norm = true;  ///< whether placements before and both normalise what the attention reads
  double residual_scale = 1;   ///< factor of each part: x + residual_scale f(norm(x)) (Granite)

  /// Calls field(name, value, ...) for each field, as TransformerConfig does.
  static void for_each_field(auto& self, auto&& field) {
    field("attention", self.attention);
    field("mlp", self.mlp);
    field("norm", self.norm);
    field("placement", self.placement);
    field("parallel", self.parallel);
    field("shared_norm", self.shared_norm);
    field("attention_norm", self.attention_norm);
    field("residual_scale", self.residual_scale, 0.0);
  }
};

/// Differences between the blocks of one configuration.
struct BlockOptions {
  bool residual = true;  ///< whether the attention is added to the block's input, or replaces it
  std::optional<RotaryEmbedding> rotary = {};
};

/// Attention, then an MLP, each with norms and a residual. Without the attention's residual, the output at a token
/// depends only on the tokens that it attends to.
///
///     const TransformerBlock block(scope / 0, {.attention = {.d_model = 64, .heads = 4}, .mlp = {.width = 256}});
///     const Tensor y = block(x, Mask::causal()).output;   // (B, T, 64) -> (B, T, 64)
struct TransformerBlock {
  /// Norms of one part of the block, as the configuration places them.
  struct Norms {
    std::optional<Norm> input;   ///< on the part's input: before, both
    std::optional<Norm> output;  ///< on the part's output: output, both
    std::optional<Norm> sum;     ///< on the sum with the residual: after
    /// Makes the norms that `config` places; without `has_input`, not the one on the part's input.
    Norms(Scope scope, const char* name, const BlockConfig& config, bool has_input = true);
    /// Returns the part's input: norm(x), or x.
    Tensor of_input(const Tensor& x) const { return input ? (*input)(x) : x; }
  };
  std::string name;
  BlockConfig config;
  Norms attention_norms;
  MultiHeadAttention attention;
  std::optional<Norms> mlp_norms;
  std::optional<Mlp> mlp;
  bool residual;  ///< BlockOptions::residual
  /// Makes its parameters in `scope`. Blocks of one model share a rotary embedding.
  TransformerBlock(Scope scope, const BlockConfig& config, BlockOptions options = {});

  /// Returns the output of the block (B, T, d_model), and the weights.
  AttentionResult operator()(const Tensor& x, const Mask& mask, const PassOptions& options = {}) const;
  /// Computes only token query[b] of each text b: output (B, d_model), weights (B, heads, T). Throws `Error` for a mask
  /// that differs between tokens, and with a rotary embedding.
  AttentionResult at(const Ids& query, const Tensor& x, const Mask& mask, const PassOptions& options = {}) const;
  /// Appends the tokens x (B, T, d_model) to those of `cache`, causally: (B, T, d_model). Not recorded.
  Tensor append(const Tensor& x, KeyValueCache& cache, const Mask& mask = Mask::causal()) const;

  /// Returns the residual stream behind the attention: x, and the attention's output `part` behind its norms. Without a residual,
  /// `part` alone. Both (..., d_model).
  Tensor with_attention(const Tensor& x, const Tensor& part, const Dropout& drop = {}) const {
    return add(attention_norms, residual ? x : Tensor(), part, drop);
  }
  /// Returns the residual stream behind the MLP: x, and the MLP's output `part` behind its norms.
  Tensor with_mlp(const Tensor& x, const Tensor& part, const Dropout& drop = {}) const {
    return add(*mlp_norms, x, part, drop);
  }
  /// Returns the map from the output of the attention or of the MLP, behind its output norm, to what it adds to the residual
  /// stream: residual_scale.
  Linearised added_linearised() const;

 private:
  Tensor add(const Norms& norms, const Tensor& x, const Tensor& part, const Dropout& drop) const;
  Tensor after_attention(const Tensor& x, const Tensor& attended, const Dropout& drop) const;
};

}  // namespace heed
