#include <heed/explain/circuits/main_path.h>

#include <algorithm>
#include <functional>

namespace heed {
namespace {

// Returns the shortest path of the edges that are `allowed`; none: empty. Paths become longer by one edge in each round.
std::vector<std::size_t> shortest_path(const CircuitStudy& study, const std::vector<bool>& allowed) {
  struct Reached {
    CircuitNode node;
    std::vector<std::size_t> path;
  };
  std::vector<Reached> reached{{CircuitNode{}, {}}};
  for (std::size_t next = 0; next < reached.size(); ++next) {
    const Reached from = reached[next];
    for (std::size_t i = 0; i < study.edges.size(); ++i) {
      if (!allowed[i] || study.edges[i].from != from.node) continue;
      std::vector<std::size_t> path = from.path;
      path.push_back(i);
      for (const CircuitNode& node : study.edges[i].to.readers()) {
        if (node.kind == CircuitNode::Kind::logits) return path;
        if (std::ranges::find(reached, node, &Reached::node) == reached.end()) reached.push_back({node, path});
      }
    }
  }
  return {};
}

}  // namespace

std::vector<std::size_t> main_path(const CircuitStudy& study) {
  std::vector<double> effects;
  for (const CircuitStudy::Edge& edge : study.edges) {
    if (edge.survives && edge.best_effect().share > 0) effects.push_back(edge.best_effect().share);
  }
  std::ranges::sort(effects, std::greater());
  for (const double least : effects) {  // until edges with such effects make a path
    std::vector<bool> allowed;
    for (const CircuitStudy::Edge& edge : study.edges) {
      allowed.push_back(edge.survives && edge.best_effect().share >= least);
    }
    if (std::vector<std::size_t> path = shortest_path(study, allowed); !path.empty()) return path;
  }
  return {};
}

}  // namespace heed
