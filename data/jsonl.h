#pragma once
#include "data/task.h"

#include <filesystem>

namespace heed {

// Annotated sentences, one object a line: {"tokens": ["The", "dog", ...], "query": 8, "antecedent": 1}, with
// optional "answer" (a word; tokens[antecedent] when absent), "relation" (a word) and "sentences" (a number a
// token, counted back from the question's). Blank lines are skipped. Error with every mistake of the file, by
// line.
std::vector<Example> read_jsonl(const std::filesystem::path& path);

// Without `test` (empty), a tenth of `train` is held out.
Task jsonl_task(const std::filesystem::path& train, const std::filesystem::path& test, const Random& random);

}  // namespace heed
