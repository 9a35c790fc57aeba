#pragma once
#include <heed/nn/attention.h>

#include <optional>
#include <vector>

namespace heed {

// Dropout of what each layer adds (Vaswani et al. 2017, section 5.4), for training; by default none.
struct Dropout {
  double p = 0;
  Random* random = nullptr;
  Tensor operator()(const Tensor& x) const {
    if (p == 0) return x;
    if (!random) fail("Dropout: p is {}, but no random numbers were given", p);
    return dropout(x, p, *random);
  }
};

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

// What a block is made of beside its attention.
struct BlockParts {
  Norm::Kind norm = Norm::Kind::layer;
  Activation activation = Activation::gelu;
};

// Pre-norm (Xiong et al. 2020, arXiv:2002.04745): x += attention(norm(x)); with an MLP also x += mlp(norm(x)),
// mlp = an activation between two Linear layers, d_model -> mlp -> d_model, with biases where W_O has one. Without its
// residual, attention(norm(x)) takes the place of x: what leaves a token is what it attended to, and nothing else.
struct EncoderBlock {
  std::string name;
  Norm attention_norm;
  MultiHeadAttention attention;
  // The MLP, its norm before it.
  struct Mlp {
    Norm norm;
    Activation activation;
    std::optional<Linear> gate;  // of swiglu, (d_model, mlp)
    Linear in, out;              // (d_model, mlp), (mlp, d_model)
    Mlp(Scope scope, int d_model, int width, Bias bias, const BlockParts& parts);
    Tensor hidden(const Tensor& x) const;  // activation(in(norm(x))): (..., d_model) -> (..., mlp)
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
};

}  // namespace heed
