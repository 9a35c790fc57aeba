#pragma once
#include "run/internal/run_directory.h"
#include "train/experiment.h"

#include <heed/explain/evaluation.h>
#include <heed/optim/gradient_reducer.h>

#include <csignal>
#include <functional>

namespace heed {

/// Callbacks that report the progress of a run.
struct Listener {
  std::function<void(std::int64_t step, double loss)> on_step;
  std::function<void(std::int64_t step, double train_loss, const Evaluation&)> on_evaluation;
  std::function<void(std::int64_t step)> on_begin = {};  // before the first write, with the steps already taken
};

/// Trains `experiment` from the run's current step to its last, and writes the run's files. Returns the number of steps
/// that are done, including the evaluation of the last. When `stop` becomes non-zero, it saves the state for a
/// resumption and returns fewer steps than configured. Throws Error for a loss or gradient that is not finite; the
/// message names the step and the first bad tensor, and the run keeps the last good state.
///
/// Several processes call it each with the same experiment, and share the work by `reducer`. Rank 0 alone has a run, reads its
/// checkpoint and writes its files: the same bytes for any number of processes. The others pass null. All stop when `stop` became
/// non-zero on one of them.
std::int64_t train(Experiment& experiment, const RunDirectory* run, const Listener& listener,
                   const volatile std::sig_atomic_t& stop, const GradientReducer& reducer = {});
inline std::int64_t train(Experiment& experiment, const RunDirectory& run, const Listener& listener,
                          const volatile std::sig_atomic_t& stop) {
  return train(experiment, &run, listener, stop);
}

}  // namespace heed
