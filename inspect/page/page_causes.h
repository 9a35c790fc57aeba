#pragma once
#include "inspect/progress.h"
#include "tokenizers/internal/json.h"

#include <heed/models/reading.h>

#include <filesystem>
#include <functional>
#include <string>

namespace heed {

/// Runs `measure`. Returns "", or the reason if the run does not support the measurement. Numbers that are not finite, unreadable
/// files and lack of memory are errors of the page.
std::string refused(const std::function<void()>& measure);

/// Adds the effects of interventions on the model's answers to a run's description: "causes" and, if models of several steps
/// were kept, "history"; if there are enough minimal pairs, "restored", how much each of their activations restores, by kind of pair. Adds
/// the reason as "causes_missing" if they cannot be measured, and for a language model if no `limit` of held-out sentences is given.
void add_causes(Json& description, const Model& model, const std::filesystem::path& run, int limit,
                const OnProgress& progress);

/// Adds the report on held-out sentences, "card", for a model that chooses among candidates.
void add_card(Json& description, const Model& model, const std::filesystem::path& run);

}  // namespace heed
