#pragma once
#include <heed/data/task.h>
#include <heed/data/unknown_words.h>
#include <heed/distributed/communicator.h>
#include <heed/explain/studies/bag_of_words.h>
#include <heed/explain/studies/interval.h>
#include <heed/models/model.h>

#include <optional>
#include <string>
#include <vector>

namespace heed {

/// How well a model chooses among candidates in a set of sentences, compared with simple baselines, and where it
/// attends to.
///
///     const Baselines baselines{.bag = BagOfWords(task.train, task.vocabulary), .training = {}};
///     const Report found = report(model, baselines, "my sentences", examples);
///     fmt::print("{:.3f}, a bag of words {:.3f}\n", found.model.share, found.bag->share);
struct Report {
  std::string set;
  int sentences = 0, pairs = 0;
  int known = 0;     ///< left out: also in the training set
  int too_long = 0;  ///< left out: more tokens than the model has positions
  Interval model;
  Interval both_of_pair;                    ///< of the pairs; NaN without
  std::optional<Interval> bag;              ///< BagOfWords of the same training sentences; none: they are unknown
  std::optional<Interval> over_bag;         ///< the model minus the bag of words, on the same sentences
  double coin = 0, nearest = 0, first = 0;  ///< a fair choice; the candidate next to the query; the first in the text
  /// The answer that is right most often, where that is more often than a coin, and how much better the model is.
  std::optional<double> most_frequent;
  std::optional<Interval> over_most_frequent;
  /// Controls of Elazar et al. 2021, arXiv:2104.08161, expected at chance level: the same model with the words of all
  /// candidates replaced by unknown words; and with everything before the query replaced except the candidates.
  std::optional<Interval> without_candidates, after_query;
  UnknownShare unknown;

  /// Returns the chance level: that of a coin, or of the most frequent answer.
  double chance() const { return most_frequent.value_or(coin); }

  /// The sentences of one relation: a gender, "pro" or "anti".
  struct Group {
    std::string name;
    int sentences;
    Interval right;
    double F1;  ///< of "is this candidate meant?", over all candidates
  };
  std::vector<Group> groups;              ///< empty with fewer than two relations
  std::optional<Interval> pro_over_anti;  ///< the share of right answers in "pro" minus that in "anti"

  /// The head with the largest mean weight from the query to the meant candidate, for right and wrong answers apart.
  struct Looks {
    int sentences = 0;
    double meant = 0,
           other = 0;  ///< mean weight on the meant candidate, and on the other candidate with the largest weight
    double moved = 0;  ///< share of answers that change when the edge to the meant candidate is cut in that head
  };
  int layer = -1, head = -1;  ///< from 0; -1: no sentence has a meant candidate
  Looks right, wrong;
};

/// Throws Error unless the model chooses among candidates, as report() needs.
void check_chooses(const Model& model);

/// Measures a model on `examples`, without those in the training set. `Baselines()` stands for unknown training sentences. The
/// processes share the examples, and each gets the whole result.
Report report(const Model& model, const Baselines& baselines, const std::string& set, std::vector<Example> examples,
              const Communicator& processes = {});

}  // namespace heed
