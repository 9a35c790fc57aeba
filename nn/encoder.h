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

// Pre-norm (Xiong et al. 2020, arXiv:2002.04745): x += attention(norm(x)); with an MLP also x += mlp(norm(x)),
// mlp = GELU between two Linear layers, d_model -> mlp -> d_model. Without its residual, attention(norm(x)) takes the
// place of x: what leaves a token is what it attended to, and nothing else.
struct EncoderBlock {
  std::string name;
  LayerNorm attention_norm;
  MultiHeadAttention attention;
  // norm, then in (d_model, mlp), GELU, out (mlp, d_model).
  struct Mlp {
    LayerNorm norm;
    Linear in, out;
  };
  std::optional<Mlp> mlp;
  Residual residual;
  EncoderBlock(Scope scope, const AttentionConfig& config, int mlp, Residual residual = Residual::yes);  // mlp 0: none
  AttentionResult operator()(const Tensor& x, const Mask& mask, Weights weights, const Dropout& drop = {}) const;
  // At token query[b] of each text b, without the work for the others: output (B, d_model), weights (B, heads, T).
  // Error for a mask that hides other keys from one token than from another.
  AttentionResult at(const Ids& query, const Tensor& x, const Mask& mask, Weights weights,
                     const Dropout& drop = {}) const;
  // Causal, of tokens x (B, T, d_model) that follow `read` others: as MultiHeadAttention::go_on.
  Tensor go_on(const Tensor& x, KeyValues& past, std::int64_t read) const;
};

// `layers` blocks and a final norm. weights[l]: (B, heads, T, T).
struct Encoded {
  Tensor output;                // (B, T, d_model)
  std::vector<Tensor> weights;  // one a layer when asked for
};
struct Encoder {
  std::vector<EncoderBlock> blocks;
  LayerNorm norm;
  Encoder(Scope scope, int layers, const AttentionConfig& config, int mlp, Residual last = Residual::yes);
  Encoded operator()(Tensor x, const Mask& mask = {}, Weights weights = Weights::no, const Dropout& drop = {}) const;
  // At token query[b] of each text b, alone in the last layer: output (B, d_model), weights[l] (B, heads, T).
  Encoded at(const Ids& query, Tensor x, const Mask& mask = {}, Weights weights = Weights::no,
             const Dropout& drop = {}) const;
};

}  // namespace heed
