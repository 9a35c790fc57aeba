#pragma once
#include <heed/data/subwords.h>
#include <heed/data/task.h>

#include <optional>
#include <string>

namespace heed {

// Any text, to predict each token from those before. `train` and `test` are paths of files, several divided by commas;
// without `test` the last tenth of the text is held out. `held_out` of the result are pieces of up to 32 tokens, each with
// the token that comes next as its answer. Error for a file that cannot be read, is not UTF-8 (but for bytes and subwords), or is
// shorter than `context`. Of Split::subwords about so many are learned from what is not held out, unless they are `known`.
Task text_task(const std::string& train, const std::string& test, Split split, int context, int subwords = 0,
               const std::optional<Subwords>& known = {});

/// The token that hides another in masked text, and that asks for a prediction in a sentence.
inline constexpr const char* mask_token = "<mask>";

/// Returns a text_task() whose tokens are predicted where they are hidden: the vocabulary ends with `mask_token`, and the pieces
/// of `held_out` have it at the query, with the hidden token as their answer.
Task masked_text_task(const std::string& train, const std::string& test, Split split, int context, int subwords = 0,
                      const std::optional<Subwords>& known = {});

}  // namespace heed
