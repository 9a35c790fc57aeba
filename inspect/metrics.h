#pragma once
#include "nn/json.h"

#include <filesystem>

namespace heed {

// The lines of RUN/metrics.jsonl, one an evaluation; none where there is no such file. Error naming a line that is no JSON
// object with a "step".
std::vector<Json> read_metrics(const std::filesystem::path& run);

}  // namespace heed
