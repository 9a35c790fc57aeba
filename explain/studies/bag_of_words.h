#pragma once
#include <heed/data/task.h>
#include <heed/nn/parameters.h>

#include <cstdint>
#include <optional>
#include <unordered_set>
#include <vector>

namespace heed {

/// A baseline without word order, grammar or attention: logistic regression on the words of a sentence,
///
///     logit of candidate c = sum over the sentence's words w of place[w, p(c)] + sum over c's own words w of own[w],
/// where p(c) counts the candidates in the order of the text from 0. The answer "none of them" has the last place. Each
/// word counts once. The loss is the mean cross-entropy + |place, own|^2 / (2 N) of N examples.
///
///     const BagOfWords bag(task.train, task.vocabulary);
///     const std::vector<int> chosen = bag.answers(task.held_out, task.vocabulary);
class BagOfWords {
 public:
  /// Fits it to the examples. The result is deterministic.
  BagOfWords(const std::vector<Example>& training, const Vocabulary& vocabulary);
  /// Takes fitted values: place (V, places) and own (V, 1). Throws Error when they do not fit.
  BagOfWords(const Tensor& place, const Tensor& own, bool has_none);

  /// Returns the chosen candidate of each example; -1: none of them, if it has learned that answer.
  std::vector<int> answers(const std::vector<Example>& examples, const Vocabulary& vocabulary) const;

  const Parameters& parameters() const { return parameters_; }  ///< place (V, places), own (V, 1)
  /// Returns whether "none of the candidates" is one of the answers.
  bool has_none() const { return has_none_; }

 private:
  Parameters parameters_;
  bool has_none_ = false;
};

/// The baselines of a report, which are the same for every set of sentences.
struct Baselines {
  std::optional<BagOfWords> bag{};               ///< none: the training sentences are unknown, as of a pretrained model
  std::unordered_set<std::uint64_t> training{};  ///< sentence_number() of each training sentence
};

}  // namespace heed
