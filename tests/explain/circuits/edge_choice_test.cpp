#include "tests/catch.h"

#include <heed/explain/circuits/edge_choice.h>

#include <algorithm>

using namespace heed;

TEST_CASE("Edges join a circuit from the logits on, or by strength alone") {
  ModelConfig config = language_model(gpt2(2, 1, 4));
  config.transformer.vocabulary = 4, config.transformer.max_length = 4, config.transformer.block.mlp.width = 0;
  const Model model(config);
  const CircuitGraph graph(model);
  using Kind = CircuitInput::Kind;
  const CircuitNode embedding{}, first{CircuitNode::Kind::head, 0, 0}, second{CircuitNode::Kind::head, 1, 0};
  std::vector<double> effects(graph.edges().size(), 0.001);
  const auto set = [&](int edge, double effect) {
    effects[static_cast<std::size_t>(edge)] = effect;
    return edge;
  };
  const int early = set(graph.edge(embedding, Kind::value, 0, 0), 5);  // the strongest, three steps from the logits
  const int middle = set(graph.edge(first, Kind::key, 1, 0), -2);
  const int last = set(graph.edge(second, Kind::logits), 1);
  const std::vector<int> greedy = edges_by_strength(graph, effects);
  CHECK(std::vector(greedy.begin(), greedy.begin() + 3) == std::vector{last, middle, early});
  const std::vector<int> threshold = edges_by_strength(graph, effects, EdgeChoice::threshold);
  CHECK(std::vector(threshold.begin(), threshold.begin() + 3) == std::vector{early, middle, last});
  for (const auto* order : {&greedy, &threshold}) {
    std::vector<int> sorted = *order;
    std::ranges::sort(sorted);
    CHECK(std::ranges::adjacent_find(sorted) == sorted.end());
    CHECK(sorted.size() == effects.size());
  }
  CHECK(edges_by_strength(graph, effects, EdgeChoice::greedy, 2) == std::vector{last, middle});
  CHECK(std::ranges::count(first_edges(graph, greedy, 3), true) == 3);
  CHECK(std::ranges::count(first_edges(graph, greedy, 2), true) == 0);     // on no path from the embedding
  CHECK(std::ranges::count(first_edges(graph, threshold, 2), true) == 0);  // on no path to the logits
}
