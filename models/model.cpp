#include <heed/models/model.h>

namespace heed {

Model make_model(Scope scope, const ModelConfig& config) {
  struct Maker {
    Scope scope;
    Model operator()(const WordAnswererConfig& c) const { return WordAnswerer(scope, c); }
    Model operator()(const CandidateChooserConfig& c) const { return CandidateChooser(scope, c); }
    Model operator()(const LanguageModelConfig& c) const { return LanguageModel(scope, c); }
    Model operator()(const MaskedLanguageModelConfig& c) const { return MaskedLanguageModel(scope, c); }
    Model operator()(const BareTransformerConfig& c) const { return BareTransformer(scope, c); }
  };
  return std::visit(Maker{scope}, config);
}

const Transformer& transformer_of(const Model& model) {
  return std::visit([](const auto& m) -> const Transformer& { return m.transformer; }, model);
}

const TransformerConfig& transformer_of(const ModelConfig& config) {
  return std::visit([](const auto& c) -> const TransformerConfig& { return c.transformer; }, config);
}

ModelConfig config_of(const Model& model) {
  return std::visit([](const auto& m) -> ModelConfig { return m.config; }, model);
}

Answers answer(const Model& model, const Questions& questions, Compute compute, Weights weights, const Dropout& drop) {
  check_has_answers(model);
  return std::visit([&](const auto& m) { return m.answer(questions, compute, weights, drop); }, model);
}

Answers run(const Model& model, const Questions& questions, Compute compute, Weights weights) {
  return std::visit([&](const auto& m) { return m.answer(questions, compute, weights); }, model);
}

Questions questions(const Batch& batch) {
  return {.texts = {.tokens = batch.tokens, .lengths = batch.lengths, .segments = batch.sentences},
          .query = batch.query,
          .candidates = batch.candidates};
}

Tensor loss(const Model& model, const TrainingBatch& batch, const Dropout& drop) {
  const auto* examples = std::get_if<Batch>(&batch);
  const auto* windows = std::get_if<Windows>(&batch);
  const auto* decoder = std::get_if<LanguageModel>(&model);
  const auto* encoder = std::get_if<MaskedLanguageModel>(&model);
  if (windows && decoder) return decoder->loss(windows->tokens, windows->next, drop);
  if (windows && encoder) return encoder->loss({windows->tokens}, windows->next, drop);
  if (windows || decoder || encoder) {
    fail("loss: a {} learns from {}, got {}", std::visit([](const auto& m) { return m.config.kind; }, model),
         windows ? "examples with questions" : "windows of a text",
         windows ? "windows of a text" : "examples with questions");
  }
  const Answers answers = answer(model, questions(*examples), Compute::query, Weights::no, drop);
  return cross_entropy(answers.logits, right_answers(model, *examples));
}

bool has_answers(const Model& model) { return !std::holds_alternative<BareTransformer>(model); }

void check_has_answers(const Model& model) {
  if (!has_answers(model)) fail("the model lacks a head: it shows states and attention, but gives no answers");
}

Tensor token_logits(const Model& model, const Ids& tokens) {
  if (const auto* decoder = std::get_if<LanguageModel>(&model)) return (*decoder)(tokens);
  if (const auto* encoder = std::get_if<MaskedLanguageModel>(&model)) return (*encoder)({tokens});
  fail("token_logits: a {} predicts no tokens", std::visit([](const auto& m) { return m.config.kind; }, model));
}

Ids right_answers(const Model& model, const Batch& batch) {
  const auto* chooser = std::get_if<CandidateChooser>(&model);
  if (!chooser) return batch.answer;
  if (batch.candidates.numel() == 0) fail("the model chooses among candidates; expected examples with candidates");
  const auto none = chooser->config.or_none ? static_cast<std::int32_t>(batch.candidates.shape()[1]) : -1;
  std::vector<std::int32_t> right;
  for (std::int64_t b = 0; b < batch.chosen.numel(); ++b)
    right.push_back(batch.chosen[b] >= 0 ? batch.chosen[b] : none);
  return Ids(batch.chosen.shape(), std::move(right));
}

Linearised logit_linearised(const Model& model, const AnswerPoint& point, int index) {
  check_has_answers(model);
  return std::visit([&](const auto& m) { return m.logit_linearised(point, index); }, model);
}

}  // namespace heed
