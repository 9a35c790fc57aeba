#pragma once
#include <heed/explain/circuits/compared_circuits.h>
#include <heed/explain/studies/matched_heads.h>

#include <string>
#include <vector>

namespace heed {

/// Edges between heads that do the same in models of several seeds. match_heads() assigns each head of a model one of the reference;
/// it looks at weights and ablations alone, so that it does not know which edges are in a circuit.
///
///     const ComparedCircuits seeds = compare_circuits(models, ComparedCircuits::SameHeads::of_layer);
///     const MatchedCircuits matched = matched_circuits(seeds, match_heads(runs));
///     for (const auto& row : matched.rows) fmt::print("{} in {}, by chance {:.1f}\n", row.name, row.circuits, row.by_chance);
struct MatchedCircuits {
  std::string reference{};            ///< the run whose heads name the edges
  double similarity = 0, random = 0;  ///< as in MatchedHeads, over all heads
  /// Edges between heads that do the same.
  struct Row : ComparedCircuits::Row {
    /// Expected number of circuits with this edge if the heads of each layer were matched at random. NaN: a head of the edge
    /// is like one of another layer ("layer 1 head ?"), or several heads share its keys and values.
    double by_chance = 0;
  };
  std::vector<Row> rows{};  ///< by number of models in which they survive
};

/// Matches the edges of circuits. `heads` are of the same models in the same order. Throws `Error` for another number of models.
MatchedCircuits matched_circuits(const ComparedCircuits& compared, const MatchedHeads& heads);

}  // namespace heed
