#pragma once
#include <heed/explain/circuits/circuit_study.h>

#include <string>
#include <vector>

namespace heed {

/// The circuits of several models of one shape: of training seeds, or of the steps of a run.
///
///     const ComparedCircuits seeds = compare_circuits({{"seed 1", 300, first}, {"seed 2", 300, second}},
///                                                ComparedCircuits::SameHeads::of_layer);
///     for (const auto& row : seeds.rows) fmt::print("{} in {} of {}\n", row.name, row.circuits, seeds.found);
struct ComparedCircuits {
  /// Which edges count as the same. Heads of a layer have no order, so the one that does a task differs from seed to seed.
  enum class SameHeads {
    of_layer,  ///< edges of the same kind between the same layers, whichever their heads
    by_number  ///< edges between the same heads: of the steps of a run
  };
  /// A model and its circuit.
  struct Model {
    std::string name;
    std::int64_t step = 0;
    CircuitStudy study{};
  };
  std::vector<Model> models;
  int found = 0;  ///< models with a circuit to report
  /// Edges that count as the same.
  struct Row {
    std::string name;   ///< "layer 1 head -> layer 2 head key"
    int circuits = 0;   ///< models whose circuit has such an edge
    int surviving = 0;  ///< models in which such an edge survives
    double effect = 0;  ///< mean over the models with such an edge, of the sum of their effects
  };
  std::vector<Row> rows;  ///< by number of models in which they survive
};

/// Returns a name of an edge or a node without the numbers of heads: "layer 1 head -> layer 2 head key".
std::string without_heads(std::string name);

/// Compares the circuits of models; those without a circuit to report have no part in the rows.
ComparedCircuits compare_circuits(std::vector<ComparedCircuits::Model> models, ComparedCircuits::SameHeads same);

}  // namespace heed
