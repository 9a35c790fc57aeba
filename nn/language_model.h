#pragma once
#include <heed/nn/encoder.h>

#include <string>

namespace heed {

// Sizes of a language model.
struct LanguageModelConfig {
  int vocabulary = 0;
  int max_length = 0;  // tokens in a text
  int layers = 2;
  int mlp = 0;  // width of the MLP, 0: none
  AttentionConfig attention;
};

// Predicts at each token the next one, from itself and those before: GPT-2's architecture (Radford et al. 2019) with
// learned positions, causal attention, and the embedding's transpose for the logits.
struct LanguageModel {
  std::string name;
  LanguageModelConfig config;
  Embedding token_embedding;
  LearnedPositions positions;
  Encoder encoder;
  LanguageModel(Scope scope, const LanguageModelConfig& config);
  Tensor operator()(const Ids& tokens, const Dropout& drop = {}) const;  // (B, T) -> logits (B, T, vocabulary)
};

}  // namespace heed
