#pragma once
#include <heed/explain/circuits/circuit_study.h>

#include <cstddef>
#include <vector>

namespace heed {

/// Returns the main path of a circuit, from the embedding to the logits, as indices in CircuitStudy::edges: the path of edges that
/// survive and have positive effects whose smallest effect is the largest, and the shortest of several such paths. Returns an empty
/// list when there is none.
///
///     for (const std::size_t i : main_path(study)) fmt::print("{}\n", study.edges[i].name);
std::vector<std::size_t> main_path(const CircuitStudy& study);

}  // namespace heed
