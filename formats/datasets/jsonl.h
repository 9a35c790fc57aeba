#pragma once
#include <heed/data/task.h>

#include <filesystem>

namespace heed {

/// Whether a token may hold white space, as subwords do. In a file of words it would never occur in typed sentences.
enum class Spaces { allowed, refused };

/// Reads annotated sentences, one object per line: {"tokens": ["The", "dog", ...], "query": 8, "antecedent": 1}.
/// Optional keys: "answer" (a word, default tokens[antecedent]; with it "antecedent" is optional), "other" (the token of
/// the distractor), "decider" (the cue word, one of the tokens), "relation" (a word), "twin" (the index, from 0, of the
/// counterpart, which differs only in the cue word) and "sentences" (one number per token, counted back from the
/// question's sentence). With "candidates", [[0, 3], [4, 6]] (spans of tokens, end exclusive), "antecedent" is the
/// index, from 0, of the correct one, or null for none of them; "answer" and "other" are then not allowed. Blank lines
/// are skipped. Throws Error with all mistakes of the file, by line.
std::vector<Example> read_jsonl(const std::filesystem::path& path, Spaces spaces = Spaces::allowed);

/// Writes a file that read_jsonl() reads as exactly these examples; atomically, like write_file(). Throws
/// Error, before it writes, with all that read_jsonl() would refuse: a query beyond the tokens, a counterpart beyond the examples.
void write_jsonl(const std::filesystem::path& path, const std::vector<Example>& examples);

/// Makes the task. `train` and `test` are lists of paths, separated by commas. With an empty `test`, a part of `train`
/// is held out, by default a tenth. Minimal pairs are found again in each set.
Task jsonl_task(const std::string& train, const std::string& test, const Random& random, Fold fold = {});

}  // namespace heed
