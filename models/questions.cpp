#include <heed/autograd/ops.h>
#include <heed/models/questions.h>

namespace heed {

Hidden states_at_query(const Transformer& transformer, const Questions& questions, Compute compute, Weights weights,
                       const Dropout& drop) {
  const LayerInput input = questions.computed
                               ? *questions.computed
                               : LayerInput{0, drop.with(drop.embedding, transformer.embed(questions.texts))};
  const Mask mask = transformer.mask_of(questions.texts);
  Hidden hidden;
  if (compute == Compute::query) {
    hidden = transformer.at(questions.query, input.residual, mask, weights, drop, input.layer);
  } else {
    hidden = transformer(input.residual, mask, weights, drop, input.layer);
    hidden.output = select_rows(hidden.output, questions.query);
  }
  Hook::show(transformer.name, "at_query", hidden.output);
  return hidden;
}

Tensor token_loss(const Tensor& logits, const Ids& labels) {
  return cross_entropy(labels.shape().rank() == 1 ? reshape(logits, {-1, logits.size(2)}) : logits, labels);
}

Unembedding::Unembedding(Scope scope, const Transformer& transformer, const LogitsConfig& given, int width,
                         double deviation)
    : name(scope.name()), config(given) {
  if (!transformer.token_embedding) fail("Unembedding: expected a transformer with a vocabulary");
  const int words = transformer.config.vocabulary;
  const int embedded = transformer.config.embedded();
  if (config.tied && embedded != width) projection.emplace(scope / "output_projection", width, embedded, Bias::no);
  weight = config.tied ? transformer.token_embedding->weight
                       : scope.parameter("unembedding", {words, width}, Init::gaussian(deviation));
  if (config.bias == Bias::yes) bias = scope.parameter("output_bias", {words}, Init::zeros());
}

Tensor Unembedding::compared(const Tensor& states) const {
  const Tensor x = projection ? (*projection)(states) : states;
  return config.scale == 1 ? x : x * config.scale;
}

Tensor Unembedding::operator()(const Tensor& states) const {
  const LayerScope scope(name);
  Tensor logits = linear(compared(states), transpose(weight), bias);
  if (config.soft_cap > 0) logits = tanh(logits / config.soft_cap) * config.soft_cap;
  Hook::show(name, "logits", logits);
  return logits;
}

Linearised Unembedding::linearised(std::int64_t word) const {
  const Tensor column = transpose(slice(weight, 0, word, word + 1));  // (d_model, 1)
  return {[column, by = *this](const Tensor& parts) { return matmul(by.compared(parts), column); },
          bias.defined() ? slice(bias, 0, word, word + 1) : Tensor()};
}

}  // namespace heed
