#pragma once
#include "run/metrics.h"

#include <heed/data/task.h>
#include <heed/nn/reader.h>

#include <functional>

namespace heed {

// `between`, where there is one, is called between batches; what it throws ends the evaluation.
using BetweenBatches = std::function<void()>;
Evaluation evaluate(const Reader& reader, const NumberedExamples& examples, const BetweenBatches& between = {});

// Windows of so many tokens of so large a vocabulary that are evaluated at once.
std::int64_t windows_at_once(std::int64_t context, std::int64_t vocabulary);

// On the whole of the held-out corpus, each token predicted from those before it in its window.
Evaluation evaluate(const Reader& reader, const Corpus& corpus, const BetweenBatches& between = {});

}  // namespace heed
