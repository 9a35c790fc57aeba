#include "nn/language_model.h"

namespace heed {

namespace {
constexpr double deviation = 0.02;  // of embeddings at first, as GPT-2's
}

LanguageModel::LanguageModel(Scope scope, const LanguageModelShape& given)
    : shape(given),
      words(scope / "words", shape.vocabulary, shape.attention.d_model, deviation),
      positions(scope / "positions", shape.max_length, shape.attention.d_model, deviation),
      encoder(scope / "encoder", shape.layers, shape.attention, shape.mlp) {}

Tensor LanguageModel::operator()(const Ids& tokens, const Dropout& drop) const {
  if (tokens.shape().rank() != 2) fail("LanguageModel: expected tokens (B, T), got {}", to_string(tokens.shape()));
  const Tensor x = positions(words(tokens));  // (B, T, d_model)
  return linear(encoder(x, Mask::causal(), Weights::no, drop).output, transpose(words.weight), {});
}

}  // namespace heed
