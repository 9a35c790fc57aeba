#include <heed/explain/circuits/circuit_parts.h>
#include <heed/explain/circuits/pair_halves.h>

#include <algorithm>
#include <set>
#include <string_view>

namespace heed {
namespace {

using Removal = std::vector<int>;  // indices in CircuitStudy::edges

std::string_view node_of(const CircuitStudy::Edge& edge) {
  return std::string_view(edge.name).substr(0, edge.name.find(" -> "));
}

// Returns the edges of the circuit that a name means: one edge, or those from a node.
Removal named(const CircuitStudy& study, std::string_view name) {
  Removal found;
  for (std::size_t i = 0; i < study.edges.size(); ++i) {
    const CircuitStudy::Edge& edge = study.edges[i];
    if (edge.in_circuit && (edge.name == name || node_of(edge) == name)) found.push_back(static_cast<int>(i));
  }
  return found;
}

// Returns the edges of `part` that stay on a path without those of `removal`.
std::vector<int> without(const CircuitGraph& graph, const CircuitStudy& study, const std::vector<int>& part,
                         const Removal& removal) {
  std::vector<bool> kept(graph.edges().size());
  const auto number = [&](int i) { return static_cast<std::size_t>(study.edges[static_cast<std::size_t>(i)].edge); };
  for (const int i : part) kept[number(i)] = std::ranges::find(removal, i) == removal.end();
  const std::vector<bool> left = graph.on_paths(kept);
  std::vector<int> result;
  std::ranges::copy_if(part, std::back_inserter(result), [&](int i) { return left[number(i)]; });
  return result;
}

std::vector<int> whole(const CircuitStudy& study) {
  std::vector<int> edges;
  for (std::size_t i = 0; i < study.edges.size(); ++i) {
    if (study.edges[i].in_circuit) edges.push_back(static_cast<int>(i));
  }
  return edges;
}

std::vector<CircuitPart> measured(const CircuitTask& task, const CircuitStudy& study,
                                  const std::vector<std::vector<int>>& parts) {
  std::vector<std::vector<bool>> circuits;
  for (const std::vector<int>& part : parts) {
    circuits.emplace_back(task.graph.edges().size());
    for (const int i : part) {
      circuits.back()[static_cast<std::size_t>(study.edges[static_cast<std::size_t>(i)].edge)] = true;
    }
  }
  const auto values = task.measure(circuits, study.held_out_pairs);
  std::vector<double> lost;
  for (const std::size_t pair : study.held_out_pairs) {
    lost.push_back(task.clean[pair] - task.corrupted[pair]);
  }
  std::vector<CircuitPart> result;
  for (std::size_t c = 0; c < parts.size(); ++c) {
    const Interval right = share_above_0(values[c], study.held_out_observations);
    std::vector<double> recovered = values[c];
    for (std::size_t p = 0; p < recovered.size(); ++p) recovered[p] -= task.corrupted[study.held_out_pairs[p]];
    result.push_back({parts[c], ratio_interval(recovered, lost, study.held_out_observations), right});
  }
  return result;
}

}  // namespace

std::vector<CircuitPart> circuit_parts(const CircuitTask& task, const CircuitStudy& study, std::size_t most) {
  std::vector<std::vector<int>> parts{whole(study)};
  std::vector<Removal> removals;
  for (const int i : parts[0]) removals.push_back({i});
  for (const int i : parts[0]) removals.push_back(named(study, node_of(study.edges[static_cast<std::size_t>(i)])));
  std::set<std::vector<int>> seen{parts[0]};
  for (std::size_t next = 0; next < parts.size() && parts.size() < most; ++next) {
    for (const Removal& removal : removals) {
      std::vector<int> part = without(task.graph, study, parts[next], removal);
      if (parts.size() < most && seen.insert(part).second) parts.push_back(std::move(part));
    }
  }
  return measured(task, study, parts);
}

CircuitPart circuit_without(const CircuitTask& task, const CircuitStudy& study, std::span<const std::string> names) {
  Removal removal;
  for (const std::string& name : names) {
    const Removal found = named(study, name);
    if (found.empty()) {
      fail("circuit: expected an edge or a node of the circuit to remove, such as '{}' or '{}', got '{}'",
           study.edges.empty() ? "embedding -> logits" : study.edges[0].name,
           study.edges.empty() ? "embedding" : node_of(study.edges[0]), name);
    }
    removal.insert(removal.end(), found.begin(), found.end());
  }
  return measured(task, study, {without(task.graph, study, whole(study), removal)})[0];
}

}  // namespace heed
