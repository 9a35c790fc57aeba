#include <heed/explain/circuits/edge_choice.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>

namespace heed {

std::vector<int> edges_by_strength(const CircuitGraph& graph, std::span<const double> effects, EdgeChoice choice,
                                   std::size_t most) {
  const std::size_t E = graph.edges().size();
  if (effects.size() != E) fail("edges_by_strength: expected {} effects, got {}", E, effects.size());
  // Whether edge a joins after edge b.
  const auto joins_after = [&](int a, int b) {
    const double strength = std::abs(effects[static_cast<std::size_t>(a)]);
    const double other = std::abs(effects[static_cast<std::size_t>(b)]);
    return strength != other ? strength < other : a > b;
  };
  std::vector<int> order;
  std::vector<bool> has_joined(graph.nodes().size()), is_open(graph.inputs().size());
  std::priority_queue<int, std::vector<int>, decltype(joins_after)> open(joins_after);
  const auto open_inputs_of = [&](std::size_t node) {
    has_joined[node] = true;
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
      const CircuitInput& input = graph.inputs()[i];
      if (is_open[i] || std::ranges::count(input.nodes, static_cast<int>(node)) == 0) continue;
      is_open[i] = true;
      for (int from = input.sources.begin; from < input.sources.end; ++from) open.push(input.edge_from(from));
    }
  };
  for (std::size_t node = 0; node < has_joined.size(); ++node) {
    if (choice == EdgeChoice::threshold || node + 1 == has_joined.size()) open_inputs_of(node);
  }
  while (!open.empty() && order.size() < most) {
    const int edge = open.top();
    open.pop();
    order.push_back(edge);
    const auto from = static_cast<std::size_t>(graph.edges()[static_cast<std::size_t>(edge)].from);
    if (!has_joined[from]) open_inputs_of(from);
  }
  return order;
}

std::vector<bool> first_edges(const CircuitGraph& graph, std::span<const int> order, std::size_t count) {
  std::vector<bool> kept(graph.edges().size());
  for (const int edge : order.first(std::min(count, order.size()))) kept[static_cast<std::size_t>(edge)] = true;
  return graph.on_paths(kept);
}

}  // namespace heed
