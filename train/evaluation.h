#pragma once
#include "run/metrics.h"

#include <heed/data/task.h>
#include <heed/distributed/communicator.h>
#include <heed/models/model.h>

#include <functional>

namespace heed {

// `between`, where there is one, is called between batches; what it throws ends the evaluation.
using BetweenBatches = std::function<void()>;

/// Thrown by an evaluation that `between` ended on another process.
struct Interrupted {};

// Several processes share the batches, and each gets the whole Evaluation, with the bits of one process.
Evaluation evaluate(const Model& model, const NumberedExamples& examples, const BetweenBatches& between = {},
                    const Communicator& processes = {});

// Windows of so many tokens of so large a vocabulary that are evaluated at once.
std::int64_t windows_at_once(std::int64_t context, std::int64_t vocabulary);

/// Evaluates on the whole held-out corpus: each token, or each masked one, is predicted once from its window.
Evaluation evaluate(const Model& model, const Corpus& corpus, const BetweenBatches& between = {},
                    const Communicator& processes = {});

}  // namespace heed
