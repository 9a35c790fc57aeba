#pragma once
#include <heed/models/questions.h>

namespace heed {

/// Shape of a WordAnswerer.
struct WordAnswererConfig {
  static constexpr const char* kind = "word_answerer";
  TransformerConfig transformer{};
  LogitsConfig logits{.bias = Bias::yes};  ///< with a bias by default @hideinitializer

  /// Calls field(name, value, ...) for each field, as TransformerConfig does.
  template <class Self, class Field>
  static void for_each_field(Self& self, Field&& field) {
    field("transformer", self.transformer);
    field("logits", self.logits);
  }
};

/// Answers a question about a text with a word of the vocabulary: logits from the state at the query. With
/// `last_residual` no, which `train` sets unless the configuration says otherwise, the answer depends only on the tokens
/// that the query attends to in the last layer.
///
///     const WordAnswerer model(Scope(parameters, 1), config);
///     const Tensor loss = cross_entropy(model.answer(questions, Compute::query).logits, right);
struct WordAnswerer {
  using Config = WordAnswererConfig;  ///< of the constructor
  Config config;
  Transformer transformer;
  Unembedding unembedding;
  /// Token embeddings start with length 1, as the logits need. config.transformer.embedding_scale may scale them by
  /// sqrt(d_model) before the encoder (Vaswani et al. 2017, section 3.4).
  WordAnswerer(Scope scope, const Config& config);
  /// Returns logits (B, vocabulary).
  Answers answer(const Questions& questions, Compute compute = Compute::all, Weights weights = Weights::no,
                 const Dropout& drop = {}) const;
  /// Returns the map from the state at the query to one logit, before its cap, linearised at `point`.
  Linearised logit_linearised(const AnswerPoint& point, int index) const;
};

}  // namespace heed
