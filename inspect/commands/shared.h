#pragma once
#include "files/json.h"
#include "inspect/command.h"
#include "run/dump.h"

#include <heed/models/formats/saved_model.h>

#include <filesystem>
#include <istream>
#include <string>
#include <string_view>

// Options and files that several commands of `inspect` share.
namespace heed {

/// Adds those of the options that several commands share which `names` lists: "step layer head json".
void add_shared(cxxopts::OptionAdder& options, std::string_view names);

/// Throws an error that says what `path` is where it is no run.
void check_run(const std::filesystem::path& path);

/// Throws UsageError unless --layer and --head are absent where --json prints every head.
void check_json_of_all_heads(const Request& request);

/// Returns --limit, at least 1; 0 where it is absent.
int limit_of(const Request& request);

/// Returns --step. Throws UsageError where it is given twice.
std::optional<std::int64_t> step_of(const Request& request);

/// Returns the model or the snapshot of the attention of a step; the last one without a step.
SavedModel model_of(const std::filesystem::path& run, const std::optional<std::int64_t>& step);
Dump dump_of(const std::filesystem::path& run, const std::optional<std::int64_t>& step);

/// Returns the example that `model` reads for --sentence and --query.
Example example_of(const Request& request, const SavedModel& model);

/// Returns the attention that is asked about: of --sentence, or of the watched sentences. A sentence that the model reads in
/// pieces of words keeps these, or is joined to words.
enum class Tokens { words, pieces };
Dump attention_of(const Request& request, Tokens tokens = Tokens::words);

/// Leaves the watched sentence of --probe alone, where that is given.
void choose_probe(const Request& request, Dump& dump);

/// Returns `progress` with the run's name: "causes of runs/toy".
OnProgress of_run(const std::filesystem::path& run, const OnProgress& progress);

/// Returns the value as one line.
std::string json_line(const Json& value);

/// A number with nothing behind it: cxxopts would read "0,8" as 0.
struct Decimal {
  double value = 0;
};
std::istream& operator>>(std::istream& in, Decimal& number);

}  // namespace heed
