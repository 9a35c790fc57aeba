#pragma once
#include <heed/data/task.h>
#include <heed/models/bare_transformer.h>
#include <heed/models/candidate_chooser.h>
#include <heed/models/language_model.h>
#include <heed/models/masked_language_model.h>
#include <heed/models/word_answerer.h>

#include <variant>

namespace heed {

/// Any model, for programs that read the kind of the model from its file.
///
///     const Tensor logits = answer(model, questions).logits;
///     if (const auto* decoder = std::get_if<LanguageModel>(&model)) ...
using Model = std::variant<WordAnswerer, CandidateChooser, LanguageModel, MaskedLanguageModel, BareTransformer>;
/// The configuration of any model.
using ModelConfig = std::variant<WordAnswererConfig, CandidateChooserConfig, LanguageModelConfig,
                                 MaskedLanguageModelConfig, BareTransformerConfig>;

/// Makes the model that a configuration describes.
Model make_model(Scope scope, const ModelConfig& config);

/// Returns the questions of a batch of examples.
Questions questions(const Batch& batch);

/// Return the transformer, the configuration or the answers of any model.
const Transformer& transformer_of(const Model& model);
const TransformerConfig& transformer_of(const ModelConfig& config);  ///< that of the configuration
ModelConfig config_of(const Model& model);                           ///< the configuration of a model
/// Throws `Error` for a model without a head, which cannot answer.
Answers answer(const Model& model, const Questions& questions, Compute compute = Compute::all,
               Weights weights = Weights::no, const Dropout& drop = {});
/// Runs the model as answer() does. A model without a head gives its weights, and logits (B, 0).
Answers run(const Model& model, const Questions& questions, Compute compute = Compute::all,
            Weights weights = Weights::no);
/// Returns the mean cross-entropy of the answers to examples, or of the tokens of windows. Throws `Error` for examples when
/// the model predicts tokens, and for windows when it answers questions.
Tensor loss(const Model& model, const TrainingBatch& batch, const Dropout& drop = {});
/// Returns whether the model can answer. A BareTransformer cannot.
bool has_answers(const Model& model);
/// Throws `Error` when the model cannot answer.
void check_has_answers(const Model& model);
/// Returns the logits at every token of a model that predicts tokens: (B, T) -> (B, T, vocabulary). Throws `Error` for others.
Tensor token_logits(const Model& model, const Ids& tokens);
/// Returns the index of the logit of each correct answer (B); -1 if no logit represents it.
Ids right_answers(const Model& model, const Batch& batch);
/// The map from the state at the query to logit `index`, linearised at `point`.
Linearised logit_linearised(const Model& model, const AnswerPoint& point, int index);

}  // namespace heed
