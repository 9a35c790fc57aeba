#include "tests/catch.h"
#include "tests/explain/circuits/simulated_task.h"
#include "tests/message.h"

#include <heed/explain/circuits/circuit_parts.h>

#include <algorithm>
#include <set>

using namespace heed;

TEST_CASE("circuit_parts measures the circuit without each edge and each node, then without more") {
  SimulatedTask simulated;
  simulated.draw(1, 60);
  const CircuitTask task = simulated.task();
  const CircuitStudy study = circuit_study(task);
  const auto edges = static_cast<std::size_t>(study.circuit.edges);
  const std::vector<CircuitPart> parts = circuit_parts(task, study);
  CHECK(parts[0].edges.size() == edges);
  CHECK(parts[0].faithfulness.share == study.circuit.faithfulness.share);
  CHECK(parts[0].faithfulness.low == study.circuit.faithfulness.low);
  std::set<std::vector<int>> different;
  for (const CircuitPart& part : parts) different.insert(part.edges);
  CHECK(different.size() == parts.size());

  // What is left is measured as a circuit of its own.
  for (std::size_t i = 0; i < edges; ++i) {
    const CircuitStudy::Edge& removed = study.edges[i];
    CAPTURE(removed.name);
    const CircuitPart part = circuit_without(task, study, std::vector{removed.name});
    CHECK(different.contains(part.edges));
    CHECK(std::ranges::find(part.edges, static_cast<int>(i)) == part.edges.end());
    std::vector<bool> circuit(simulated.graph().edges().size());
    for (const int e : part.edges) {
      circuit[static_cast<std::size_t>(study.edges[static_cast<std::size_t>(e)].edge)] = true;
    }
    CHECK(simulated.graph().on_paths(circuit) == circuit);
    const auto measured = task.measure({circuit}, study.held_out_pairs)[0];
    double kept = 0, lost = 0;
    CHECK(part.right.share == share_above_0(measured).share);
    for (std::size_t p = 0; p < measured.size(); ++p) {
      const std::size_t pair = study.held_out_pairs[p];
      kept += measured[p] - task.corrupted[pair], lost += task.clean[pair] - task.corrupted[pair];
    }
    CHECK(part.faithfulness.share == Approx(kept / lost));
  }

  // A node takes along all edges from it, and those that lead to it alone.
  const CircuitPart without_node = circuit_without(task, study, std::vector<std::string>{"layer 2 head 2"});
  for (const int e : without_node.edges) {
    CHECK(study.edges[static_cast<std::size_t>(e)].name.find("layer 2 head 2") == std::string::npos);
  }
  CHECK(different.contains(without_node.edges));
  CHECK(circuit_without(task, study, std::vector<std::string>{"embedding"}).edges.empty());
  CHECK(circuit_parts(task, study, 5).size() == 5);
  CHECK(message([&] { circuit_without(task, study, std::vector<std::string>{"layer 7"}); }) ==
        "circuit: expected an edge or a node of the circuit to remove, such as 'layer 2 head 2 -> logits' or 'layer 2 "
        "head 2', got 'layer 7'");
}
