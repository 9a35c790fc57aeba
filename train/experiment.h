#pragma once
#include "run/metrics.h"
#include "train/config/config.h"
#include "train/memory.h"
#include "train/warm_start.h"

#include <heed/data/task.h>
#include <heed/explain/evaluation.h>
#include <heed/models/reading.h>
#include <heed/optim/optimizer.h>
#include <heed/optim/schedule.h>

namespace heed {

/// The task, the model with its first weights, and the watched sentences that a configuration describes.
struct Experiment {
  Config config;
  TokenizedTask task;
  NumberedExamples examples, held_out;  // task.train and task.held_out as numbers
  Model model;
  std::vector<Example> watched;
  std::optional<WarmStart> begun_from;
  MemoryNeed memory;
};

/// Options of make_experiment().
struct ExperimentOptions {
  DType dtype = DType::float32;
  Values values = Values::drawn;  ///< none: the model has shapes only, which suffices for its size
  bool is_resumed = false;        ///< model.from is not read, since a checkpoint gives the weights
};

/// Makes the task that the configuration describes, from data.seed.
TokenizedTask make_task(const Config& config);

/// Returns the number of elements of the parameters that are not frozen.
std::int64_t trained_numel(const Parameters& parameters);

/// Makes the experiment. Throws Error for a task that cannot be made, a watched sentence with words that the task
/// does not have, or a model.from that does not fit. Also throws Error, before it allocates the model, when training needs more
/// memory than the machine has.
Experiment make_experiment(const Config& config, const ExperimentOptions& options = {});

/// Returns the options of the optimiser. With muon, parameters outside of the encoder, such as embeddings, get adamw.
OptimizerOptions optimizer_options(const Experiment& experiment);

/// Throws Error when training takes more memory than this process can have, as one of `processes`, of which `on_host` share
/// this host.
void check_memory(const Experiment& experiment, int processes = 1, int on_host = 1);

/// Returns the examples, or the windows, of training step `step` (from 0).
Batch training_batch(const Experiment& experiment, std::int64_t step);

/// Evaluates on the held-out set. For a corpus whose pieces have antecedents, the result includes the weights on them.
Evaluation evaluate(const Experiment& experiment, const BetweenBatches& between = {},
                    const GradientReducer& reducer = {});

}  // namespace heed
