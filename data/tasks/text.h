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

}  // namespace heed
