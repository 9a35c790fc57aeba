#pragma once
#include <heed/explain/circuits/circuit_study.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace heed {

/// A part of a circuit: its edges that are still on a path from the embedding to the logits when others are removed.
struct CircuitPart {
  std::vector<int> edges{};  ///< indices in CircuitStudy::edges, ascending
  Interval faithfulness{};   ///< on the held-out half, as that of CircuitStudy::circuit
  Interval right{};          ///< share of the held-out pairs whose right answer is the more probable one
};

constexpr std::size_t default_circuit_parts = 100;  ///< of circuit_parts()

/// Measures what is left of a circuit behind removals: of one edge or one node, then of two, and so on, the strongest first, up to
/// `most` different parts. A node is removed by its edges to others. The circuit itself is the first part.
///
///     const PairTask task(model, pairs);
///     const CircuitStudy study = circuit_study(task.task());
///     const std::vector<CircuitPart> parts = circuit_parts(task.task(), study);
std::vector<CircuitPart> circuit_parts(const CircuitTask& task, const CircuitStudy& study,
                                       std::size_t most = default_circuit_parts);

/// Measures the part of a circuit that is left without some edges ("layer 1 head 2 -> logits") and nodes ("layer 1 head 2"). Throws
/// `Error` for a name that is not of the circuit.
CircuitPart circuit_without(const CircuitTask& task, const CircuitStudy& study, std::span<const std::string> names);

}  // namespace heed
