#pragma once
#include <heed/explain/interval.h>

#include <heed/models/reading.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace heed {

// Sentences in batches, each beside its twin, and what a model answers to them while something in it is changed.
class HeldOut {
 public:
  // The first `most` of `examples` (one more where a pair would be parted). Error when the model cannot read them.
  HeldOut(const SavedModel& model, const std::vector<Example>& examples, std::size_t most);

  // A twin's number is one more or one less than its own.
  const std::vector<Example>& sentences() const { return sentences_; }
  /// Returns the same number for both sentences of a minimal pair, and for no others.
  int group(std::size_t sentence) const;

  struct Answer {
    double probability;  // of the right answer
    int word;            // that is predicted
  };

  // A hook's function that knows which sentences it is shown: row b of `value` is of sentence `first` + b.
  using Change = std::function<void(const std::string& name, Tensor& value, std::size_t first)>;
  std::vector<Answer> answers(const Change& change) const;  // NotFinite where they are infinite or NaN

  int layers() const { return model_.layers(); }
  int heads() const { return model_.heads(); }
  int right(std::size_t sentence) const { return right_[sentence]; }  // the word that is the answer

 private:
  const SavedModel& model_;
  std::vector<Example> sentences_;
  std::vector<int> right_;
  std::vector<Batch> batches_;
};

// held_out.jsonl of a run. Error where it is missing.
std::vector<Example> read_held_out(const std::filesystem::path& run);

/// Returns whether the interval of `accuracy` lies above `chance` (NaN, unknown: above 0). Otherwise the model has no right
/// answers whose cause could be found.
bool has_answers(const Interval& accuracy, double chance);

/// Returns whether the answers are lost: the interval of `after`, the accuracy after an intervention, does not lie above
/// chance. If chance is unknown (NaN), half of the accuracy before takes its place.
bool is_lost(const Interval& after, double before, double chance);

// How many tokens the longest has.
std::size_t longest(const std::vector<Example>& sentences);

// How many sentences take about a minute of one core when a model reads each `passes` times: 10^12 multiplications and
// additions, and at least 100.
std::size_t affordable(const TransformerConfig& config, const std::vector<Example>& sentences, double passes);

}  // namespace heed
