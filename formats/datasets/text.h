#pragma once
#include <heed/formats/datasets/tokenized_task.h>

#include <optional>
#include <string>

namespace heed {

/// Makes a task of any text: predict each token from the tokens before it. `train` and `test` are paths of files,
/// separated by commas; with an empty `test` the last tenth of the text is held out. `held_out` of the result has
/// excerpts of up to 32 tokens, each with the next token as its answer. Throws Error for a file that cannot be read, is
/// not UTF-8 (except for bytes and subwords), or is shorter than `context`, and for a file of `test` that is one of `train`.
/// Split::subwords learns about so many subwords from the training part, unless a tokenizer with `known` tokens is given. Every window
/// of the corpus, and every excerpt, has the special tokens of a pretrained tokenizer's template.
TokenizedTask text_task(const std::string& train, const std::string& test, Split split, int context, int subwords = 0,
                        const std::optional<Tokenizer>& known = {});

/// Returns a text_task() for masked tokens: the vocabulary ends with `mask_token`, and the excerpts in `held_out` have
/// it at the query, with the hidden token as their answer. A pretrained tokenizer has a mask of its own; throws Error when it
/// has none.
TokenizedTask masked_text_task(const std::string& train, const std::string& test, Split split, int context,
                               int subwords = 0, const std::optional<Tokenizer>& known = {});

}  // namespace heed
