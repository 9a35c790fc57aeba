#pragma once
#include <heed/explain/progress.h>
#include <heed/explain/studies/interval.h>
#include <heed/models/formats/saved_model.h>

#include <functional>
#include <vector>

namespace heed {

/// When attention became the cause of the answer: at each step whose model was kept, how much of the query's attention a head
/// gives to the antecedent, and what is lost when that edge is cut. A weight may be large before, or after, it matters.
///
///   const CauseHistory history = cause_history(files.size(), [&](std::size_t i) { return load_model(files[i]); }, held_out);
///   const auto [layer, head] = history.pointing();
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
  /// Returns the head with the largest weight at the last step.
  Head pointing() const;
};

/// Measures it in `count` models of one run, in the order of their steps: load(i) returns each. Uses up to `most` of the held-out
/// sentences that have an antecedent; 0: as many as can be done in about a minute, and at least 100. Throws Error when none has
/// one.
CauseHistory cause_history(std::size_t count, const std::function<SavedModel(std::size_t)>& load,
                           std::vector<Example> held_out, int most = 0, const OnProgress& progress = {});

}  // namespace heed
