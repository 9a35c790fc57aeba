#pragma once
#include <heed/data/batch.h>
#include <heed/nn/block.h>
#include <heed/nn/positions.h>

#include <optional>
#include <span>
#include <vector>

namespace heed {

/// How the model represents a token's position: not at all, added to its embedding (learned or sinusoidal, Vaswani et
/// al. 2017, section 3.5), or by rotating queries and keys (Su et al. 2021, arXiv:2104.09864).
enum class Positions { none, learned, sinusoidal, rotary };
template <>
inline constexpr EnumName<Positions> enum_names<Positions>[] = {{Positions::none, "none"},
                                                                {Positions::learned, "learned"},
                                                                {Positions::sinusoidal, "sinusoidal"},
                                                                {Positions::rotary, "rotary"}};

/// All settings of a Transformer's computation. The presets below fill it.
struct TransformerConfig {
  int vocabulary = 0;  ///< token embeddings; 0: the model reads vectors in their place
  int max_length = 0;  ///< tokens in a text
  int segments = 0;    ///< segment embeddings: token types, or sentences counted back from the question; 0: no segments
  int layers = 2;
  bool causal = false;  ///< each token sees only itself and earlier tokens

  int embedding_width =
      0;  ///< of the embeddings, whose sum a linear layer brings to d_model; 0: d_model, without that layer
  bool projected_tokens = false;  ///< this layer brings tokens alone to d_model, without a bias, as in OPT-350M
  double embedding_scale = 1;     ///< factor of token embeddings
  bool embedding_norm = false;    ///< normalise the sum of the embeddings
  Positions positions = Positions::learned;
  int position_offset = 0;  ///< row of position 0 in the learned positions
  RotaryConfig rotary{};

  BlockConfig block{};
  int full_attention_every = 0;              ///< with a window: each n-th layer sees all tokens; 0: none does
  std::vector<int> full_attention_layers{};  ///< with a window: layers, from 0, that see all tokens as well
  double window_rotary_base =
      0;  ///< rotary base of the layers with a window, which are then not scaled; 0: as the others
  std::vector<int> unrotated_layers{};  ///< layers, from 0, without the rotary embedding of the others
  bool divide_scores_by_layer = false;  ///< by 1 in the first layer, by 2 in the second, ...
  bool shared_layers = false;           ///< all layers have the parameters of the first, as in ALBERT
  bool first_attention_norm = true;     ///< BlockConfig::attention_norm of the first layer
  bool last_residual = true;            ///< of the attention in the last layer
  bool final_norm = true;

  /// Returns the width of the residual stream.
  int d_model() const { return block.attention.d_model; }
  /// Returns the width of the token embeddings.
  int embedded() const { return embedding_width > 0 ? embedding_width : d_model(); }
  /// Returns the width of the sum of the embeddings.
  int summed() const { return projected_tokens ? d_model() : embedded(); }
  int heads() const { return block.attention.heads; }  ///< the number of query heads per layer
  /// Returns the configuration of block `layer`.
  BlockConfig block_at(int layer) const;

