#pragma once
#include "train/config/config.h"

#include <string>
#include <vector>

namespace heed {

// A rule between keys that a configuration breaks.
struct BrokenRule {
  std::vector<std::string> keys;  // that it is about
  std::string message;
};
std::vector<BrokenRule> broken_rules(const Config& config);

// What is wrong with `word` ("query" or "antecedent") as a token of the probe's text; "" when it is there
// once.
std::string watched_mistake(const WatchedSentence& probe, const std::string& word, Split split);

}  // namespace heed
