#pragma once
#include "run/metrics.h"
#include "train/config/config.h"
#include "train/evaluation.h"
#include "train/memory.h"
#include "train/warm_start.h"

#include <heed/data/task.h>
#include <heed/models/reading.h>
#include <heed/optim/optimizer.h>
#include <heed/optim/schedule.h>

namespace heed {

// What a configuration describes: its task, its model with first weights, its sentences to watch.
struct Experiment {
  Config config;
  Task task;
  NumberedExamples examples, held_out;  // task.train and task.held_out, in numbers
  SavedModel model;
  std::vector<Example> watched;
  std::optional<WarmStart> begun_from;
  MemoryNeed memory;
};

enum class Resumed { no, yes };  // yes: the weights are those of a checkpoint, whatever the run began with

// Error for a task that cannot be made, a probe with words that the task does not have, a model to begin from that does
// not fit, or, before any of it is allocated, more than the machine's memory.
// With Values::none the model is shapes alone, for whoever asks about its size.
Experiment make_experiment(const Config& config, DType dtype = DType::float32, Resumed resumed = Resumed::no,
                           Values values = Values::drawn);

/// Throws Error when training takes more memory than this process can have, as one of several equal ones on this host.
void check_memory(const Experiment& experiment, int processes_on_host = 1);

// The examples, or the windows, of training step `step` (from 0).
Batch training_batch(const Experiment& experiment, std::int64_t step);

// On what it does not learn from. Of a corpus whose pieces have antecedents, with the weights on those.
Evaluation evaluate(const Experiment& experiment, const BetweenBatches& between = {},
                    const Communicator& processes = {});

// Without a question: what is predicted is `next`.
Batch batch_of(Windows windows);

}  // namespace heed
