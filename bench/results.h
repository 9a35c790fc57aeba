#pragma once
#include "files/json.h"

#include <filesystem>
#include <string>
#include <vector>

namespace heed::bench {

// A run of bench, as it is kept: {"processor": NAME, "vectors": "AVX2", "date": "2026-01-31", "threads": 2, "peers":
// {"PyTorch": VERSION}, "flops": RATE, "bytes": RATE, "rows": [measure()'s]}.

// What the system calls this machine's processor; "unknown processor" where it does not say.
std::string processor_name();

// DIR/PROCESSOR-DATE.json, the name in small letters and digits.
std::filesystem::path result_path(const std::filesystem::path& directory, const Json& run);

// Writes it there, each row on a line.
void keep(const std::filesystem::path& directory, const Json& run);

// All that are kept in `directory`, in the order of the files' names.
std::vector<Json> kept_in(const std::filesystem::path& directory);

// Of those kept in `directory` that are of `run`'s processor and of another date, the latest; null without one.
Json last_before(const std::filesystem::path& directory, const Json& run);

// How the rows of two runs differ in how many times as fast as its peer heed is, a line each; a difference is said to be
// more than noise where the quartiles of one are all beyond those of the other.
std::string changes(const Json& before, const Json& now);

// One Markdown table of several runs: a line for each of `rows`, {name in the results, name in the table}, and for each run
// heed's time and how many times as fast as the fastest of its peers heed is.
std::string table(const std::vector<Json>& runs, const std::vector<std::pair<std::string, std::string>>& rows);

// The rows that README shows.
const std::vector<std::pair<std::string, std::string>>& rows_of_readme();

}  // namespace heed::bench
