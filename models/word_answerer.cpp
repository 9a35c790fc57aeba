#include <heed/models/word_answerer.h>

#include <cmath>

namespace heed {
namespace {
double unit_deviation(const TransformerConfig& config) { return 1 / std::sqrt(config.d_model()); }
}  // namespace

WordAnswerer::WordAnswerer(Scope scope, const Config& given)
    : config(given),
      transformer(scope, config.transformer,
                  {.tokens = unit_deviation(config.transformer), .positions = 1, .segments = 1}),
      unembedding(scope, transformer, config.logits, config.transformer.d_model(), unit_deviation(config.transformer)) {
}

Answers WordAnswerer::answer(const Questions& questions, Compute compute, Weights weights, const Dropout& drop) const {
  Hidden hidden = states_at_query(transformer, questions, compute, weights, drop);
  return {unembedding(hidden.output), std::move(hidden.weights)};
}

Linearised WordAnswerer::logit_linearised(const AnswerPoint&, int index) const { return unembedding.linearised(index); }

}  // namespace heed
