#pragma once
#include <heed/formats/datasets/published.h>
#include <heed/formats/datasets/tokenized_task.h>

namespace heed {

/// Reads sentences with candidates from a file in any format of published.h or read_jsonl(); the first line tells the
/// format. "winograd.tsv#en/original,fr/original" selects sets of the first format. Sentences of read_jsonl() may have
/// an antecedent and a distractor instead of candidates. Throws Error for sentences without either.
std::vector<MarkedText> read_candidates(const std::string& file);

/// Reads several files, separated by commas. A part without "#" that starts like a set name belongs to the file before
/// it.
std::vector<MarkedText> read_all_candidates(const std::string& files);

/// Makes the task. With an empty `test`, a part of `train` is held out, by default a tenth. Split::subwords learns about `vocabulary`
/// subwords from the training sentences, unless a tokenizer with `known` tokens is given. Held-out sentences that are also
/// in the training set are removed and counted, as are sentences in which two candidates have the same tokens ("fiction"
/// found in "non-fiction").
TokenizedTask candidates_task(const std::string& train, const std::string& test, Split split, int vocabulary,
                              const Random& random, const std::optional<Tokenizer>& known = {}, Fold fold = {});

/// Tokenizes the texts. Skips those in which two candidates get the same tokens. Throws Error with the number of a text
/// that cannot be tokenized.
std::vector<Example> cut_all(const std::vector<MarkedText>& texts, const Tokenizer& tokenizer);

/// Gives each example without candidates its antecedent and distractor as candidates, in text order. Throws Error for an
/// example without one of them.
void name_candidates(std::vector<Example>& examples);

}  // namespace heed
