#pragma once
#include "tokenizers/internal/json.h"

#include <filesystem>
#include <string>
#include <vector>

namespace heed::bench {

// A stored run of bench: {"processor": NAME, "vectors": "AVX2", "date": "2026-01-31", "threads": 2, "peers":
// {"PyTorch": VERSION}, "flops": RATE, "bytes": RATE, "rows": [measure()'s]}.

// Returns the system's name for this machine's processor, or "unknown processor".
std::string processor_name();

// Returns DIR/PROCESSOR-DATE.json, with the name in lower-case letters and digits.
std::filesystem::path result_path(const std::filesystem::path& directory, const Json& run);

// Writes the run there, one row per line.
void keep(const std::filesystem::path& directory, const Json& run);

// Returns all runs in `directory`, in the order of the file names.
std::vector<Json> kept_in(const std::filesystem::path& directory);

// Returns the latest run of the same processor and another date, or null.
Json last_before(const std::filesystem::path& directory, const Json& run);

// Compares the speed relative to the fastest peer in two runs, one line per row. A difference is marked as more than
// noise when the quartile ranges of both runs are disjoint.
std::string changes(const Json& before, const Json& now);

// Returns one Markdown table of several runs: a line for each of `rows`, {name in the results, name in the table}, with
// heed's time and its speed relative to the fastest peer for each run.
std::string table(const std::vector<Json>& runs, const std::vector<std::pair<std::string, std::string>>& rows);

// The rows in README.
const std::vector<std::pair<std::string, std::string>>& rows_of_readme();

}  // namespace heed::bench
