#pragma once
#include <heed/data/task.h>

#include <filesystem>

namespace heed {

/// Reads stories in the format of the bAbI tasks (Weston et al. 2015, arXiv:1502.05698): lines "ID statement." and "ID
/// question?<tab>answer<tab>IDs of the supporting statements"; ID 1 starts a story. Each question gives one example: the
/// story's statements so far, then the question, whose last word ("Mary" in a question about her) is the query.
/// `sentences` counts statements back from the question (0). The antecedent is the answer's word in the last supporting
/// statement that contains it. The relation is the file name up to "_" ("qa11"). Throws Error with all mistakes of the
/// file, by line.
std::vector<std::vector<Example>> read_babi(const std::filesystem::path& path);  ///< grouped by story

/// Makes the task. `train` and `test` are lists of paths, separated by commas. With an empty `test`, a part of the
/// stories is held out, by default a tenth.
Task babi_task(const std::string& train, const std::string& test, const Random& random, Fold fold = {});

}  // namespace heed
