#pragma once
#include <heed/explain/pairs.h>
#include <heed/explain/studies/cause_history.h>
#include <heed/explain/studies/causes.h>
#include <heed/explain/studies/matched_heads.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

// Runs the studies of explain/ on the models and sentences of run directories.
namespace heed {

/// Reads held_out.jsonl of a run. Throws Error if it is missing.
std::vector<Example> read_held_out(const std::filesystem::path& run);

/// Reads the sentences of a file.
using ReadSentences = std::function<std::vector<Example>(const std::string& file)>;

/// Returns how many of `tested` a run was trained on, by the files of sentences (JSONL) that its data.train names and that exist.
/// `read` reads them as `tested` was read.
std::int64_t count_learned(const std::filesystem::path& run, const std::vector<Example>& tested,
                           const ReadSentences& read);

constexpr std::size_t max_run_pairs = 100;  ///< minimal pairs that a run's circuit is found on, unless asked otherwise

/// Measures the causes of the answers to the held-out sentences of the run of `model`, and attributes the answers to the
/// watched sentences of its last snapshot. Throws Error if the sentences are missing or belong to another model.
Causes causes(const Model& model, const std::filesystem::path& run, const StudyOptions& options = {},
              Heads among = {-1, -1});

/// Returns the minimal pairs among the sentences that the run of `model` held out, each in both directions. Throws Error if it has none;
/// the message says how `command` takes pairs of a file.
std::vector<TextPair> held_out_pairs(const Model& model, const std::filesystem::path& run, const char* command);

/// Keeps some pairs, evenly from first to last: `most`, or when that is 0, as many as restored() measures in about a minute on one
/// core, and at least 100.
void keep_some(std::vector<TextPair>& pairs, int most, const Model& model);

/// Measures the history of a run that keeps its models (dump.weights). Throws Error if the run kept none.
CauseHistory cause_history(const std::filesystem::path& run, const StudyOptions& options = {});

/// Matches the heads of several runs, on the sentences of `test` or, without it, on those that they held out.
MatchedHeads match_heads(const std::vector<std::filesystem::path>& runs, const StudyOptions& options = {},
                         const std::string& test = "");

/// Reads the sentences of `file` (formats/datasets/candidates.h), tokenised for the model. Without a file, returns the held-out
/// sentences of the run.
std::vector<Example> report_sentences(const Model& model, const std::filesystem::path& run,
                                      const std::string& file = "");

}  // namespace heed
