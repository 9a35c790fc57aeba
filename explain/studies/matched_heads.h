#pragma once
#include <heed/data/task.h>
#include <heed/explain/studies/study_options.h>
#include <heed/explain/studies/verdict.h>
#include <heed/models/model.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace heed {

/// A model that was trained from another seed, and the sentences that it did not learn from.
struct SeedRun {
  std::string name;
  std::function<Model()> load;
  std::vector<Example> held_out;
};

/// Heads with the same function in models of several seeds, and random matchings to compare with. No test says whether heads do the same:
/// untrained heads, too, are more alike when they are matched than at random, on sentences that did not match them.
///
///     const MatchedHeads matched = match_heads({{"seed 1", [] { return load_model("1.safetensors"); }, held_out},
///                                               {"seed 2", [] { return load_model("2.safetensors"); }, held_out}});
///     fmt::print("{:.2f} alike, {:.2f} at random\n", matched.similarity, matched.random);
struct MatchedHeads {
  std::string source{};     ///< the file of the sentences; empty: held out of the first run
  int sentences = 0;        ///< the same for all runs
  int with_antecedent = 0;  ///< sentences with a known antecedent
  int with_counterpart = 0;

  /// The head of a run with the largest mean weight from query to antecedent, and whether that edge is the cause of the
  /// answers. All figures are over the sentences whose antecedent is known.
  struct Pointing {
    int layer = 0, head = 0;
    double weight = 0;            ///< mean, from the query to the antecedent
    Interval before{};            ///< accuracy with nothing changed
    Interval without{};           ///< accuracy when that edge is cut
    Interval without_in_layer{};  ///< when it is cut in every head of the layer
    /// Flip rate with the counterpart's output in that head, over the sentences with a counterpart; NaN: none has one.
    Interval flipped{};
    Verdict lost{}, lost_in_layer{};  ///< of both cuts
    Carried carried = Carried::unknown;
  };
  /// One run of the comparison.
  struct Run {
    std::string name;
    std::int64_t step = 0;
    int held_out = 0;                  ///< sentences that this run held out, too; it may have learned from the others
    double accuracy = 0;               ///< over all sentences
    std::optional<Pointing> pointing;  ///< empty when no sentence has an antecedent
  };
  std::vector<Run> runs;
  double chance = 0;  ///< chance_of() the sentences with an antecedent; NaN: unknown

  /// The similarity of two heads is 1 - (d + e) / 2. d is the mean distance of their weights from the query (half the
  /// sum of absolute differences). e is the mean difference of the effects of their zero ablation on the answer's
  /// probability. The reference is the run that is most like the others. Each of its heads is assigned one head of each
  /// other run, so that the sum of similarities is largest on one half of the sentences. The figures are over the other
  /// half.
  std::size_t reference = 0;
  /// One head that has a role.
  struct Member {
    int layer = 0, head = 0;
    double similarity = 0;                      ///< with the reference's head
    double antecedent = 0, other = 0, cue = 0;  ///< mean weights from the query; NaN: no such token
    double effect = 0;                          ///< fall of the answer's probability after zero ablation
  };
  /// Heads of different runs that do the same.
  struct Role {
    std::vector<Member> members;  ///< one per run; the reference's own has similarity 1
    double similarity = 0;        ///< mean over the other runs
    double random = 0;            ///< mean of random matchings
  };
  std::vector<Role> roles;            ///< in the order of the reference's heads
  double similarity = 0, random = 0;  ///< means over all roles
};

/// Least number of sentences held out by all runs that are used alone.
constexpr std::size_t min_common = 100;

/// Matches the heads of models of equal shape and vocabulary while they answer the sentences that all of them held out, or, when
/// these are fewer than `min_common`, those held out of the first. Throws Error for models that cannot be compared.
MatchedHeads match_heads(const std::vector<SeedRun>& runs, const StudyOptions& options = {});

}  // namespace heed
