#pragma once
#include <heed/data/task.h>
#include <heed/explain/studies/study_options.h>
#include <heed/explain/studies/verdict.h>
#include <heed/models/model.h>

#include <functional>
#include <vector>

namespace heed {

/// The history of attention as a cause of the answer. For each step whose model was kept, it has the weight from the
/// query to the antecedent per head, and the effect of cutting that edge. A weight may be large before, or after, it
/// matters.
///
///     const CauseHistory history = cause_history(files.size(), [&](std::size_t i) { return load_model(files[i]); }, held_out);
///     const auto [layer, head] = history.pointing();
struct CauseHistory {
  int sentences = 0, held_out = 0;  ///< of `held_out` sentences, the `sentences` with an antecedent are used
  /// The edge from the query to the antecedent in one head, or in every head of a layer.
  struct Edge {
    /// Mean weight from the query to the antecedent, over the heads, and fall of the answer's mean probability after the cut.
    /// With 95 %, these intervals hold at all steps at once, so that steps can be compared.
    Interval weight{}, effect{};
    Interval accuracy{};  ///< after the cut
    Verdict lost{};       ///< share of the advantage over chance that is lost by the cut
  };
  /// One kept training step.
  struct Step {
    std::int64_t step = 0;
    double accuracy = 0, probability = 0;  ///< without a cut
    std::vector<std::vector<Edge>> heads;  ///< [layer][head]
    std::vector<Edge> layers;              ///< with the edge cut in every head of a layer
  };
  std::vector<Step> steps;

  /// A head, counted from 0.
  struct Head {
    int layer, head;
  };
  /// Returns the head with the largest weight at the last step.
  Head pointing() const;
};

/// Measures `count` models of one run, in the order of their steps; load(i) returns each. Uses the held-out sentences that
/// have an antecedent. Throws Error when none has.
CauseHistory cause_history(std::size_t count, const std::function<Model(std::size_t)>& load,
                           std::vector<Example> held_out, const StudyOptions& options = {});

}  // namespace heed
