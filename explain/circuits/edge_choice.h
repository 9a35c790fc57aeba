#pragma once
#include <heed/autograd/enum_names.h>
#include <heed/explain/circuits/graph.h>

#include <limits>
#include <span>
#include <vector>

namespace heed {

/// In which order edges join a circuit.
enum class EdgeChoice {
  greedy,  ///< from the logits on: the strongest edge among those that lead to nodes of the circuit (Hanna et al. 2024)
  threshold  ///< the strongest of all
};
template <>
inline constexpr EnumName<EdgeChoice> enum_names<EdgeChoice>[] = {{EdgeChoice::greedy, "greedy"},
                                                                  {EdgeChoice::threshold, "threshold"}};

/// Returns the edges in the order in which they join a circuit, all or the first `most`; strength is the absolute effect. Equal edges
/// join in the order of the graph.
std::vector<int> edges_by_strength(const CircuitGraph& graph, std::span<const double> effects,
                                   EdgeChoice choice = EdgeChoice::greedy,
                                   std::size_t most = std::numeric_limits<std::size_t>::max());

/// Returns the circuit of the first `count` edges of an order, without those on no path from the embedding to the logits: one flag
/// per edge.
///
///     const std::vector<int> order = edges_by_strength(graph, effects);
///     const std::vector<bool> circuit = first_edges(graph, order, 20);
std::vector<bool> first_edges(const CircuitGraph& graph, std::span<const int> order, std::size_t count);

}  // namespace heed
