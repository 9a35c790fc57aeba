#pragma once
#include <heed/explain/progress.h>
#include <heed/explain/studies/interval.h>
#include <heed/models/formats/saved_model.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace heed {

/// A model that was trained from another seed, and the sentences that it did not learn from.
struct SeedRun {
  std::string name;
  std::function<SavedModel()> load;
  std::vector<Example> held_out;
};

/// The heads that do the same in models of several seeds, beside random matchings.
///
///   const MatchedHeads matched = match_heads({{"seed 1", [] { return load_model("1.safetensors"); }, held_out},
///                                             {"seed 2", [] { return load_model("2.safetensors"); }, held_out}});
///   fmt::print("{:.2f} alike, {:.2f} at random\n", matched.similarity, matched.random);
struct MatchedHeads {
  int sentences = 0;        // the same for all runs: held-out ones of the first
  int with_antecedent = 0;  // of them with a known antecedent
  int with_twin = 0;

  /// The head of a run that gives the antecedent most of the query's attention, and whether its edge there is the cause. All
  /// figures are of the sentences whose antecedent is known.
  struct Pointing {
    int layer = 0, head = 0;
    double weight = 0;            // mean, from the query to the antecedent
    Interval before{};            // accuracy with nothing changed
    Interval without{};           // accuracy when that edge is cut
    Interval without_in_layer{};  // when it is cut in every head of the layer
    Interval
        flipped{};  // flip rate with the twin's output in that head, over the sentences with a twin; NaN: none has one
    // alone, shared: without it in that head, or in every head of its layer, no more is right than by chance (is_lost());
    // no_answers: no more is right with it either
    enum class Cause { alone, shared, neither, no_answers } cause = Cause::neither;
  };
  struct Run {
    std::string name;
    std::int64_t step = 0;
    int held_out = 0;                  // of the sentences, by this run, too: it may have learned from the others
    double accuracy = 0;               // of all of them
    std::optional<Pointing> pointing;  // none where no sentence says what its query refers to
  };
  std::vector<Run> runs;
  double chance = 0;  // 1/2 where each sentence has two candidates, else NaN

  // What two heads have in common: 1 - (d + e) / 2, d the mean distance of their weights from the query (half the sum of
  // absolute differences), e of what their output 0 changes of the answer's probability. Each head of the reference, the
  // run that is most like the others, is assigned one of each other run so that the sum is largest, on one half of the
  // sentences; the figures are of the other half.
  std::size_t reference = 0;
  struct Member {
    int layer = 0, head = 0;
    double similarity = 0;                          // with the reference's
    double antecedent = 0, other = 0, decider = 0;  // mean weights from the query; NaN: no such token
    double effect = 0;                              // by how much the answer's probability falls when its output is 0
  };
  struct Role {
    std::vector<Member> members;  // one a run; the reference's own has similarity 1
    double similarity = 0;        // mean over the other runs
    double random = 0, p = 0;     // of random matchings: their mean, and the share that is as similar
  };
  std::vector<Role> roles;                   // as the reference numbers its heads
  double similarity = 0, random = 0, p = 0;  // over all roles
};

constexpr int random_matchings = 9999;

/// Matches the heads of models of equal shape and words while they answer up to `most` held-out sentences of the first; 0: as
/// many as can be done in about a minute, and at least 100. Throws Error for models that cannot be compared.
MatchedHeads match_heads(const std::vector<SeedRun>& runs, int most = 0, const OnProgress& progress = {});

}  // namespace heed
