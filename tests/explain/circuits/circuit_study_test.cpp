#include "tests/catch.h"
#include "tests/explain/circuits/simulated_task.h"
#include "tests/message.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

using namespace heed;

namespace {

// Counts the intervals that hold their truth.
struct Coverage {
  int all = 0, hits = 0;
  void add(const Interval& interval, double truth) { ++all, hits += interval.low <= truth && truth <= interval.high; }
  double share() const { return static_cast<double>(hits) / all; }
};

std::vector<bool> circuit_of(const CircuitStudy& study, std::size_t edges) {
  std::vector<bool> circuit(edges);
  for (const CircuitStudy::Edge& edge : study.edges) {
    if (edge.in_circuit) circuit[static_cast<std::size_t>(edge.edge)] = true;
  }
  return circuit;
}

// Adds the interval of the edges that survive, which is printed whether or not they are reported as the circuit.
void add_surviving(Coverage& surviving, const CircuitStudy& study, const SimulatedTask& simulated) {
  std::vector<bool> circuit(simulated.graph().edges().size());
  for (const int edge : study.survivors) circuit[static_cast<std::size_t>(edge)] = true;
  if (study.surviving.edges > 0) {
    surviving.add(study.surviving.faithfulness, simulated.true_faithfulness(simulated.graph().on_paths(circuit)));
  }
}

}  // namespace

TEST_CASE("A study counts the held-out pairs that a circuit answers right") {
  SimulatedTask simulated;
  simulated.draw(1, 60, 0.5);
  const CircuitTask task = simulated.task();
  const CircuitStudy study = circuit_study(task);
  const auto right = [&](const std::vector<bool>& circuit) {
    const std::vector<double> measured = task.measure({circuit}, study.held_out_pairs)[0];
    std::vector<bool> is_right;
    for (const double value : measured) is_right.push_back(value > 0);
    return share_of(is_right);
  };
  const auto is_same = [](const Interval& a, const Interval& b) {
    return a.share == b.share && a.low == b.low && a.high == b.high;
  };
  const std::size_t E = task.graph.edges().size();
  CHECK(is_same(study.circuit.right, right(circuit_of(study, E))));
  CHECK(is_same(study.right_in_clean, right(std::vector<bool>(E, true))));
  CHECK(is_same(study.curve.back().right, study.right_in_clean));
  CHECK(study.right_in_corrupted.share == 0);
  CHECK((study.circuit.right.share > 0 && study.circuit.right.share < study.right_in_clean.share));
}

TEST_CASE("A study finds the true circuit of a simulated model, and its edges survive") {
  SimulatedTask simulated;
  simulated.draw(1, 60);
  const CircuitStudy study = circuit_study(simulated.task());
  CHECK(study.verdict == CircuitStudy::Verdict::circuit);
  CHECK((study.chosen_on == 30 && study.held_out == 30));
  CHECK(study.circuit.on_chosen >= 0.8);
  std::size_t listed = 0;
  for (const CircuitStudy::Edge& edge : study.edges) {
    if (edge.survives) CHECK(simulated.is_true(static_cast<std::size_t>(edge.edge)));
    listed += edge.survives;
    if (edge.in_circuit) CHECK(edge.exact.share == Approx(edge.effect.share));
  }
  CHECK(listed >= 6);
  CHECK(study.edges[0].survives);
  CHECK(study.edges[0].name == "layer 2 head 2 -> logits");
  CHECK(study.surviving.faithfulness.share > 0.6);
  CHECK(study.random.faithfulness.high < 0.7);
  CHECK(study.cpr.share + study.cmd.share == Approx(1).margin(0.02));  // no circuit recovers more than all
  CHECK(study.curve.back().edges == study.all_edges);
  CHECK(study.curve.back().faithfulness.share == Approx(1));

  CircuitOptions options;
  options.faithfulness = 0.95;
  const CircuitStudy larger = circuit_study(simulated.task(), options);
  CHECK(larger.circuit.edges > study.circuit.edges);
  options.faithfulness = 1.5;
  CHECK(message([&] { circuit_study(simulated.task(), options); }) ==
        "circuit: expected a faithfulness above 0 and at most 1, got 1.5");
  simulated.draw(1, 6);
  CHECK(message([&] { circuit_study(simulated.task()); }) ==
        "circuit: expected at least 8 different pairs, got 6 (pairs of one clean text count as one); half of them "
        "choose the circuit, the others measure it");
}

