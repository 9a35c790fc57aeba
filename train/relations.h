#pragma once
#include "views/terminal.h"

#include <heed/explain/evaluation.h>

#include <string>

namespace heed {

/// A kind of question in a set of examples, and the evaluation on its examples.
struct Relation {
  std::string name;
  Evaluation evaluation;
};

/// Evaluates each relation, in the order of their first examples.
std::vector<Relation> evaluate_relations(const Model& model, const std::vector<Example>& examples);

/// Returns a table of which head learned which relation. It has a row for each head with the mean weight from query to
/// antecedent for each relation, and a star at the relation's largest. The last row has the share of right answers.
std::string relations_table(const std::vector<Relation>& relations, const Terminal& terminal);

/// Returns whether the examples have at least two relations, which can be compared.
bool has_relations(const std::vector<Example>& examples);

}  // namespace heed
