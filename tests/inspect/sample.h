#pragma once
#include "run/dump.h"
#include "run/internal/run_directory.h"
#include "tests/models/sample.h"

#include <heed/explain/sentence_attention.h>

#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

namespace heed {

// A temporary directory, removed at the end.
struct ScratchDirectory {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("heed-inspect-" + std::to_string(getpid()));
  ScratchDirectory() { std::filesystem::create_directories(path); }
  ~ScratchDirectory() { std::filesystem::remove_all(path); }
};

// Weights (heads, T, T): rows[h] is the query's row in head h; every other token attends to itself.
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
  return {.tokens = tired_animal,
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

}  // namespace heed
