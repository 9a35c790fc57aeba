#pragma once
#include "data/task.h"
#include "nn/reader.h"

namespace heed {

// How well a model reads a set of examples.
struct Evaluation {
  double loss = 0;           // mean cross-entropy, nats
  double accuracy = 0;       // fraction answered right
  double twin_accuracy = 0;  // fraction of twins with both answered right; NaN when no example has a twin
  // Mean attention weight from the query to the antecedent, [layer][head], over the examples that have one.
  std::vector<std::vector<double>> antecedent_weight;

  double best_last_head() const;  // the largest of the last layer; NaN when there is none
};

Evaluation evaluate(const Reader& reader, const NumberedExamples& examples);

}  // namespace heed
