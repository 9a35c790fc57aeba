#include "tests/catch.h"
#include "tests/explain/circuits/simulated_task.h"
#include "tests/message.h"

#include <heed/explain/circuits/matched_circuits.h>

#include <cmath>

using namespace heed;

namespace {

// A circuit from the embedding by the values of a head of layer 1 and the keys of a head of layer 2 to the logits.
ComparedCircuits::Model model_with(const CircuitGraph& graph, const std::string& name, int first, int second) {
  using Kind = CircuitInput::Kind;
  const CircuitNode one{CircuitNode::Kind::head, 0, first}, two{CircuitNode::Kind::head, 1, second};
  CircuitStudy study;
  study.verdict = CircuitStudy::Verdict::circuit;
  for (const int edge :
       {graph.edge({}, Kind::value, 0, first), graph.edge(one, Kind::key, 1, second), graph.edge(two, Kind::logits)}) {
    const CircuitEdge& of = graph.edges()[static_cast<std::size_t>(edge)];
    CircuitStudy::Edge listed{.edge = edge,
                              .from = graph.nodes()[static_cast<std::size_t>(of.from)],
                              .to = graph.inputs()[static_cast<std::size_t>(of.to)],
                              .name = graph.name(of),
                              .in_circuit = true,
                              .survives = first == 0,
                              .effect = {1.0 + first, 0, 2}};
    listed.exact = {std::nan(""), std::nan(""), std::nan("")};
    study.edges.push_back(listed);
  }
  return {name, 10, study};
}

// Matches the heads of layers 1 and 2 of a second model with the other heads of the first.
MatchedHeads exchanged() {
  MatchedHeads heads;
  heads.runs.resize(2);
  for (const int layer : {0, 1, 2}) {
    for (const int head : {0, 1}) {
      heads.roles.push_back({{{.layer = layer, .head = head}, {.layer = layer, .head = layer < 2 ? 1 - head : head}}});
    }
  }
  return heads;
}

}  // namespace

TEST_CASE("Edges between matched heads are one row, and chance is that of random matchings in each layer") {
  const SimulatedTask simulated;
  const CircuitGraph& graph = simulated.graph();
  const ComparedCircuits compared = compare_circuits(
      {model_with(graph, "seed-1", 0, 1), model_with(graph, "seed-2", 1, 0)}, ComparedCircuits::SameHeads::of_layer);
  MatchedHeads heads = exchanged();
  const MatchedCircuits matched = matched_circuits(compared, heads);
  CHECK(matched.reference == "seed-1");
  REQUIRE(matched.rows.size() == 3);
  for (const MatchedCircuits::Row& row : matched.rows) {
    CAPTURE(row.name);
    CHECK((row.circuits == 2 && row.surviving == 1));
    CHECK(row.effect == 1.5);
    CHECK(row.by_chance == (row.name == "layer 1 head 1 -> layer 2 head 2 key" ? 1.25 : 1.5));
  }

  // The same heads with their own numbers are different edges.
  for (MatchedHeads::Role& role : heads.roles) role.members[1] = role.members[0];
  CHECK(matched_circuits(compared, heads).rows.size() == 6);
  // A head that is like one of another layer has no number.
  heads = exchanged();
  heads.roles[0].members[1].layer = 1, heads.roles[2].members[1].layer = 0;
  int unknown = 0;
  for (const MatchedCircuits::Row& row : matched_circuits(compared, heads).rows) {
    unknown += row.name.find("head ?") != std::string::npos;
    CHECK(std::isnan(row.by_chance) == (row.name.find("head ?") != std::string::npos));
  }
  CHECK(unknown >= 1);
  heads.runs.resize(3);
  CHECK(message([&] { (void)matched_circuits(compared, heads); }) ==
        "matched_circuits: expected the heads of 2 models, got those of 3");
}
