#pragma once
#include "files/json.h"
#include <heed/explain/interval.h>
#include "inspect/progress.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace heed {

/// When attention became the cause of the answer: at each step whose model was kept, how much of the query's attention a head
/// gives to the antecedent, and what is lost when that edge is cut. A weight may be large before, or after, it matters.
struct CauseHistory {
  int sentences = 0, held_out = 0;  // of `held_out` sentences, `sentences` are used: those that have an antecedent
  struct Edge {
    Interval weight{};    // mean, from the query to the antecedent; of several heads theirs
    Interval effect{};    // by how much the mean probability of the answer falls when it is cut
    Interval accuracy{};  // after the cut
  };
  struct Step {
    std::int64_t step = 0;
    double accuracy = 0, probability = 0;  // with nothing cut
    std::vector<std::vector<Edge>> heads;  // [layer][head]
    std::vector<Edge> layers;              // cut in every head of a layer
  };
  std::vector<Step> steps;

  struct Head {
    int layer, head;
  };
  Head pointing() const;  // with the largest weight at the last step
};

// Of a run that keeps its models (dump.weights), with up to `most` of its held-out sentences; 0: as many as can be done in
// about a minute, and at least 100. Error for a run that kept none, or none of whose sentences says what its query means.
CauseHistory cause_history(const std::filesystem::path& run, int most = 0, const OnProgress& progress = {});

/// Returns when weight and effect grew, and where the two, as shares of their largest, are apart: a line for each claim. A
/// claim is made where the 95 % intervals support it.
std::vector<std::string> history_verdict(const CauseHistory& history, int layer, int head);

// Layers and heads count from 0.
Json history_json(const CauseHistory& history);

}  // namespace heed
