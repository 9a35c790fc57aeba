#include <heed/nn/language_model.h>

namespace heed {

namespace {
constexpr double deviation = 0.02;  // of embeddings at first, as GPT-2's
}

LanguageModel::LanguageModel(Scope scope, const LanguageModelConfig& given)
    : name(scope.name()),
      config(given),
      token_embedding(scope / "words", config.vocabulary, config.attention.d_model, deviation),
      positions(scope / "positions", config.max_length, config.attention.d_model, deviation),
      encoder(scope / "encoder", config.layers, config.attention, config.mlp) {}

Tensor LanguageModel::operator()(const Ids& tokens, const Dropout& drop) const {
  if (tokens.shape().rank() != 2) fail("LanguageModel: expected tokens (B, T), got {}", to_string(tokens.shape()));
  Tensor x = positions(token_embedding(tokens));  // (B, T, d_model)
  Hook::show(name, "embedded", x);
  const Tensor encoded = encoder(x, Mask::causal(), Weights::no, drop).output;
  Tensor logits = linear(encoded, transpose(token_embedding.weight), {});
  Hook::show(name, "logits", logits);
  return logits;
}

}  // namespace heed
