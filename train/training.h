#pragma once
#include "run/run_directory.h"
#include "train/evaluation.h"
#include "train/experiment.h"

#include <heed/distributed/communicator.h>

#include <csignal>
#include <functional>

namespace heed {

// What a person hears of a run while it goes on.
struct Listener {
  std::function<void(std::int64_t step, double loss)> on_step;
  std::function<void(std::int64_t step, double train_loss, const Evaluation&)> on_evaluation;
  std::function<void(std::int64_t step)> on_begin = {};  // before anything is written: the steps already taken
};

// Trains `experiment` from where the run is to its last step, and writes the run's files on the way. Returns the
// steps that are done, the last with its evaluation: fewer than configured when `stop` became non-zero, and then all is saved
// for a resumption.
// Error for a loss or gradient that is not finite: names the step and the first bad tensor, keeps the last good state.
std::int64_t train(Experiment& experiment, const RunDirectory& run, const Listener& listener,
                   const volatile std::sig_atomic_t& stop);

/// Trains as above on several processes, each with the same experiment: they share each step's micro-batches and each
/// evaluation's batches. Rank 0 alone has a run, reads its checkpoint and writes its files: the same bytes for any number of
/// processes. All stop when `stop` became non-zero on one of them.
std::int64_t train(Experiment& experiment, const RunDirectory* run, const Listener& listener,
                   const volatile std::sig_atomic_t& stop, const Communicator& processes);

}  // namespace heed
