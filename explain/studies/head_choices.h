#pragma once
#include <heed/data/task.h>
#include <heed/distributed/communicator.h>
#include <heed/explain/studies/interval.h>
#include <heed/models/model.h>

#include <optional>
#include <string>
#include <vector>

namespace heed {

/// How often attention alone points at the meant candidate: for each head, the share of sentences in which the candidate with
/// the largest weight is the one that the pronoun refers to (Clark et al. 2019, arXiv:1906.04341, section 4.2).
///
///     const HeadChoices found = head_choices(model, examples);   // with candidates
///     const HeadChoices::Head& best = found.best;
///     fmt::print("layer {} head {}: {}\n", best.layer + 1, best.head + 1, percent(best.right));
struct HeadChoices {
  /// The weight to compare: from the pronoun to a candidate, or from a candidate to the pronoun. A candidate of several
  /// tokens counts with the sum of its weights as key, and with their mean as query.
  enum class Direction { to_candidate, from_candidate };
  /// How often one head chooses right.
  struct Head {
    int layer = 0, head = 0;  ///< from 0
    Direction direction = Direction::to_candidate;
    Interval right{};
  };

  int sentences = 0, pairs = 0;
  int too_long = 0;  ///< left out: longer than the model reads
  int without = 0;   ///< left out: fewer than two candidates, or none of them is meant
  /// Pairs that a causal model cannot tell apart, because they are equal up to the last of the pronoun and the candidates: each
  /// head points at the same candidate in both, and is right once.
  int equal_pairs = 0;
  std::vector<Head> heads{};    ///< by layer, head and direction, over all sentences
  double mean = 0;              ///< mean over `heads`: the expected share of a head drawn at random
  Interval nearest{}, first{};  ///< the candidate next to the pronoun; the first in the text
  Interval
      most_frequent{};  ///< the candidate whose words are most often the meant ones in the half that chooses `best`; of the others
  double coin = 0;  ///< chance level: a random candidate
  /// The head with the largest share in one half of the sentences, `chosen_on`, and its share in the other half,
  /// `right`. Only `right` measures the head: the largest of many shares is too large by chance. Pairs stay together.
  Head best{};
  Interval chosen_on{};
  /// How much larger that share of `best` is than those of these candidates, on the same sentences.
  Interval over_nearest{}, over_first{}, over_most_frequent{};

  /// Returns whether `best` is shown to be better than a random candidate, the nearest, the first and the most frequent.
  bool beats_baselines() const {
    return best.right.is_above(coin) && over_nearest.is_above(0) && over_first.is_above(0) &&
           over_most_frequent.is_above(0);
  }

  /// The share of right answers by the model, and without one edge of head `best` in each sentence: from the pronoun to the
  /// meant candidate, or from the last token of that candidate to the pronoun, as its direction says.
  struct Answers {
    Interval before{}, without_edge{};
  };
  std::optional<Answers> answers{};  ///< empty for a model that answers no questions about a sentence
};

/// Runs the model on each example and compares its weights on the candidates. The processes share the examples, and each gets
/// the whole result. Throws `Error` when no example is left.
HeadChoices head_choices(const Model& model, std::vector<Example> examples, const Communicator& processes = {});

}  // namespace heed