TEST_CASE("The intervals of a study cover the truth in 93 to 97 of 100 simulated data sets") {
  SimulatedTask simulated;
  const std::size_t E = simulated.graph().edges().size();
  for (const std::size_t size : {1u, 4u}) {  // without paraphrases, and with four of each text
    Coverage faithfulness, surviving, behaviour, effects;
    double sum = 0;
    for (const double effect : simulated.true_effects()) sum += effect;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      simulated.draw(1000 * size + seed, 60 * size, 1, 1, size);
      CircuitOptions options;
      options.resamples = 1, options.random_circuits = 1, options.null_tasks = 1, options.exact_edges = 0;
      const CircuitStudy study = circuit_study(simulated.task(), options);
      faithfulness.add(study.circuit.faithfulness, simulated.true_faithfulness(circuit_of(study, E)));
      add_surviving(surviving, study, simulated);
      behaviour.add(study.behaviour, sum);
      for (const CircuitStudy::Edge& edge : study.edges) {
        if (edge.in_circuit) effects.add(edge.effect, simulated.true_effects()[static_cast<std::size_t>(edge.edge)]);
      }
    }
    CAPTURE(size, faithfulness.share(), surviving.all, surviving.share(), behaviour.share(), effects.share());
    for (const Coverage* one : {&faithfulness, &surviving, &behaviour, &effects}) {
      CHECK(one->share() >= 0.93);
      CHECK(one->share() <= 0.97);
    }
  }
}

TEST_CASE("The edges that survive are not chosen by the pairs that measure them") {
  SimulatedTask simulated;
  Coverage surviving;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    simulated.draw(seed, 20);
    CircuitOptions options;
    options.resamples = 1, options.random_circuits = 1, options.null_tasks = 1;
    add_surviving(surviving, circuit_study(simulated.task(), options), simulated);
  }
  CAPTURE(surviving.all);
  CHECK(surviving.share() >= 0.93);
  CHECK(surviving.share() <= 0.97);
}

TEST_CASE("Texts that do not favour the right answer, or corrupted texts that hardly disfavour it, have no circuit") {
  SimulatedTask simulated;
  simulated.draw(1, 60);
  const auto verdict_with = [&](double shift) {
    CircuitTask task = simulated.task();
    for (double& value : task.clean) value += shift;
    for (double& value : task.corrupted) value += shift;
    const auto measure = task.measure;
    task.measure = [=](const std::vector<std::vector<bool>>& circuits, std::span<const std::size_t> pairs) {
      auto all = measure(circuits, pairs);
      for (std::vector<double>& values : all) {
        for (double& value : values) value += shift;
      }
      return all;
    };
    return circuit_study(task).verdict;
  };
  CHECK(verdict_with(0) == CircuitStudy::Verdict::circuit);         // about 5 in clean texts, -2 in corrupted ones
  CHECK(verdict_with(-10) == CircuitStudy::Verdict::no_behaviour);  // -5 and -12
  CHECK(verdict_with(20) == CircuitStudy::Verdict::no_behaviour);   // 25 and 18
}

TEST_CASE("A null task is refused in at least 95 of 100 simulated data sets, a true one in at most 10") {
  SimulatedTask simulated;
  int refused = 0, found = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CircuitOptions options;
    options.resamples = 1, options.exact_edges = 0;
    simulated.draw(seed, 40, 0);
    refused += circuit_study(simulated.task(), options).verdict != CircuitStudy::Verdict::circuit;
    simulated.draw(seed, 40, 1);
    found += circuit_study(simulated.task(), options).verdict == CircuitStudy::Verdict::circuit;
  }
  CHECK(refused >= 190);
  CHECK(found >= 180);
}

