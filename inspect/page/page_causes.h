#pragma once
#include "inspect/progress.h"
#include "tokenizers/internal/json.h"

#include <heed/models/reading.h>

#include <filesystem>

namespace heed {

/// Adds the effects of interventions on the model's answers to a run's description: "causes" and, if models of several steps
/// were kept, "history". Adds the reason as "causes_missing" if they cannot be measured, and for a language model if no
/// `limit` of held-out sentences is given.
void add_causes(Json& description, const Model& model, const std::filesystem::path& run, int limit,
                const OnProgress& progress);

/// Adds the report on held-out sentences, "card", for a model that chooses among candidates.
void add_card(Json& description, const Model& model, const std::filesystem::path& run);

}  // namespace heed
