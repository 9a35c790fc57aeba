#pragma once
#include <heed/explain/circuits/circuit_study.h>

#include <cstddef>
#include <vector>

namespace heed {

/// Returns the main path of a circuit, from the embedding to the logits, as indices in CircuitStudy::edges. Of all paths whose edges
/// survive and have a positive effect, it is the one whose smallest effect is the largest; of several the shortest. Empty: there is
/// none.
///
///     for (const std::size_t i : main_path(study)) fmt::print("{}\n", study.edges[i].name);
std::vector<std::size_t> main_path(const CircuitStudy& study);

}  // namespace heed
