#pragma once
#include <heed/models/transformer.h>

#include <optional>
#include <vector>

namespace heed {

/// The input of one layer, which an earlier run computed.
struct LayerInput {
  int layer = 0;    ///< from 0
  Tensor residual;  ///< (B, T, d_model)
};

/// B texts with one question each, asked at a token.
struct Questions {
  TextBatch texts;
  Ids query;         ///< (B): the token
  Ids candidates{};  ///< (B, C, 2): begin and end of each candidate; -1 where a text has fewer
  std::optional<LayerInput>
      computed{};  ///< a model begins with this layer, and computes those before it no second time

  /// Returns the number of questions.
  std::int64_t size() const { return query.numel(); }
};

/// Answers to questions.
struct Answers {
  Tensor logits;                  ///< (B, number of answers)
  std::vector<Tensor> weights{};  ///< per layer (B, heads, T, T), or (B, heads, T) for the query alone; on request
};

/// The tokens that a model computes in its last layer: all, or only the query of each text, if the result is the same.
enum class Compute { all, query };

/// Runs `transformer` on the questions and returns the state at each query, (B, d_model), and the other values in
/// Hidden. Hooks see the state as at_query.
Hidden states_at_query(const Transformer& transformer, const Questions& questions, Compute compute, Weights weights,
                       const Dropout& drop);

/// Returns the mean cross-entropy of `labels`, (B, T) or (B T); -1 does not count: logits (B, T, vocabulary) -> ().
Tensor token_loss(const Tensor& logits, const Ids& labels);

/// A forward pass at which logits are linearised.
struct AnswerPoint {
  Tensor state;       ///< (d_model): at the query, after the final norm
  Tensor last_input;  ///< (1, T, d_model): input of the last layer
  const Questions& questions;
};

/// How states become logits over the vocabulary.
struct LogitsConfig {
  /// Share the weights of the token embeddings (Press & Wolf 2017, arXiv:1608.05859), or use a separate matrix
  bool tied = true;
  Bias bias = Bias::no;
  double scale = 1;     ///< factor of the products of states and words, before the bias
  double soft_cap = 0;  ///< logits become cap tanh(logit / cap); 0: unchanged

  /// Calls field(name, value, ...) for each field, as TransformerConfig does.
  template <class Self, class Field>
  static void for_each_field(Self& self, Field&& field) {
    field("tied", self.tied);
    field("bias", self.bias);
    field("scale", self.scale, 0.0);
    field("soft_cap", self.soft_cap, 0.0);
  }
};

/// Maps states (..., d_model) to logits (..., vocabulary).
struct Unembedding {
  std::string name;
  LogitsConfig config;
  Parameter weight;                  ///< (vocabulary, width); tied: the token embeddings
  Parameter bias;                    ///< (vocabulary), or undefined
  std::optional<Linear> projection;  ///< where it is tied to embeddings of another width: (width, their width)
  /// Makes its parameters SCOPE.output_projection, SCOPE.unembedding and SCOPE.output_bias for states of `width`
  /// features.
  Unembedding(Scope scope, const Transformer& transformer, const LogitsConfig& config, int width, double deviation);
  Tensor operator()(const Tensor& states) const;  ///< (..., width) -> the logits (..., vocabulary)
  /// Returns what is multiplied with the words: the states, projected and scaled.
  Tensor compared(const Tensor& states) const;
  /// Returns the map from a state to the logit of one word, without the cap.
  Linearised linearised(std::int64_t word) const;
};

}  // namespace heed
