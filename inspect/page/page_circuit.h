#pragma once
#include "tokenizers/internal/json.h"

#include <heed/explain/progress.h>
#include <heed/models/model.h>

#include <filesystem>

namespace heed {

/// Adds the circuit of a run's held-out minimal pairs, "circuit", and what removals leave of it; or "circuit_missing", the reason
/// if it cannot be found in seconds. Adds nothing for a run without minimal pairs.
void add_circuit(Json& description, const Model& model, const std::filesystem::path& run, const OnProgress& progress);

}  // namespace heed
