#pragma once
#include "files/json.h"
#include <heed/explain/interval.h>
#include "inspect/progress.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

// Runs that differ in their seed: which heads do the same in each, and what is a seed's luck.
namespace heed {

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

// Of run directories of models of equal shape and words. `most` held-out sentences of the first; 0: as many as can be done in
// about a minute, and at least 100. Error for runs that cannot be compared.
MatchedHeads match_heads(const std::vector<std::filesystem::path>& runs, int most = 0, const OnProgress& progress = {});

// Layers and heads count from 0.
Json matched_heads_json(const MatchedHeads& matched);

}  // namespace heed
