#pragma once
#include <heed/data/task.h>

#include <filesystem>

namespace heed {

// Annotated sentences, one object a line: {"tokens": ["The", "dog", ...], "query": 8, "antecedent": 1}, with
// optional "answer" (a word; tokens[antecedent] when absent; with it the antecedent may be absent), "other" (the token
// of the distractor), "decider" (one of the tokens), "relation" (a word), "twin" (the number, from 0, of the
// sentence that is this one but for the decider) and "sentences" (a number a token, counted back from the question's).
// With "candidates", [[0, 3], [4, 6]]: spans of tokens, the end not among them, "antecedent" is the number, from 0, of the
// one that is meant, or null: none of them; then there is no "answer" and no "other".
// Blank lines are skipped. Error with every mistake of the file, by line.
std::vector<Example> read_jsonl(const std::filesystem::path& path);

// A file that read_jsonl() reads as these very examples; whole or not at all, as write_file().
void write_jsonl(const std::filesystem::path& path, const std::vector<Example>& examples);

// `train` and `test` are lists of paths, divided by commas. Without `test` (empty), a tenth of `train` is held out. Twins
// are paired anew in each set.
Task jsonl_task(const std::string& train, const std::string& test, const Random& random);

}  // namespace heed
