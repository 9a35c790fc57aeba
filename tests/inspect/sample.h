#pragma once
#include "run/saved_model.h"

#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

namespace heed {

// A directory of its own, gone at the end.
struct ScratchDirectory {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("heed-inspect-" + std::to_string(getpid()));
  ScratchDirectory() { std::filesystem::create_directories(path); }
  ~ScratchDirectory() { std::filesystem::remove_all(path); }
};

// Weights (heads, T, T): rows[h] is the query's row in head h; every other token looks at itself.
inline Tensor weights_of(int query, const std::vector<std::vector<double>>& rows) {
  const int heads = static_cast<int>(rows.size()), T = static_cast<int>(rows[0].size());
  std::vector<double> values;
  for (const std::vector<double>& row : rows) {
    for (int q = 0; q < T; ++q) {
      for (int key = 0; key < T; ++key) values.push_back(q == query ? row[static_cast<std::size_t>(key)] : q == key);
    }
  }
  return tensor({heads, T, T}, values);
}

inline SentenceAttention english_sentence() {
  const std::vector<double> tenth{0, .1, 0, .1, .1, .1, .1, .1, .1, .1, .2};
  return {.tokens = {"The", "animal", "didn't", "cross", "the", "street", "because", "it", "was", "too", "tired"},
          .query = 7,
          .antecedent = 1,
          .predicted = "animal",
          .probability = 0.9984,
          .layers = {weights_of(7, {{.01, .02, 0, 0, 0, .05, .25, .01, .02, .04, .6}, tenth}),
                     weights_of(7, {{0, .93, 0, .01, 0, .03, 0, .01, .02, 0, 0}, {0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}})}};
}

inline SentenceAttention chinese_sentence() {
  return {.tokens = {"苹果", "很", "甜"},
          .query = 2,
          .antecedent = 0,
          .predicted = "苹果",
          .probability = 0.75,
          .layers = {weights_of(2, {{.5, .125, .375}})}};
}

// An untrained model that knows the words of the English sentence and "dog".
inline ReaderConfig small_config(Positions positions = Positions::learned, Tie tie = Tie::none, Bias bias = Bias::no,
                                 int sentences = 0) {
  return {.max_length = 12,
          .sentences = sentences,
          .layers = 2,
          .mlp = 16,
          .positions = positions,
          .attention = {.d_model = 8,
                        .heads = 2,
                        .d_k = 3,
                        .d_v = tie == Tie::K_is_V ? 3 : 5,
                        .bias = bias,
                        .output_bias = Bias::yes,
                        .tie = tie}};
}

// What decoders of today are made of, each at once: `predicts` next, or an answer.
inline ReaderConfig decoder_config(Predicts predicts) {
  ReaderConfig config = small_config(Positions::rotary);
  config.predicts = predicts;
  config.parts = {.norm = Norm::Kind::rms, .activation = Activation::swiglu};
  config.attention.kv_heads = 1;
  config.attention.d_k = 4;
  config.attention.output_bias = Bias::no;
  config.attention.normalised = NormalisedHeads::yes;
  return config;
}

inline SavedModel small_model(ReaderConfig config) {
  SavedModel model;
  for (const std::string& word : english_sentence().tokens) model.vocabulary.add(word);
  for (const char* word : {"dog", ".", "?"}) model.vocabulary.add(word);
  config.vocabulary = model.vocabulary.size();
  model.reader = std::make_unique<Reader>(Scope(model.parameters, 5), config);
  model.queries = {"it"};
  model.step = 400;
  return model;
}

inline SavedModel small_model(Positions positions = Positions::learned, Tie tie = Tie::none, Bias bias = Bias::no,
                              int sentences = 0) {
  return small_model(small_config(positions, tie, bias, sentences));
}

}  // namespace heed
