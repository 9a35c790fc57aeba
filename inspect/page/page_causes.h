#pragma once
#include "files/json.h"
#include "inspect/progress.h"

#include <heed/models/reading.h>

#include <filesystem>

namespace heed {

/// Adds to a page's description of a run what interventions do to the model's answers: "causes" and, where models of several
/// steps were kept, "history". Adds "causes_missing", the reason, where they cannot be measured, and for a language model
/// unless a `limit` of held-out sentences is given.
void add_causes(Json& description, const SavedModel& model, const std::filesystem::path& run, int limit,
                const OnProgress& progress);

/// Adds the report on held-out sentences, "card", for a model that chooses among candidates.
void add_card(Json& description, const SavedModel& model, const std::filesystem::path& run);

}  // namespace heed
