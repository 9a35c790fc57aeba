#pragma once
#include <heed/models/questions.h>

namespace heed {

/// Shape of a LanguageModel.
struct LanguageModelConfig {
  static constexpr const char* kind = "language_model";
  TransformerConfig transformer{};
  LogitsConfig logits{};

  /// Calls field(name, value, ...) for each field, as TransformerConfig does.
  template <class Self, class Field>
  static void for_each_field(Self& self, Field&& field) {
    field("transformer", self.transformer);
    field("logits", self.logits);
  }
};

/// A decoder that predicts the next token at each position: GPT-2, LLaMA and related models, depending on the
/// configuration.
///
///     LanguageModelConfig config{.transformer = gpt2(2, 4, 64)};
///     config.transformer.vocabulary = 256, config.transformer.max_length = 128;
///     const LanguageModel model(Scope(parameters, 1), config);
///     const Tensor loss = model.loss(tokens, next);   // (B, T), (B, T) -> ()
struct LanguageModel {
  using Config = LanguageModelConfig;  ///< of the constructor
  Config config;
  Transformer transformer;
  Unembedding unembedding;
  /// Throws `Error` when the transformer is not causal.
  LanguageModel(Scope scope, const Config& config);
  /// Returns the logits of the next token at each position: (B, T) -> (B, T, vocabulary).
  Tensor operator()(const Ids& tokens, const Dropout& drop = {}) const;
  /// Returns the mean cross-entropy of `next` (B T or B, T; -1 does not count): ().
  Tensor loss(const Ids& tokens, const Ids& next, const Dropout& drop = {}) const;
  /// Appends tokens (B, T) to those of `cache` and returns the logits of the token after the last: (B, vocabulary). The
  /// cache is as before when it throws.
  Tensor append(const Ids& tokens, Cache& cache) const;
  /// Returns the logits of the token after each query: (B, vocabulary).
  Answers answer(const Questions& questions, Compute compute = Compute::all, Weights weights = Weights::no,
                 const Dropout& drop = {}) const;
  /// Returns the map from the state at the query to one logit, before its cap, linearised at `point`.
  Linearised logit_linearised(const AnswerPoint& point, int index) const;
};

}  // namespace heed
