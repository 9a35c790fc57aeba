#pragma once
#include "run/internal/run_directory.h"
#include "train/experiment.h"

#include <heed/distributed/communicator.h>
#include <heed/optim/gradient_reducer.h>

namespace heed {

/// Throws Error, on all processes, when one of them has another version of heed, other kernels, another configuration, other
/// data or other first weights than rank 0: it names that rank and says what differs.
void check_same(const Experiment& experiment, const Communicator& processes);

/// Gives all processes the weights, their mean and the progress that rank 0 has loaded from a checkpoint.
void share_checkpoint(const GradientReducer& reducer, const Parameters& parameters, WeightAverage& average,
                      Progress& progress);

}  // namespace heed
