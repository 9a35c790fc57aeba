#pragma once
#include "run/metrics.h"

#include <heed/data/task.h>
#include <heed/nn/reader.h>

namespace heed {

Evaluation evaluate(const Reader& reader, const NumberedExamples& examples);

}  // namespace heed
