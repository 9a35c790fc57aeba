#include "views/circuit_view.h"

#include "tests/catch.h"
#include "tests/explain/circuits/simulated_task.h"
#include "views/compared_circuits_view.h"

#include <heed/tokenizers/graphemes.h>

#include <algorithm>
#include <cmath>
#include <sstream>

using namespace heed;

namespace {

bool holds(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

// Head 2 of layer 1 matters at the second word, where it attends to the first.
const CircuitExample example{{"a", "b"},
                             {"a", "c"},
                             "right",
                             "wrong",
                             1,
                             {{.head = {CircuitNode::Kind::head, 0, 1},
                               .effect = 3,
                               .token = 1,
                               .at_token = 2.5,
                               .clean = {0, 0.75},
                               .corrupted = {1, 0.5}}},
                             {{{CircuitNode::Kind::head, 0, 1}, {0.9, 0.8, 0.95}, {0, 0, 0.1}, {0.25, 0.2, 0.31}}},
                             30};

CircuitStudy simulated_study(double scale) {
  SimulatedTask simulated;
  simulated.draw(1, 60, scale);
  return circuit_study(simulated.task());
}

}  // namespace

TEST_CASE("circuit_view lists the edges that survive within 80 columns, circuit_json every figure") {
  CircuitStudy study = simulated_study(1);
  const View view{};
  std::string text = circuit_view(study, view);
  CHECK(holds(text, "survive"));
  CHECK(holds(text, "\nlayer 2 head 2 -> logits"));
  study.circuit.right = {28 / 30.0, 0.8, 0.975};
  CHECK(holds(circuit_verdict(study).back(),
              "in 28 of 30 held-out pairs with the circuit that was chosen, 93.3 % (80.0 to 97.5);"));
  CHECK(holds(text, "Main path, on which each edge survives"));
  CHECK(text.starts_with(fmt::format("{} of ", std::ranges::count_if(study.edges, &CircuitStudy::Edge::survives))));
  CHECK(holds(text, "<- the circuit"));
  CHECK(holds(text, fmt::format("\n{:27}{:26}{} edges\n", "", fmt::format("{} edges", study.surviving.joined),
                                study.circuit.joined)));
  CHECK(
      holds(text, fmt::format("\n{:27}{:26}{}\n", "5 random circuits", share_text(study.surviving_random.faithfulness),
                              share_text(study.random.faithfulness))));
  study.edges[0].name = "layer 12 head 12 -> layer 12 head 12 value";
  study.edges[0].exact = {-123.456, -150.111, -100.222};
  study.own_groups = {"a", "b"}, study.methods.push_back(ScoreMethod::eap),
  study.methods.push_back(ScoreMethod::eap_ig);
  text = circuit_view(study, view);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) CHECK(display_width(line) <= 80);

  const Json json = circuit_json(study);
  CHECK(json["verdict"] == "circuit");
  CHECK(json["edges"][0]["survives"] == true);
  CHECK(json["edges"][0]["from"] == Json({{"kind", "head"}, {"layer", 1}, {"head", 1}}));
  CHECK(json["edges"][0]["to"] == Json({{"kind", "logits"}, {"layer", nullptr}, {"head", nullptr}}));
  CHECK(json["circuit"]["faithfulness"]["mean"] == study.circuit.faithfulness.share);
  CHECK(json["circuit"]["right"]["mean"] == study.circuit.right.share);
  CHECK(json["curve"].size() == study.curve.size());
  CHECK(json["null_tasks"]["circuits"] == 5);
}

TEST_CASE("circuit_example_view says what each head attends to where it matters, within 80 columns") {
  CHECK(holds(circuit_example_view(example, {}),
              "layer 1 head 2   b             a 0.75              c 0.50              +2.50\n"));
  CHECK(holds(circuit_example_view(example, {}),
              "\nlayer 1 head 2   90 % (80 to 95)     0 % (0 to 10)       25 % (20 to 31)\n"));
  CircuitExample long_words = example;
  for (auto* const tokens : {&long_words.tokens, &long_words.corrupted}) {
    for (std::string& token : *tokens) token = "Donaudampfschifffahrtsgesellschaft" + token;
  }
  long_words.heads[0].head = {CircuitNode::Kind::head, 98, 98};
  std::istringstream lines(circuit_example_view(long_words, {}));
  for (std::string line; std::getline(lines, line);) CHECK(display_width(line) <= 80);
  CHECK(circuit_example_view({{"a"}, {"b"}, "right", "wrong"}, {}).empty());
  const Json json = circuit_example_json(example);
  CHECK(json["query"] == 1);
  CHECK(json["heads"][0]["attends_to"] == Json({{"token", 0}, {"weight", 0.75}}));
  CHECK(json["heads"][0]["effect_at_token"] == 2.5);
  CHECK(json["heads"][0]["over_pairs"]["wrong"] == Json({{"mean", 0.25}, {"low", 0.2}, {"high", 0.31}}));
}

