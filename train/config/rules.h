#pragma once
#include "train/config/config.h"

#include <functional>
#include <string>
#include <vector>

namespace heed {

/// Adapts the keys that are not written to those that are: a warm-up of at most half of the steps; d_k and d_v where
/// heads do not divide d_model, or a tie needs them equal.
void fit_defaults(Config& config, const std::function<bool(const std::string& key)>& is_written);

/// A rule between keys that a configuration breaks.
struct BrokenRule {
  std::vector<std::string> keys;  // the keys that the rule relates
  std::string message;
  /// Whether the first key has no effect beside the others. That is a mistake if it is given alone, or last by --set. A file
  /// may hold all keys, and --set model.mlp=0 may leave an activation without effect.
  bool is_unused = false;
};
std::vector<BrokenRule> broken_rules(const Config& config);

/// Returns the mistake in `word` ("query" or "antecedent") as a token of the sentence; "" when it occurs there once.
std::string watched_mistake(const WatchedSentence& sentence, const std::string& word, const Tokenizer& tokenizer);

}  // namespace heed
