#include "inspect/page/page_circuit.h"

#include "inspect/page/page_causes.h"
#include "inspect/run_studies.h"
#include "run/internal/run_directory.h"
#include "views/circuit_view.h"

#include <heed/explain/circuits/circuit_parts.h>
#include <heed/explain/circuits/main_path.h>
#include <heed/explain/circuits/pair_task.h>
#include <heed/explain/studies/causes.h>
#include <heed/files/file.h>

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace heed {
namespace {

constexpr double max_operations = 1e9;  // multiplications and additions of one pass: a study takes some hundred

double products_of(const Model& model, const std::vector<TextPair>& pairs) {
  std::size_t tokens = 0;
  for (const TextPair& pair : pairs) tokens += pair.clean.tokens.size();
  return static_cast<double>(tokens) * static_cast<double>(model.parameters.numel());
}

// Moves the edges of the main path to the beginning, so that they have the first numbers.
CircuitStudy with_main_path_first(CircuitStudy study) {
  std::vector<CircuitStudy::Edge> edges;
  const std::vector<std::size_t> path = main_path(study);
  for (const std::size_t i : path) edges.push_back(study.edges[i]);
  for (std::size_t i = 0; i < study.edges.size(); ++i) {
    if (std::ranges::find(path, i) == path.end()) edges.push_back(study.edges[i]);
  }
  study.edges = std::move(edges);
  return study;
}

Json studied(const Model& model, const std::vector<TextPair>& pairs, const OnProgress& progress) {
  const PairTask task(model, pairs, {.progress = progress});
  const CircuitStudy study = with_main_path_first(circuit_study(task.task()));
  Json result = circuit_json(study);
  std::erase_if(result["edges"].get_ref<Json::array_t&>(), [](const Json& edge) { return !edge["in_circuit"]; });
  for (std::size_t i = 0; i < result["edges"].size(); ++i) {
    Json& edge = result["edges"][i];
    edge["name"] = study.edges[i].name;
    edge["nodes"] = Json::array();
    for (const CircuitNode& node : study.edges[i].to.readers()) edge["nodes"].push_back(circuit_node_json(node));
  }
  result["step"] = model.step;
  result["survival_share"] = survival_share;
  result["attention_alone"] = answers_by_attention_alone(model);
  result["held_out_observations"] =
      std::set(study.held_out_observations.begin(), study.held_out_observations.end()).size();
  result["example"] = circuit_example_json(circuit_example(model, pairs, task.task(), study));
  Json& parts = result["parts"] = Json::array();
  if (study.verdict != CircuitStudy::Verdict::circuit) return result;
  for (const CircuitPart& part : circuit_parts(task.task(), study)) {
    parts.push_back(circuit_part_json(part));
  }
  return result;
}

}  // namespace

void add_circuit(Json& description, const Model& model, const std::filesystem::path& run, const OnProgress& progress) {
  if (!std::filesystem::exists(held_out_path(run))) return;
  const std::string reason = refused([&] {
    std::vector<TextPair> pairs = minimal_pairs(model, read_held_out(run));
    if (pairs.empty()) return;
    keep_evenly(pairs, max_run_pairs);
    if (products_of(model, pairs) > max_operations) {
      description["circuit_missing"] =
          "The circuit of a model of this size takes more than seconds: inspect circuit RUN finds it.";
      return;
    }
    description["circuit"] = studied(model, pairs, progress);
  });
  if (!reason.empty()) description["circuit_missing"] = fmt::format("The circuit was not looked for: {}", reason);
}

}  // namespace heed
