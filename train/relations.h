#pragma once
#include "train/evaluation.h"

#include <string>

namespace heed {

// A kind of question among a set of examples, and how well it is answered.
struct Relation {
  std::string name;
  Evaluation evaluation;
};

// In the order of their first examples.
std::vector<Relation> evaluate_relations(const Model& model, const Vocabulary& vocabulary,
                                         const std::vector<Example>& examples);

// Which head learned which: for each relation the mean weight from query to antecedent of every head, a star at the
// largest, and the fraction answered right. One row a head.
std::string relations_table(const std::vector<Relation>& relations);

// Fewer than two relations leave nothing to compare.
bool has_relations(const std::vector<Example>& examples);

}  // namespace heed