  /// Calls field(name, value) for an enumeration, a flag or a nested configuration, and field(name, value, least) for a
  /// number. Saved models hold these fields, except the vocabulary size, which follows from the words.
  template <class Self, class Field>
  static void for_each_field(Self& self, Field&& field) {
    field("max_length", self.max_length, 1);
    field("segments", self.segments, 0);
    field("layers", self.layers, 1);
    field("causal", self.causal);
    field("embedding_width", self.embedding_width, 0);
    field("projected_tokens", self.projected_tokens);
    field("embedding_scale", self.embedding_scale, 0.0);
    field("embedding_norm", self.embedding_norm);
    field("positions", self.positions);
    field("position_offset", self.position_offset, 0);
    field("rotary", self.rotary);
    field("block", self.block);
    field("full_attention_every", self.full_attention_every, 0);
    field("full_attention_layers", self.full_attention_layers, 0);
    field("window_rotary_base", self.window_rotary_base, 0.0);
    field("unrotated_layers", self.unrotated_layers, 0);
    field("divide_scores_by_layer", self.divide_scores_by_layer);
    field("shared_layers", self.shared_layers);
    field("first_attention_norm", self.first_attention_norm);
    field("last_residual", self.last_residual);
    field("final_norm", self.final_norm);
  }
};

/// Returns the architecture of GPT-2 (Radford et al. 2019), of BERT (Devlin et al. 2018, arXiv:1810.04805) or of LLaMA (Touvron
/// et al. 2023, arXiv:2302.13971) in the given size. Set vocabulary and max_length yourself.
TransformerConfig gpt2(int layers, int heads, int d_model);
TransformerConfig bert(int layers, int heads, int d_model);                                ///< BERT
TransformerConfig llama(int layers, int heads, int kv_heads, int d_model, int mlp_width);  ///< LLaMA

/// Standard deviations of the initial embeddings; by default those of GPT-2 and BERT.
struct EmbeddingInit {
  double tokens = 0.02, positions = 0.02, segments = 0.02;
};

/// Hidden states of a Transformer.
struct Hidden {
  Tensor output;                ///< (B, T, d_model), or (B, d_model) from at()
  std::vector<Tensor> weights;  ///< per layer (B, heads, T, T), or (B, heads, T) from at(); on request
  Tensor last_input{};          ///< (B, T, d_model): input of the last layer
};

/// Embeddings, blocks and a final norm: every architecture that a TransformerConfig describes.
///
///     Parameters parameters;
///     TransformerConfig config = gpt2(12, 12, 768);
///     config.vocabulary = 50257, config.max_length = 1024;
///     const Transformer transformer(Scope(parameters, 1), config);
///     const Tensor states = transformer({.tokens = tokens}).output;   // (B, T) -> (B, T, 768)
///
/// If config.vocabulary is 0, call it with vectors (B, T, embedded) in place of the token embeddings, such as patches of an
/// image. Positions, the norm and the projection are applied to them as to embeddings.
struct Transformer {
  std::string name;
  TransformerConfig config;
  std::optional<Embedding> token_embedding;
  std::optional<LearnedPositions> learned_positions;
  std::optional<Embedding> segment_embedding;
  std::optional<Norm> embedding_norm;
  std::optional<Linear> token_projection;      ///< of the token embeddings
  std::optional<Linear> embedding_projection;  ///< of the sum of the embeddings
  std::vector<TransformerBlock> blocks;
  std::optional<Norm> final_norm;
  /// Parameters are named words, token_projection, positions, sentences, embedding_norm, embedding_projection, encoder.0,
  /// encoder.1, ..., encoder.norm.
  Transformer(Scope scope, const TransformerConfig& config, const EmbeddingInit& init = {});

  /// Returns the vectors of tokens (...) before positions are added, scaled and projected: (..., width of the sum).
  Tensor token_vectors(const Ids& tokens) const { return scaled((*token_embedding)(tokens)); }
  /// Returns the vectors (count, width of the sum) that are added to those of tokens at the positions from `first` on; undefined
  /// where none are added.
  Tensor position_vectors(std::int64_t first, std::int64_t count, DType dtype) const;
  /// Returns the input of the first layer for tokens that follow `first` others: (B, T, d_model). `padding` as for append().
  Tensor embed(const Batch& texts, std::int64_t first = 0, std::span<const int> padding = {}) const;
  /// Runs the whole model.
  Hidden operator()(const Batch& texts, const PassOptions& options = {}) const;
  /// Runs the blocks from `first_layer` on, whose input is x (B, T, d_model): of the first layer, the result of embed(). Without a
  /// vocabulary, x of the first layer is the vectors (B, T, embedded). A causal model is causal whatever the mask.
  Hidden operator()(const Tensor& x, const Mask& mask, const PassOptions& options = {}, int first_layer = 0) const;
  /// Computes only token query[b] of each text b in the last layer, if mask and positions allow it.
  Hidden at(const Ids& query, const Batch& texts, const PassOptions& options = {}) const;
  /// Does the same from the input x of `first_layer`, as above.
  Hidden at(const Ids& query, const Tensor& x, const Mask& mask, const PassOptions& options = {},
            int first_layer = 0) const;
  /// Appends tokens (B, T) to those of `cache`: (B, T, d_model), equal to the states of the whole text except for
  /// rounding. The first padding[b] tokens of text b, with those of `cache`, stand for nothing: no other token attends to them,
  /// and positions count from behind them. Throws `Error` beyond max_length tokens, for a model that is not causal and for the cache of one with other
  /// layers; the cache is then as before. Not recorded.
  Tensor append(const Ids& tokens, Cache& cache, std::span<const int> padding = {}) const;
  /// Returns the mask of a batch: causal, or its padding mask.
  Mask mask_of(const Batch& texts) const;

 private:
  std::span<const TransformerBlock> blocks_from(int layer) const;
  Tensor normalised(const Tensor& x) const { return final_norm ? (*final_norm)(x) : x; }
  Tensor scaled(const Tensor& x) const;
  Tensor embedded(Tensor x, const Ids& segments, std::int64_t first, std::span<const int> padding = {}) const;
  Tensor input_of(const Tensor& x, const Dropout& drop, int layer) const;
  Mask whole(const Mask& mask) const { return config.causal ? mask & Mask::causal() : mask; }
};

}  // namespace heed
