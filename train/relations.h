#pragma once
#include "data/task.h"
#include "nn/reader.h"

#include <string>

namespace heed {

// Which head learned which kind of question: for each relation among `held_out`, the mean weight from query to
// antecedent of every head, a star at the largest, and the fraction answered right. One row a head.
std::string relations_table(const Reader& reader, const Vocabulary& vocabulary, const std::vector<Example>& held_out);

// Fewer than two relations leave nothing to compare.
bool has_relations(const std::vector<Example>& examples);

}  // namespace heed
