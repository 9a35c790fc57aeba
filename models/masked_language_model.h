#pragma once
#include <heed/models/questions.h>

#include <optional>

namespace heed {

/// Shape of a MaskedLanguageModel.
struct MaskedLanguageModelConfig {
  static constexpr const char* kind = "masked_language_model";
  TransformerConfig transformer{};
  LogitsConfig logits{.bias = Bias::yes};  ///< with a bias by default @hideinitializer
  bool transform = true;  ///< apply a linear layer, an activation and a norm before the logits, as in BERT
  Activation activation = Activation::gelu;  ///< of that layer
  Bias transform_bias = Bias::yes;           ///< of that layer

  /// Calls field(name, value, ...) for each field, as TransformerConfig does.
  template <class Self, class Field>
  static void for_each_field(Self& self, Field&& field) {
    field("transformer", self.transformer);
    field("logits", self.logits);
    field("transform", self.transform);
    field("activation", self.activation);
    field("transform_bias", self.transform_bias);
  }
};

/// An encoder that sees the whole text and predicts masked tokens (Devlin et al. 2018, arXiv:1810.04805).
///
///     MaskedLanguageModelConfig config{.transformer = bert(2, 4, 64)};
///     config.transformer.vocabulary = 256, config.transformer.max_length = 128;
///     const MaskedLanguageModel model(Scope(parameters, 1), config);
///     const Tensor loss = model.loss({tokens}, masked);   // (B, T), (B, T) with -1 where nothing is masked -> ()
struct MaskedLanguageModel {
  using Config = MaskedLanguageModelConfig;  ///< of the constructor
  Config config;
  Transformer transformer;
  /// The layers between the states and the logits.
  struct Transform {
    Linear dense;  ///< (d_model, embedded)
    Norm norm;
  };
  std::optional<Transform> transform;
  Unembedding unembedding;
  /// Throws `Error` when the transformer is causal, and as Unembedding does.
  MaskedLanguageModel(Scope scope, const Config& config);
  /// Returns the logits at each token: (B, T, vocabulary).
  Tensor operator()(const TextBatch& texts, const Dropout& drop = {}) const;
  /// Returns the mean cross-entropy of `masked` (B T or B, T; -1 does not count): (). Logits of other tokens are not computed.
  Tensor loss(const TextBatch& texts, const Ids& masked, const Dropout& drop = {}) const;
  /// Returns the logits at each query: (B, vocabulary).
  Answers answer(const Questions& questions, Compute compute = Compute::all, Weights weights = Weights::no,
                 const Dropout& drop = {}) const;
  /// Returns the map from the state at the query to one logit, before its cap, linearised at `point`.
  Linearised logit_linearised(const AnswerPoint& point, int index) const;

 private:
  Tensor logits(const Tensor& states) const;
};

}  // namespace heed
