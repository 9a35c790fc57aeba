#pragma once
#include <heed/explain/circuits/circuit_study.h>
#include <heed/explain/pairs.h>

namespace heed {

/// The task of a model on pairs of texts: the measure is log_odds(), and edges outside of a circuit carry the outputs of the
/// corrupted text.
///
///     const PairTask task(model, pairs);
///     const CircuitStudy study = circuit_study(task.task());
///
/// Pairs run in portions that take a few hundred megabytes.
class PairTask {
 public:
  /// Scores the edges by options.method, and by those of the other methods that take seconds. `model` and `pairs` must outlive this
  /// object. Throws `Error` without pairs, and NotFinite when the model computes infinity or NaN.
  PairTask(const Model& model, std::span<const TextPair> pairs, const CircuitOptions& options = {});

  /// Returns the task, which refers to this object.
  const CircuitTask& task() const { return task_; }
  const CircuitGraph& graph() const { return graph_; }  ///< of the model

 private:
  void score(const CircuitOptions& options);
  std::vector<std::vector<double>> measured(const std::vector<std::vector<bool>>& circuits,
                                            std::span<const std::size_t> pairs) const;

  const Model& model_;
  std::span<const TextPair> pairs_;
  CircuitGraph graph_;
  OnProgress progress_;
  mutable Passes circuits_;  // of all that a study measures
  CircuitTask task_;
};

/// Studies the circuit of a model on pairs of texts.
CircuitStudy circuit_study(const Model& model, std::span<const TextPair> pairs, const CircuitOptions& options = {});

}  // namespace heed
