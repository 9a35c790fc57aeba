#include "tests/catch.h"
#include "tests/message.h"

#include <heed/explain/circuits/graph.h>

using namespace heed;

TEST_CASE("CircuitGraph names the edges of a model in the order of its computation") {
  ModelConfig config = language_model(gpt2(2, 2, 8));
  config.transformer.vocabulary = 14, config.transformer.max_length = 8;
  const CircuitGraph graph{Model(config)};
  CHECK(graph.nodes().size() == 8);
  CHECK(graph.inputs().size() == 15);
  CHECK(graph.edges().size() == 6 * 1 + 3 + 6 * 4 + 6 + 7);
  std::vector<std::string> names;
  for (const CircuitEdge& edge : graph.edges()) names.push_back(graph.name(edge));
  CHECK(names[0] == "embedding -> layer 1 head 1 query");
  CHECK(names[6] == "embedding -> layer 1 MLP");
  CHECK(names[8] == "layer 1 head 2 -> layer 1 MLP");
  CHECK(names[9] == "embedding -> layer 2 head 1 query");
  CHECK(names.back() == "layer 2 MLP -> logits");
  CHECK(graph.edge({CircuitNode::Kind::head, 0, 1}, CircuitInput::Kind::key, 1, 0) == 9 + 2 * 4 + 2);
  CHECK(message([&] {
          (void)graph.edge({CircuitNode::Kind::head, 1, 1}, CircuitInput::Kind::key, 1, 0);
        }) == "CircuitGraph: the model has no edge layer 2 head 2 -> layer 2 head 1 key");

  config.transformer.block.attention.kv_heads = 1;
  const CircuitGraph grouped{Model(config)};
  const CircuitInput& key = grouped.inputs()[2];
  CHECK(grouped.name(key) == "layer 1 key head 1");
  CHECK(key.nodes == std::vector<int>{1, 2});
}
