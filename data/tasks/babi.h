#pragma once
#include <heed/data/task.h>

#include <filesystem>

namespace heed {

// Stories in the format of the bAbI tasks (Weston et al. 2015, arXiv:1502.05698): lines "ID statement." and
// "ID question?<tab>answer<tab>IDs of the supporting statements"; ID 1 begins a story. One example a
// question: the story's statements so far, then the question, whose last word (it asks about Mary) is the query;
// `sentences` counts statements back from the question (0); the antecedent is the answer's word in the last supporting
// statement that has it; the relation is the file's name up to "_" ("qa11"). Error with every mistake of the file, by
// line.
std::vector<std::vector<Example>> read_babi(const std::filesystem::path& path);  // by story

// `train` and `test` are lists of paths, divided by commas. Without `test` (empty), a tenth of the stories is
// held out.
Task babi_task(const std::string& train, const std::string& test, const Random& random);

}  // namespace heed
