#pragma once
#include "run/metrics.h"

#include <heed/data/task.h>
#include <heed/nn/reader.h>

namespace heed {

Evaluation evaluate(const Reader& reader, const NumberedExamples& examples);

// On the whole of the held-out corpus, each token predicted from those before it in its window.
Evaluation evaluate(const Reader& reader, const Corpus& corpus);

}  // namespace heed
