#pragma once
#include "run/internal/run_directory.h"
#include "train/experiment.h"

#include <heed/autograd/record.h>

#include <functional>
#include <string>

namespace heed {

/// Ends a run whose numbers are not finite, before they reach its files. Each function throws Error for such a number; the
/// message names the step and the first bad tensor.
struct Diagnosis {
  const Parameters& parameters;
  std::string kept_in;  ///< the run's directory, which has the last good state

  /// Checks the loss of a step. `compute` computes it again.
  void check_loss(std::int64_t step, double loss, const std::function<void()>& compute) const;
  /// Checks the norm of a step's gradients.
  void check_gradients(std::int64_t step, double norm, const Gradients& gradients) const;
  /// Checks the held-out loss after a step. `compute` computes it again.
  void check_evaluation(std::int64_t step, double loss, const std::function<void()>& compute) const;
  /// Checks the weights after a step.
  void check_weights(std::int64_t step) const;
};

/// Throws Error when the steps of the run's checkpoint were taken on other data than the experiment's, of digest `data`.
void check_same_data(const Experiment& experiment, const RunDirectory& run, const DataDigest& data);

}  // namespace heed
