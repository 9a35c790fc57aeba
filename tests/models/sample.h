#pragma once
#include <heed/formats/saved_model.h>

#include <cmath>
#include <string>
#include <vector>

namespace heed {

/// Returns the configuration of a model that answers with words, as train makes it.
inline ModelConfig answerer_of(TransformerConfig transformer) {
  transformer.embedding_scale = std::sqrt(transformer.d_model());
  transformer.last_residual = false;
  return word_answerer(transformer);
}

/// Returns the configuration of a model that chooses among candidates.
inline ModelConfig chooser_of(const TransformerConfig& transformer, bool or_none = false) {
  return candidate_chooser(answerer_of(transformer).transformer, or_none);
}

/// Returns the configuration of a language model.
inline ModelConfig decoder_of(TransformerConfig transformer, const LogitsConfig& logits = {}) {
  transformer.causal = true;
  return language_model(transformer, logits);
}

/// Returns the configuration of a model that tells the class of a text, with a norm before the logits.
inline ModelConfig classifier_of(const TransformerConfig& transformer) {
  ModelConfig config = text_classifier(transformer, {"bad", "fair", "good"});
  config.transform_norm = config.transform;
  return config;
}

/// Returns a configuration after change(config).
template <class Change>
ModelConfig with(ModelConfig config, const Change& change) {
  change(config);
  return config;
}

inline const std::vector<std::string> tired_animal{"The",     "animal", "didn't", "cross", "the",  "street",
                                                   "because", "it",     "was",    "too",   "tired"};

/// Returns the shape of a small transformer, without its vocabulary.
inline TransformerConfig small_config(Positions positions = Positions::learned, Tie tie = Tie::none, bool bias = false,
                                      int segments = 0) {
  return {
      .max_length = 12,
      .segments = segments,
      .layers = 2,
      .positions = positions,
      .block = {.attention =
                    {.d_model = 8, .heads = 2, .d_k = 3, .d_v = tie == Tie::K_is_V ? 3 : 5, .bias = bias, .tie = tie},
                .mlp = {.width = 16}}};
}

/// Returns the shape of a small LLaMA-like transformer: RMSNorm, SwiGLU, rotary embedding, one key head, normalised queries
/// and keys, no biases.
inline TransformerConfig modern_config() {
  TransformerConfig config = small_config(Positions::rotary);
  BlockConfig& block = config.block;
  block.norm = rms_config;
  block.mlp.activation = Activation::silu;
  block.mlp.gated = true;
  block.mlp.bias = block.attention.output_bias = false;
  block.attention.kv_heads = 1;
  block.attention.d_k = 4;
  block.attention.query_key_norm = QueryKeyNorm::heads;
  return config;
}

/// Makes the network of `model` anew, with the size of its vocabulary.
inline void make_network(Model& model, ModelConfig config, std::uint64_t seed = 5) {
  config.transformer.vocabulary = model.vocabulary.size();
  model.parameters = Parameters();
  model.build(Scope(model.parameters, seed), config);
}

/// Returns an untrained model that knows the words of tired_animal and "dog".
inline Model small_model(const ModelConfig& config) {
  Model model;
  for (const std::string& word : tired_animal) model.vocabulary.add(word);
  for (const char* word : {"dog", ".", "?"}) model.vocabulary.add(word);
  make_network(model, config);
  model.queries = {"it"};
  model.step = 400;
  return model;
}

inline Model small_model(Positions positions = Positions::learned, Tie tie = Tie::none, bool bias = false,
                         int segments = 0) {
  return small_model(answerer_of(small_config(positions, tie, bias, segments)));
}

}  // namespace heed
