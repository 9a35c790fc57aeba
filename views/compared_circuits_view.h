#pragma once
#include "tokenizers/internal/json.h"
#include "views/view.h"

#include <heed/explain/circuits/compared_circuits.h>

#include <string>

namespace heed {

/// Returns a line per model with its circuit, then the edges that they share: "in k of n".
std::string compared_circuits_view(const ComparedCircuits& compared, const View& view);
/// Returns {"models":[{"name":"seed-1","step":300,"study":{...}}],"found":3,"rows":[{"name":"...","circuits":3,...}]}.
Json compared_circuits_json(const ComparedCircuits& compared);

}  // namespace heed
