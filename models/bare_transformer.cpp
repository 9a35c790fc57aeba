#include <heed/models/bare_transformer.h>

namespace heed {

BareTransformer::BareTransformer(Scope scope, const Config& given)
    : config(given), transformer(scope, config.transformer) {}

Answers BareTransformer::answer(const Questions& questions, Compute compute, Weights weights,
                                const Dropout& drop) const {
  Hidden hidden = states_at_query(transformer, questions, compute, weights, drop);
  return {Tensor({questions.size(), 0}, hidden.output.dtype()), std::move(hidden.weights)};
}

Linearised BareTransformer::logit_linearised(const AnswerPoint&, int) const {
  fail("BareTransformer: it computes states only, not logits that could be explained");
}

}  // namespace heed
