#pragma once
#include "files/json.h"

#include <heed/explain/score_parts.h>

namespace heed {

/// Returns the parts of a score as JSON. Layers, heads and tokens count from 0.
Json score_parts_json(const ScoreParts& parts);

}  // namespace heed