TEST_CASE("circuit_view says why the edges that survive are no circuit") {
  CircuitStudy study = simulated_study(1);
  study.verdict = CircuitStudy::Verdict::unstable;
  study.circuit.edges = 7, study.surviving.joined = study.surviving.edges = 3;
  study.surviving.faithfulness = {0.3, 0.1, 0.5};
  study.surviving_random.faithfulness = {0.25, 0.2, 0.3}, study.surviving_random.difference = {0.05, -0.1, 0.2};
  study.surviving_null_tasks.faithfulness = {0, -0.1, 0.1};
  const auto verdict = [&] { return circuit_verdict(study).front(); };
  const std::string beginning =
      "There is no circuit to report: 3 of 7 edges of the circuit that was chosen survive, and keep 30.0 % (10.0 to "
      "50.0) of the difference. That is not shown to be more than ";
  CHECK(verdict() == beginning + "random circuits of as many edges keep, 25.0 % (20.0 to 30.0).");
  study.surviving_null_tasks.difference = {0.3, -0.1, 0.7};
  CHECK(verdict() == beginning + "circuits of null tasks keep with as many edges, 0.0 % (-10.0 to 10.0).");
  study.surviving.faithfulness.low = -0.1;
  CHECK(verdict().ends_with("30.0 % (-10.0 to 50.0) of the difference. That is not shown to be more than nothing."));
  study.surviving.edges = 0;
  study.survivors = {study.edges[0].edge};
  CHECK(verdict().ends_with("and no path of these leads to the answer: " + study.edges[0].name + "."));
  study.survivors.clear();
  CHECK(verdict().ends_with(
      "3 of 7 edges of the circuit that was chosen survive, and no path of these leads to the answer."));
  for (CircuitStudy::Edge& edge : study.edges) edge.survives = false;
  CHECK(holds(circuit_view(study, {}), "Edges that some choices have\n"));
  CHECK(!holds(circuit_view(study, {}), "The circuit: the edges that survive"));
  CHECK(circuit_json(study)["verdict"] == "unstable");
  CHECK(circuit_json(study)["main_path"].empty());
}

TEST_CASE("circuit_view names no edge of a task without a behaviour") {
  const CircuitStudy study = simulated_study(0);
  const std::string text = circuit_view(study, {});
  CHECK(text.starts_with("There is no circuit to report"));
  CHECK(!holds(text, "->"));
  CHECK(!holds(text, "<- the circuit"));
  const Json json = circuit_json(study);
  for (const Json& edge : json["edges"]) CHECK(edge["survives"] == false);
  CHECK(json["surviving"]["faithfulness"].is_null());
  CHECK(!holds(circuit_svg(study, example), "<path"));
}

TEST_CASE("circuit_svg draws each edge of the circuit once, with its effect") {
  const CircuitStudy study = simulated_study(1);
  const std::string svg = circuit_svg(study, example);
  CHECK(svg.starts_with("<svg "));
  CHECK(holds(svg, ">[b → c]</tspan>"));
  CHECK(holds(svg, ">layer 1 head 2: b → a 0.75 (corrupted: c 0.50)</text>"));
  CHECK(holds(svg, "layer 2 head 2 -&gt; logits  " + figure_text(study.edges[0].best_effect())));
  std::size_t paths = 0, edges = 0;
  for (std::size_t at = svg.find("<path"); at != svg.npos; at = svg.find("<path", at + 1)) ++paths;
  for (const CircuitStudy::Edge& edge : study.edges) edges += edge.in_circuit;
  CHECK(paths == edges);
}

TEST_CASE("compared_circuits_view counts kinds of edges, whichever their heads") {
  const CircuitStudy found = simulated_study(1), none = simulated_study(0);
  using enum ComparedCircuits::SameHeads;
  const ComparedCircuits all =
      compare_circuits({{"seed-1", 10, found}, {"seed-2", 10, found}, {"seed-3", 10, none}}, of_layer);
  CHECK(all.found == 2);
  const std::string text = compared_circuits_view(all, {});
  CHECK(holds(text, "2 of 3 models have a circuit to report"));
  CHECK(holds(text, "none: no behaviour"));
  CHECK(holds(text, "layer 2 head -> logits                        2 of 2"));
  CHECK(holds(text, "layer 1 head -> layer 2 head key "));
  const std::string one = compared_circuits_view(compare_circuits({{"step 10", 10, found}}, by_number), {});
  CHECK(one.starts_with("1 of 1 model has a circuit to report; "));
  CHECK(holds(one, "layer 2 head 2 -> logits"));
  CHECK(compared_circuits_json(all)["models"][2]["study"]["verdict"] == "no behaviour");
  CHECK(compared_circuits_view(compare_circuits({{"a", 1, none}}, of_layer), {}).starts_with("None of 1 model has"));
}

TEST_CASE("matched_circuits_view lists edges in k of n within 80 columns, matched_circuits_json all figures") {
  MatchedCircuits matched{.reference = "seed-2", .similarity = 0.72, .random = 0.56};
  for (const double by_chance : {7.0, std::nan("")}) {
    MatchedCircuits::Row row;
    row.name = "layer 12 head 12 -> layer 12 head 12 value";
    row.circuits = 8, row.surviving = 7, row.effect = -14.26, row.by_chance = by_chance;
    matched.rows.push_back(row);
  }
  const std::string text = matched_circuits_view(matched, 8, {});
  CHECK(holds(text, "layer 12 head 12 -> layer 12 head 12 value  7 of 8     8 of 8       7.0   -14.26\n"));
  CHECK(holds(text, "8 of 8         -   -14.26\n"));
  CHECK(holds(text, "heads of seed-2"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) CHECK(display_width(line) <= 80);
  const Json json = matched_circuits_json(matched);
  CHECK((json["rows"][0]["by_chance"] == 7.0 && json["rows"][1]["by_chance"].is_null()));
  CHECK((json["rows"][0]["surviving"] == 7 && json["reference"] == "seed-2" && json["random"] == 0.56));
}
