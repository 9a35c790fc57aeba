#pragma once
#include <heed/nn/attention.h>

#include <optional>
#include <vector>

namespace heed {

// Whether a layer adds to what it was given, or replaces it.
enum class Residual { no, yes };

// LayerNorm or RMSNorm, whose bias is undefined: (..., d) -> (..., d).
struct Norm {
  // Which of the two.
  enum class Kind { layer, rms } kind;
  std::string name;
  double eps;
  Tensor gain, bias;  // (d)
  Norm(Scope scope, int d, Kind kind);
  Tensor operator()(const Tensor& x) const;
};
template <>
inline constexpr EnumName<Norm::Kind> enum_names<Norm::Kind>[] = {{Norm::Kind::layer, "layer"},
                                                                  {Norm::Kind::rms, "rms"}};

// What is between the two matrices of an MLP; swiglu has a third, whose SiLU gates the first (Shazeer 2020,
// arXiv:2002.05202).
enum class Activation { gelu, gelu_tanh, relu, swiglu };
template <>
inline constexpr EnumName<Activation> enum_names<Activation>[] = {{Activation::gelu, "gelu"},
                                                                  {Activation::gelu_tanh, "gelu_tanh"},
                                                                  {Activation::relu, "relu"},
                                                                  {Activation::swiglu, "swiglu"}};

// Whether a part of a block reads norm(x) and is added to x, or reads x and the sum is normed (Xiong et al. 2020,
// arXiv:2002.04745, and Vaswani et al. 2017).
enum class NormPlacement { before, after };

// What a block is made of beside its attention.
struct BlockParts {
  Norm::Kind norm = Norm::Kind::layer;
  Activation activation = Activation::gelu;
  NormPlacement placement = NormPlacement::before;
};

// x += attention(norm(x)); with an MLP also x += mlp(norm(x)), mlp = an activation between two Linear layers, d_model -> mlp
// -> d_model, with biases where W_O has one. Norms placed after: x = norm(x + attention(x)), x = norm(x + mlp(x)). Without
// its residual, the attention takes the place of x: what leaves a token is what it attended to, and nothing else.
struct EncoderBlock {
  std::string name;
  NormPlacement placement;
  Norm attention_norm;
  MultiHeadAttention attention;
  // The MLP, its norm before it.
  struct Mlp {
    NormPlacement placement;
    Norm norm;
    Activation activation;
    std::optional<Linear> gate;  // of swiglu, (d_model, mlp)
    Linear in, out;              // (d_model, mlp), (mlp, d_model)
    Mlp(Scope scope, int d_model, int width, Bias bias, const BlockParts& parts);
    Tensor hidden(const Tensor& x) const;  // activation(in(norm(x))), or of x: (..., d_model) -> (..., mlp)
  };
  std::optional<Mlp> mlp;
  Residual residual;
  EncoderBlock(Scope scope, const AttentionConfig& config, int mlp, Residual residual = Residual::yes,
               const BlockParts& parts = {});  // mlp 0: none
  AttentionResult operator()(const Tensor& x, const Mask& mask, Weights weights, const Dropout& drop = {}) const;
  // At token query[b] of each text b, without the work for the others: output (B, d_model), weights (B, heads, T).
  // Error for a mask that hides other keys from one token than from another, and where positions turn queries and keys.
  AttentionResult at(const Ids& query, const Tensor& x, const Mask& mask, Weights weights,
                     const Dropout& drop = {}) const;
  // Causal, of tokens x (B, T, d_model) that follow those of `past`: as MultiHeadAttention::go_on.
  Tensor go_on(const Tensor& x, KeyValueCache& past) const;
};

// What a decoder keeps of the tokens that it has read: one a layer, of which it makes as many as it needs.
using Past = std::vector<KeyValueCache>;

// `layers` blocks and a final norm. weights[l]: (B, heads, T, T).
struct Encoded {
  Tensor output;                // (B, T, d_model)
  std::vector<Tensor> weights;  // one a layer when asked for
  Tensor read_by_last{};        // (B, T, d_model): what the last layer was given
};
struct Encoder {
  std::vector<EncoderBlock> blocks;
  Norm norm;
  Encoder(Scope scope, int layers, const AttentionConfig& config, int mlp, Residual last = Residual::yes,
          const BlockParts& parts = {});
  Encoded operator()(Tensor x, const Mask& mask = {}, Weights weights = Weights::no, const Dropout& drop = {}) const;
  // At token query[b] of each text b, alone in the last layer: output (B, d_model), weights[l] (B, heads, T).
  Encoded at(const Ids& query, Tensor x, const Mask& mask = {}, Weights weights = Weights::no,
             const Dropout& drop = {}) const;
  // Causal, of tokens x (B, T, d_model) that follow those of `past`: output (B, T, d_model). Not recorded.
  Tensor go_on(Tensor x, Past& past) const;
};

}  // namespace heed
