#pragma once
#include <heed/models/questions.h>

namespace heed {

/// Shape of a CandidateChooser.
struct CandidateChooserConfig {
  static constexpr const char* kind = "candidate_chooser";
  TransformerConfig transformer{};
  bool or_none = false;  ///< whether "none of them" is an answer
  /// Whether segments number the sentences of a text, back from the question; otherwise they are token types, all 0
  bool numbered_sentences = true;

  /// Calls field(name, value, ...) for each field, as TransformerConfig does.
  template <class Self, class Field>
  static void for_each_field(Self& self, Field&& field) {
    field("transformer", self.transformer);
    field("or_none", self.or_none);
    field("numbered_sentences", self.numbered_sentences);
  }
};

/// Answers a question about a text with one of the text's candidates, which are spans of tokens. The logit of a
/// candidate is q W_C c / sqrt(d_model): q is the state at the query; c is the mean of the last layer's input over the
/// candidate's tokens, normalised without gain and bias. "None of them" has the logit q W_C n / sqrt(d_model), with n
/// learned.
///
///     const CandidateChooser model(Scope(parameters, 1), config);
///     const Tensor logits = model.answer(questions).logits;   // (B, C), or (B, C + 1) with or_none
struct CandidateChooser {
  using Config = CandidateChooserConfig;  ///< of the constructor
  Config config;
  Transformer transformer;
  Linear pointer;                                       ///< W_C (d_model, d_model)
  Parameter none;                                       ///< n (d_model), or undefined
  CandidateChooser(Scope scope, const Config& config);  ///< makes its parameters in `scope`
  /// Returns logits (B, C), or (B, C + 1) with "none of them" as the last.
  Answers answer(const Questions& questions, Compute compute = Compute::all, Weights weights = Weights::no,
                 const Dropout& drop = {}) const;
  /// Returns the map from the state at the query to one logit, before its cap, linearised at `point`.
  Linearised logit_linearised(const AnswerPoint& point, int index) const;
};

}  // namespace heed
