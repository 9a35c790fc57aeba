#pragma once
#include "run/metrics.h"

#include <heed/data/task.h>
#include <heed/models/model.h>
#include <heed/optim/gradient_reducer.h>

#include <functional>

namespace heed {

/// A callback between batches; may be empty. An exception that it throws ends the evaluation.
using BetweenBatches = std::function<void()>;

/// Thrown by an evaluation that `between` ended on another process.
struct Interrupted {};

/// Evaluates on `examples`. Several processes share the batches; each returns the whole Evaluation, bit-equal to that
/// of one process.
Evaluation evaluate(const Model& model, const NumberedExamples& examples, const BetweenBatches& between = {},
                    const GradientReducer& reducer = {});

/// Returns how many windows of `context` tokens are evaluated at once with a vocabulary of this size.
std::int64_t windows_at_once(std::int64_t context, std::int64_t vocabulary);

/// Evaluates on the whole held-out corpus: each token, or each masked one, is predicted once from its window.
Evaluation evaluate(const Model& model, const Corpus& corpus, const BetweenBatches& between = {},
                    const GradientReducer& reducer = {});

}  // namespace heed
