#include "views/circuit_view.h"

#include <heed/explain/circuits/main_path.h>

#include <array>
#include <cmath>

namespace heed {
namespace {

Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json figure(const Interval& interval) { return std::isnan(interval.share) ? Json() : figure_json(interval); }

Json from_0(int number) { return number < 0 ? Json() : Json(number); }

Json input_json(const CircuitInput& input) {
  constexpr std::array names{"query", "key", "value", "mlp", "logits"};
  return {{"kind", names.at(static_cast<std::size_t>(input.kind))},
          {"layer", from_0(input.layer)},
          {"head", from_0(input.head)}};
}

Json point_json(const CircuitStudy::Point& point) {
  return {{"joined", point.joined},
          {"edges", point.edges},
          {"share", point.share},
          {"on_chosen", finite(point.on_chosen)},
          {"faithfulness", figure(point.faithfulness)},
          {"right", figure(point.right)}};
}

Json comparison_json(const CircuitStudy::Comparison& comparison) {
  return {{"circuits", comparison.circuits},
          {"faithfulness", figure(comparison.faithfulness)},
          {"best", finite(comparison.best)},
          {"difference", figure(comparison.difference)}};
}

}  // namespace

Json figure_json(const Interval& figure) {
  return {{"mean", finite(figure.share)}, {"low", finite(figure.low)}, {"high", finite(figure.high)}};
}

Json circuit_node_json(const CircuitNode& node) {
  constexpr std::array names{"embedding", "head", "mlp", "logits"};
  return {{"kind", names.at(static_cast<std::size_t>(node.kind))},
          {"layer", from_0(node.layer)},
          {"head", from_0(node.head)}};
}

Json circuit_json(const CircuitStudy& study) {
  Json curve = Json::array(), edges = Json::array(), methods = Json::array();
  for (const CircuitStudy::Point& point : study.curve) curve.push_back(point_json(point));
  for (const ScoreMethod method : study.methods) methods.push_back(name_of(method));
  for (const CircuitStudy::Edge& edge : study.edges) {
    edges.push_back({{"from", circuit_node_json(edge.from)},
                     {"to", input_json(edge.to)},
                     {"in_circuit", edge.in_circuit},
                     {"survives", edge.survives},
                     {"effect", figure(edge.effect)},
                     {"exact", figure(edge.exact)},
                     {"resamples", edge.resamples},
                     {"methods", edge.methods},
                     {"groups", edge.of_groups}});
  }
  return {{"verdict", name_of(study.verdict)},
          {"says", circuit_verdict(study)},
          {"pairs", study.pairs},
          {"chosen_on", study.chosen_on},
          {"held_out", study.held_out},
          {"observations", study.observations},
          {"groups", study.groups},
          {"groups_are_observations", study.groups_are_observations},
          {"own_groups", study.own_groups},
          {"method", name_of(study.method)},
          {"methods", std::move(methods)},
          {"steps", study.steps},
          {"choice", name_of(study.choice)},
          {"target", study.target},
          {"all_edges", study.all_edges},
          {"all_nodes", study.all_nodes},
          {"resamples", study.resamples},
          {"clean", figure(study.clean)},
          {"corrupted", figure(study.corrupted)},
          {"behaviour", figure(study.behaviour)},
          {"half", figure(study.half)},
          {"right_in_clean", figure(study.right_in_clean)},
          {"right_in_corrupted", figure(study.right_in_corrupted)},
          {"circuit", point_json(study.circuit)},
          {"surviving", point_json(study.surviving)},
          {"edges", std::move(edges)},
          {"survivors", study.survivors},
          {"main_path", main_path(study)},
          {"curve", std::move(curve)},
          {"cpr", figure(study.cpr)},
          {"cmd", figure(study.cmd)},
          {"random", comparison_json(study.random)},
          {"null_tasks", comparison_json(study.null_tasks)},
          {"surviving_random", comparison_json(study.surviving_random)},
          {"surviving_null_tasks", comparison_json(study.surviving_null_tasks)}};
}

Json circuit_example_json(const CircuitExample& example) {
  const auto attended = [](const HeadInPair::Attended& most) {
    return Json{{"token", most.token}, {"weight", most.weight}};
  };
  Json heads = Json::array();
  for (std::size_t i = 0; i < example.heads.size(); ++i) {
    const HeadInPair& one = example.heads[i];
    const HeadOverPairs& over = example.over_pairs.at(i);
    heads.push_back(
        {{"layer", one.head.layer},
         {"head", one.head.head},
         {"effect", one.effect},
         {"token", one.token},
         {"effect_at_token", one.at_token},
         {"attends_to", attended(one.clean)},
         {"corrupted_attends_to", attended(one.corrupted)},
         {"over_pairs",
          {{"difference", figure(over.difference)}, {"right", figure(over.right)}, {"wrong", figure(over.wrong)}}}});
  }
  return {{"tokens", example.tokens}, {"corrupted", example.corrupted}, {"right", example.right},
          {"wrong", example.wrong},   {"query", example.query},         {"heads", std::move(heads)}};
}

Json circuit_part_json(const CircuitPart& part) {
  return {{"edges", part.edges}, {"faithfulness", figure(part.faithfulness)}, {"right", figure(part.right)}};
}

}  // namespace heed
