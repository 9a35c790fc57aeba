#include <heed/autograd/ops.h>
#include <heed/models/masked_language_model.h>

namespace heed {

MaskedLanguageModel::MaskedLanguageModel(Scope scope, const Config& given)
    : config(given),
      transformer(scope, config.transformer),
      transform(config.transform ? std::optional<Transform>(
                                       Transform{Linear(scope / "transform" / "dense", transformer.config.d_model(),
                                                        transformer.config.embedded(), config.transform_bias),
                                                 Norm(scope / "transform" / "norm", transformer.config.embedded(),
                                                      transformer.config.block.norm)})
                                 : std::nullopt),
      unembedding(scope, transformer, config.logits,
                  config.transform ? config.transformer.embedded() : config.transformer.d_model(),
                  EmbeddingInit().tokens) {
  if (config.transformer.causal) fail("MaskedLanguageModel: expected a transformer that is not causal");
  if (is_gated(config.activation)) fail("MaskedLanguageModel: the activation must not be gated");
}

Tensor MaskedLanguageModel::logits(const Tensor& states) const {
  return unembedding(transform ? transform->norm(activated(config.activation, transform->dense(states))) : states);
}

Tensor MaskedLanguageModel::operator()(const TextBatch& texts, const Dropout& drop) const {
  return logits(transformer(texts, Weights::no, drop).output);
}

Tensor MaskedLanguageModel::loss(const TextBatch& texts, const Ids& masked, const Dropout& drop) const {
  const Tensor states = transformer(texts, Weights::no, drop).output;  // (B, T, d_model)
  if (masked.numel() != states.numel() / states.size(2)) {
    fail("MaskedLanguageModel: expected {} labels, got {}", states.numel() / states.size(2), masked.numel());
  }
  std::vector<std::int32_t> places, labels;
  for (std::int64_t i = 0; i < masked.numel(); ++i) {
    if (masked[i] < 0) continue;
    places.push_back(static_cast<std::int32_t>(i));
    labels.push_back(masked[i]);
  }
  if (labels.empty()) return token_loss(logits(states), masked);
  const Shape count{std::ssize(labels)};
  const Tensor hidden = index_select(reshape(states, {-1, states.size(2)}), Ids(count, std::move(places)));
  return cross_entropy(logits(hidden), Ids(count, std::move(labels)));
}

Answers MaskedLanguageModel::answer(const Questions& questions, Compute compute, Weights weights,
                                    const Dropout& drop) const {
  Hidden hidden = states_at_query(transformer, questions, compute, weights, drop);
  return {logits(hidden.output), std::move(hidden.weights)};
}

// The activation f scales each feature by f(x) / x; this factor is fixed.
Linearised MaskedLanguageModel::logit_linearised(const AnswerPoint& point, int index) const {
  if (!transform) return unembedding.linearised(index);
  const Tensor x = transform->dense(point.state), y = activated(config.activation, x);
  const Booleans is_zero = equal(x, zeros(x.shape(), x.dtype()));
  const Tensor share = masked_fill(y / masked_fill(x, is_zero, 1), is_zero, 0);
  const Linearised activation{[share](const Tensor& parts) { return parts * share; }};
  return transform->dense.linearised()
      .then(activation)
      .then(transform->norm.linearised(y))
      .then(unembedding.linearised(index));
}

}  // namespace heed
