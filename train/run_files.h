#pragma once
#include "run/internal/run_directory.h"
#include "train/experiment.h"

#include <heed/explain/evaluation.h>
#include <heed/optim/gradient_reducer.h>

#include <memory>
#include <string>

namespace heed {

/// The state that the steps of a run change, and that a checkpoint keeps beside the weights.
struct TrainingState {
  std::unique_ptr<Optimizer> optimizer;
  WeightAverage average;
  Progress progress{};
};

/// The files of a run: checkpoint, models, snapshots and metrics. Only rank 0 has a run directory; on the other ranks the
/// functions read and write nothing.
class RunFiles {
 public:
  /// `run` is null on ranks above 0.
  RunFiles(Experiment& experiment, TrainingState& state, const RunDirectory* run);

  /// Returns the run's directory, for messages.
  std::string path() const;
  /// Loads the checkpoint, if the run has one, into the weights and the state of all processes. Throws Error when it was made with
  /// other data, and when it is lost.
  void load_checkpoint(const GradientReducer& reducer);
  /// Writes config.yaml, the held-out sentences and the baselines, as far as they are missing.
  void write_beginning() const;
  /// Writes files that a resumed run has lost, as far as the checkpoint has their content.
  void restore();
  /// Decides which earlier evaluations count for the best model. Call it after restore().
  void find_best();

  /// Returns whether the run has the snapshot of this step.
  bool has_snapshot() const;
  /// Writes the attention to the watched sentences, and with dump.weights the model.
  void write_snapshot();
  /// Adds a line to metrics.jsonl, and saves the model if its held-out loss is the smallest so far. Call it while the average is
  /// shown.
  void write_evaluation(const Evaluation& evaluation, double train_loss, double learning_rate);
  /// Returns the number of evaluations since the one of the best model; 0 without a run directory.
  std::int64_t evaluations_without_progress() const;
  /// Writes the model and the checkpoint. All processes call it.
  void save();

 private:
  bool keeps_best() const;
  std::optional<std::int64_t> kept_best() const;
  void save_model_as(const std::filesystem::path& file);
  void save_average();

  Experiment& experiment_;
  TrainingState& state_;
  const RunDirectory* const run_;
  DataDigest data_;
  std::int64_t counted_from_ = 0;  // first step whose evaluations count: no earlier model was kept
};

}  // namespace heed
