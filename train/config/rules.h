#pragma once
#include "train/config/config.h"

#include <functional>
#include <string>
#include <vector>

namespace heed {

// Fits values that nobody wrote to those that somebody did: a warm-up of at most half of the steps; d_k and d_v where heads
// do not divide d_model, or a tie needs them equal.
void fit_defaults(Config& config, const std::function<bool(const std::string& key)>& is_written);

// A rule between keys that a configuration breaks.
struct BrokenRule {
  std::vector<std::string> keys;  // that it is about
  std::string message;
};
std::vector<BrokenRule> broken_rules(const Config& config);

// What is wrong with `word` ("query" or "antecedent") as a token of the probe's text; "" when it is there once.
std::string watched_mistake(const WatchedSentence& sentence, const std::string& word, const Tokenizer& tokenizer);

}  // namespace heed
