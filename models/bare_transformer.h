#pragma once
#include <heed/models/questions.h>

namespace heed {

/// Shape of a BareTransformer.
struct BareTransformerConfig {
  static constexpr const char* kind = "bare_transformer";
  TransformerConfig transformer{};

  /// Calls field(name, value, ...) for each field, as TransformerConfig does.
  template <class Self, class Field>
  static void for_each_field(Self& self, Field&& field) {
    field("transformer", self.transformer);
  }
};

/// A transformer without a head, as sentence encoders are saved: it has states and attention, and answers nothing.
///
///     const BareTransformer model(Scope(parameters, 1), config);
///     const std::vector<Tensor> weights = model.answer(questions, Compute::all, Weights::yes).weights;
struct BareTransformer {
  using Config = BareTransformerConfig;  ///< of the constructor
  Config config;
  Transformer transformer;
  BareTransformer(Scope scope, const Config& config);  ///< makes its parameters in `scope`
  /// Returns empty logits, (B, 0), and the weights.
  Answers answer(const Questions& questions, Compute compute = Compute::all, Weights weights = Weights::no,
                 const Dropout& drop = {}) const;
  /// Throws `Error`, since the model lacks logits.
  Linearised logit_linearised(const AnswerPoint& point, int index) const;
};

}  // namespace heed
