#pragma once
#include <heed/explain/studies/cause_history.h>
#include <heed/explain/studies/causes.h>
#include <heed/explain/studies/matched_heads.h>

#include <filesystem>
#include <string>
#include <vector>

// The studies of explain/, with the models and sentences of run directories.
namespace heed {

/// Returns held_out.jsonl of a run. Throws Error where it is missing.
std::vector<Example> read_held_out(const std::filesystem::path& run);

/// Measures the causes of the answers to the held-out sentences of the run that `model` is of, and takes the answers to the
/// watched sentences of its last snapshot apart. Throws Error where these are missing, or of another model.
Causes causes(const SavedModel& model, const std::filesystem::path& run, int most = 0, const OnProgress& progress = {});

/// Measures the history of a run that keeps its models (dump.weights). Throws Error for a run that kept none.
CauseHistory cause_history(const std::filesystem::path& run, int most = 0, const OnProgress& progress = {});

/// Matches the heads of several runs.
MatchedHeads match_heads(const std::vector<std::filesystem::path>& runs, int most = 0, const OnProgress& progress = {});

/// Returns the sentences of `file` (data/tasks/candidates.h), cut as the model reads them; without a file the held-out
/// sentences of the run.
std::vector<Example> report_sentences(const SavedModel& model, const std::filesystem::path& run,
                                      const std::string& file = "");

}  // namespace heed
