#pragma once
#include "inspect/command.h"
#include "run/dump.h"
#include "tokenizers/internal/json.h"

#include <heed/autograd/autocast.h>
#include <heed/explain/studies/study_options.h>
#include <heed/formats/saved_model.h>

#include <filesystem>
#include <istream>
#include <string>
#include <string_view>

// Options and files that several commands of `inspect` share.
namespace heed {

/// Adds the shared options listed in `names`: "step layer head json precision".
void add_shared(cxxopts::OptionAdder& options, std::string_view names);

/// Returns the last part of a path; of "." and "a/..", that of the directory that it is.
std::string last_part(const std::filesystem::path& path);

/// Returns the message for a path that does not exist, with how to make a run and where to download a model.
std::string no_such_run(std::string_view name, std::string_view kinds = "run or model");

/// Throws an error unless `path` is a run; the message says what `path` is.
void check_run(const std::filesystem::path& path);
/// Throws Error for a run that is given twice: it would count as two observations.
void check_different(const std::vector<std::filesystem::path>& runs);

/// Returns whether `run` is a directory with numbers alone, as Log writes them: without a model and snapshots.
bool has_numbers_alone(const std::filesystem::path& run);

/// Throws UsageError if --json is combined with --layer or --head, because --json prints every head.
void check_json_of_all_heads(const Request& request);

/// Returns --limit (at least 1), or 0 if it is absent.
int limit_of(const Request& request);

/// Returns the options of a study of the request's runs.
StudyOptions study_of(const Request& request);

/// Returns --language as page() takes it.
std::string language_of(const Request& request);

/// Returns --step. Throws UsageError if it is given twice.
std::optional<std::int64_t> step_of(const Request& request);

/// Returns the model of a step. Without a step, returns the last one. The matrices of a pretrained model stay in its files
/// (Loading::mapped). Adapters are merged unless asked otherwise.
Model model_of(const std::filesystem::path& run, const std::optional<std::int64_t>& step,
               const OnProgress& progress = {}, bool merged = true);

/// Returns --precision, or float32 if it is absent. Throws UsageError for int8 and a model without quantized weights that it reads.
Precision precision_of(const Request& request, const Model& model);

/// Returns the example for --sentence and --query, as `model` tokenises it.
Example example_of(const Request& request, const Model& model);

/// If a model splits words into pieces, decides whether the pieces are kept or merged into words.
enum class Tokens { words, pieces };

/// Returns the attention of a sentence that the model has read as `example`.
SentenceAttention attention_of(const Model& model, const Example& example, Tokens tokens);

/// Returns it as a snapshot of this one sentence.
Dump dump_of(const Model& model, const Example& example, Tokens tokens = Tokens::words);

/// Attention as the model names its tokens. The model is missing if it cannot be read, or if a snapshot's file was given alone.
struct Reading {
  Dump dump;
  std::optional<Model> model;
};

/// Returns the watched sentences of a step, or of the last one.
Reading reading_of(const std::filesystem::path& run, const std::optional<std::int64_t>& step);
/// Returns the attention for --sentence if it is given, otherwise for the watched sentences.
Reading reading_of(const Request& request, Tokens tokens = Tokens::words);

/// Keeps only the watched sentence that --probe selects, if it is given.
void choose_probe(const Request& request, Dump& dump);

/// Returns a callback that adds the run's name to each message: "causes of runs/toy".
OnProgress of_run(const std::filesystem::path& run, const OnProgress& progress);

/// Returns the value with U+FFFD in place of bytes that are not UTF-8, which tokens of bytes may leave and JSON cannot hold.
Json utf8_json(const Json& value);

/// Returns the value as JSON on one line.
std::string json_line(const Json& value);

/// A number that must not be followed by other text. cxxopts would read "0,8" as 0.
struct Decimal {
  double value = 0;
};
std::istream& operator>>(std::istream& in, Decimal& number);

}  // namespace heed
