#pragma once
#include <heed/data/task.h>
#include <heed/nn/parameters.h>

#include <cstdint>
#include <filesystem>
#include <unordered_set>
#include <vector>

namespace heed {

// What answers can be had without order, grammar or attention: logistic regression on the words that a sentence has,
//   logit of candidate c = sum over the sentence's words w of place[w, p(c)] + sum over c's own words w of own[w],
// where p(c) counts the candidates in the order of the text from 0; none of them has a place of its own, the last. Each word
// counts once. The loss is the mean cross-entropy + |place, own|^2 / (2 N) of N examples.
class BagOfWords {
 public:
  BagOfWords(const std::vector<Example>& training, const Vocabulary& vocabulary);  // fits it; nothing is drawn

  // Which candidate it chooses; -1: none of them, which only those do that learned it.
  std::vector<int> answers(const std::vector<Example>& examples, const Vocabulary& vocabulary) const;

 private:
  friend struct Baselines;
  BagOfWords() = default;
  Parameters parameters_;  // place (V, places), own (V, 1)
  bool has_none_ = false;
};

// RUN/baselines.safetensors: what a card of the run is measured with, the same for every set.
struct Baselines {
  BagOfWords bag;
  std::unordered_set<std::uint64_t> training;  // sentence_number() of each training sentence

  static void write(const std::filesystem::path& run, const std::vector<Example>& training,
                    const Vocabulary& vocabulary);
  static Baselines read(const std::filesystem::path& run);  // Error where there is none, or it is no such file
};
std::filesystem::path baselines_path(const std::filesystem::path& run);

}  // namespace heed