TEST_CASE("Edges that survive and keep no more than other circuits of as many edges are no circuit") {
  SimulatedTask simulated;
  CircuitOptions options;
  options.exact_edges = 0;
  std::map<CircuitStudy::Verdict, int> verdicts;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    simulated.draw(seed, 24);
    const CircuitStudy study = circuit_study(simulated.task(), options);
    ++verdicts[study.verdict];
    const bool keeps_more = study.surviving.faithfulness.low > 0 && study.surviving_random.difference.low > 0 &&
                            study.surviving_null_tasks.difference.low > 0;
    if (study.verdict == CircuitStudy::Verdict::circuit) CHECK(keeps_more);
    if (study.verdict != CircuitStudy::Verdict::unstable) continue;
    CHECK(!keeps_more);
    CHECK(std::ranges::none_of(study.edges, &CircuitStudy::Edge::survives));
    CHECK(study.surviving_random.circuits == options.random_circuits);
  }
  CHECK(verdicts[CircuitStudy::Verdict::circuit] > 0);
  CHECK(verdicts[CircuitStudy::Verdict::unstable] > 0);
}

TEST_CASE("Groups: many are observations, few choose circuits of their own") {
  SimulatedTask simulated;
  simulated.draw(3, 80, 1, 1, 4);
  CircuitStudy study = circuit_study(simulated.task());
  CHECK((study.groups == 20 && study.groups_are_observations && study.own_groups.empty()));
  CHECK((study.chosen_on == 40 && study.held_out == 40));
  simulated.draw(3, 80, 1, 1, 40);
  study = circuit_study(simulated.task());
  CHECK((study.groups == 2 && !study.groups_are_observations));
  CHECK(study.own_groups == std::vector<std::string>{"0", "1"});
  CHECK(study.edges[0].of_groups == 2);

  // An edge that one of two groups does not have does not survive.
  CircuitTask task = simulated.task();
  const int edge = study.edges[0].edge;
  for (std::int64_t i = 0; i < 40; ++i) {
    task.scores[0].second.mutable_data<double>()[i * study.all_edges + edge] = 0;
  }
  study = circuit_study(task);
  for (const CircuitStudy::Edge& one : study.edges) {
    if (one.edge == edge) CHECK((one.of_groups == 1 && !one.survives));
  }
}

// The table of docs/explanation/circuits.md: build/inspect_test "[circuit-table]"
TEST_CASE("Coverage of a study's intervals, and refused null tasks", "[.][circuit-table]") {
  SimulatedTask simulated;
  const std::size_t E = simulated.graph().edges().size();
  double sum = 0;
  for (const double effect : simulated.true_effects()) sum += effect;
  constexpr std::uint64_t sets = 1000;
  fmt::print(
      "| pairs | of a group | faithfulness | surviving | behaviour | effects | null tasks refused |\n"
      "|---|---|---|---|---|---|---|\n");
  for (const auto& [pairs, size] : {std::pair{20u, 1u}, {60u, 1u}, {200u, 1u}, {80u, 4u}, {240u, 4u}}) {
    Coverage faithfulness, surviving, behaviour, effects;
    int refused = 0;
    for (std::uint64_t seed = 0; seed < sets; ++seed) {
      CircuitOptions options;
      options.resamples = 1, options.exact_edges = 0;
      simulated.draw(7000 + seed, pairs, 0, 1, size);
      refused += circuit_study(simulated.task(), options).verdict != CircuitStudy::Verdict::circuit;
      options.random_circuits = options.null_tasks = 1;
      simulated.draw(seed, pairs, 1, 1, size);
      const CircuitStudy study = circuit_study(simulated.task(), options);
      faithfulness.add(study.circuit.faithfulness, simulated.true_faithfulness(circuit_of(study, E)));
      add_surviving(surviving, study, simulated);
      behaviour.add(study.behaviour, sum);
      for (const CircuitStudy::Edge& edge : study.edges) {
        if (edge.in_circuit) effects.add(edge.effect, simulated.true_effects()[static_cast<std::size_t>(edge.edge)]);
      }
    }
    fmt::print("| {} | {} | {:.1f} % | {:.1f} % | {:.1f} % | {:.1f} % | {:.1f} % |\n", pairs, size,
               100 * faithfulness.share(), 100 * surviving.share(), 100 * behaviour.share(), 100 * effects.share(),
               100.0 * refused / sets);
  }
}
