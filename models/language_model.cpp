#include <heed/models/language_model.h>

namespace heed {

LanguageModel::LanguageModel(Scope scope, const Config& given)
    : config(given),
      transformer(scope, config.transformer),
      unembedding(scope, transformer, config.logits, config.transformer.d_model(), EmbeddingInit().tokens) {
  if (!config.transformer.causal) fail("LanguageModel: expected a causal transformer");
}

Tensor LanguageModel::operator()(const Ids& tokens, const Dropout& drop) const {
  if (tokens.shape().rank() != 2) fail("LanguageModel: expected tokens (B, T), got {}", to_string(tokens.shape()));
  return unembedding(transformer({tokens}, Weights::no, drop).output);
}

Tensor LanguageModel::loss(const Ids& tokens, const Ids& next, const Dropout& drop) const {
  return token_loss((*this)(tokens, drop), next);
}

Tensor LanguageModel::append(const Ids& tokens, Cache& cache) const {
  const std::int64_t read = length(cache);
  const Tensor states = transformer.append(tokens, cache);
  const std::int64_t B = states.size(0), T = states.size(1), d = states.size(2);
  try {
    return unembedding(reshape(slice(states, 1, T - 1, T), {B, d}));
  } catch (...) {
    truncate(cache, read);
    throw;
  }
}

Answers LanguageModel::answer(const Questions& questions, Compute compute, Weights weights, const Dropout& drop) const {
  Hidden hidden = states_at_query(transformer, questions, compute, weights, drop);
  return {unembedding(hidden.output), std::move(hidden.weights)};
}

Linearised LanguageModel::logit_linearised(const AnswerPoint&, int index) const {
  return unembedding.linearised(index);
}

}  // namespace heed
