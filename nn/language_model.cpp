#include "nn/language_model.h"

namespace heed {

namespace {
constexpr double deviation = 0.02;  // of embeddings at first, as GPT-2's
}

LanguageModel::LanguageModel(Scope scope, const LanguageModelShape& given)
    : name(scope.name()),
      shape(given),
      words(scope / "words", shape.vocabulary, shape.attention.d_model, deviation),
      positions(scope / "positions", shape.max_length, shape.attention.d_model, deviation),
      encoder(scope / "encoder", shape.layers, shape.attention, shape.mlp) {}

Tensor LanguageModel::operator()(const Ids& tokens, const Dropout& drop) const {
  if (tokens.shape().rank() != 2) fail("LanguageModel: expected tokens (B, T), got {}", to_string(tokens.shape()));
  Tensor x = positions(words(tokens));  // (B, T, d_model)
  Hook::show(name, "embedded", x);
  const Tensor encoded = encoder(x, Mask::causal(), Weights::no, drop).output;
  Tensor logits = linear(encoded, transpose(words.weight), {});
  Hook::show(name, "logits", logits);
  return logits;
}

}  // namespace heed
