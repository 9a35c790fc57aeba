#pragma once
#include "run/dump.h"
#include "tokenizers/internal/json.h"

#include <heed/explain/progress.h>
#include <heed/explain/score_parts.h>
#include <heed/formats/saved_model.h>

#include <filesystem>
#include <string>
#include <vector>

namespace heed {

/// Adds to a description what the first view shows of a model: "causal", "masked", "kv_heads", and per sentence
///   "next": [[answer, probability], ...], the ten most probable answers at the query, for answers that are words
///   "bits": [null, 3.2, ...], -log2 of the probability of each token given those before it, for a language model
/// `examples` are the sentences as the model reads them.
void add_predictions(Json& description, const Model& model, const std::vector<Example>& examples);

/// Returns the head that the page shows first: the one that points, if the antecedent is known. Otherwise the head with the
/// largest telling_weight().
ScoredHead telling_head(const SentenceAttention& sentence);

/// Returns [previous-token score, induction score] per head of a snapshot (head_scores()), [layer][head]. Unknown scores are
/// null.
Json head_scores_of(const Dump& dump);

/// Adds "repeated", the scores of inspect induction (repeated_json()) with the model's "step", for a model that predicts
/// tokens, if watched sentences have an antecedent. Adds nothing for a model that reads too few tokens (reads_repeats()).
void add_repeated_scores(Json& description, const Model& model, const OnProgress& progress = {});

/// Title and description of a page, for link previews.
struct PageHeading {
  std::string title, description;
};
PageHeading heading_of(const Json& descriptions);

/// Returns the seed in a run's config.yaml; "" if it is missing.
std::string seed_of(const std::filesystem::path& run);

}  // namespace heed
