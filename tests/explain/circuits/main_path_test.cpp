#include "tests/catch.h"
#include "tests/explain/circuits/simulated_task.h"

#include <heed/explain/circuits/main_path.h>

#include <algorithm>

using namespace heed;

namespace {

std::vector<std::string> names_of(const CircuitStudy& study) {
  std::vector<std::string> names;
  for (const std::size_t i : main_path(study)) names.push_back(study.edges[i].name);
  return names;
}

CircuitStudy::Edge& edge(CircuitStudy& study, const std::string& name) {
  return *std::ranges::find(study.edges, name, &CircuitStudy::Edge::name);
}

}  // namespace

TEST_CASE("main_path is the path of surviving edges whose smallest effect is the largest") {
  SimulatedTask simulated;
  simulated.draw(1, 60);
  CircuitStudy study = circuit_study(simulated.task());
  const std::string value = "embedding -> layer 1 head 1 value", key = "layer 1 head 1 -> layer 2 head 2 key",
                    query = "embedding -> layer 2 head 2 query", last = "layer 2 head 2 -> logits";
  CHECK(names_of(study) == std::vector{value, key, last});

  // Without the edge to the key, the strongest of the shorter paths is left.
  CircuitStudy weaker = study;
  edge(weaker, key).survives = false;
  Interval& effect = edge(weaker, query).exact;
  effect.share = 2;
  CHECK(names_of(weaker) == std::vector{query, last});
  effect.share = -2;  // speaks against the answer
  CHECK(names_of(weaker) == std::vector<std::string>{"embedding -> layer 2 head 2 value", last});

  edge(study, last).survives = edge(study, "layer 3 head 1 -> logits").survives = false;
  CHECK(names_of(study).empty());
}
