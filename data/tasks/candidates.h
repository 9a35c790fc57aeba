#pragma once
#include <heed/data/task.h>
#include <heed/data/tasks/published.h>

namespace heed {

// Sentences with candidates, of a file in any of the forms of published.h or of read_jsonl(), which its first line shows.
// "winograd.tsv#en/original,fr/original" chooses sets of the first. Those of read_jsonl() may name an antecedent and a
// distractor instead. Error where some have neither.
std::vector<MarkedText> read_candidates(const std::string& file);

// Of several files, divided by commas; a part without "#" that begins as a set does belongs to the file before.
std::vector<MarkedText> read_all_candidates(const std::string& files);

// Without `test` (empty), a tenth of `train` is held out. Of subwords, about `vocabulary` are learned from the training
// sentences, unless they are `known`. Held-out sentences that are in the training set, too, are left out and counted, and
// those of which two candidates are the same tokens ("fiction" found in "non-fiction").
Task candidates_task(const std::string& train, const std::string& test, Split split, int vocabulary,
                     const Random& random, const std::optional<Subwords>& known = {});

// The texts cut into examples, but for those of which two candidates become the same tokens; Error that names the number of
// one that cannot be cut.
std::vector<Example> cut_all(const std::vector<MarkedText>& texts, const Tokenizer& tokenizer);

// Candidates of each example that has none: its antecedent and its distractor, as they stand in the text. Error for an
// example without either.
void name_candidates(std::vector<Example>& examples);

}  // namespace heed
