#include "train/relations.h"

#include "data/utf8.h"
#include "train/evaluation.h"

#include <fmt/format.h>

#include <algorithm>

namespace heed {
namespace {

struct Relation {
  std::string name;
  std::vector<Example> examples;
};

// In the order of their first examples.
std::vector<Relation> by_relation(const std::vector<Example>& examples) {
  std::vector<Relation> relations;
  for (const Example& example : examples) {
    auto found = std::ranges::find(relations, example.relation, &Relation::name);
    if (found == relations.end()) found = relations.insert(found, {example.relation, {}});
    found->examples.push_back(example);
    found->examples.back().twin = -1;  // a place among all the examples, not among these
  }
  return relations;
}

}  // namespace

bool has_relations(const std::vector<Example>& examples) {
  return std::ranges::any_of(examples, [&](const Example& e) { return e.relation != examples[0].relation; });
}

std::string relations_table(const Reader& reader, const Vocabulary& vocabulary, const std::vector<Example>& held_out) {
  constexpr int first_column = 22, column = 12;
  const auto row = [](std::string_view name, const std::vector<std::string>& cells) {
    std::string line = "  " + fit_width(name, first_column);
    for (const std::string& cell : cells)
      line += std::string(static_cast<std::size_t>(column - display_width(cell)), ' ') + cell;
    return line + "\n";
  };
  std::vector<std::string> names, accuracy;
  std::vector<Evaluation> evaluations;
  for (const Relation& relation : by_relation(held_out)) {
    const int width = std::min(display_width(relation.name), column - 2);
    names.push_back(fit_width(relation.name, width) + " ");
    evaluations.push_back(evaluate(reader, vocabulary, relation.examples));
    accuracy.push_back(fmt::format("{:.1f} %", 100 * evaluations.back().accuracy));
  }
  std::string table = row("query -> antecedent", names);
  const auto best = [](const Evaluation& e) {
    double largest = 0;
    for (const auto& layer : e.antecedent_weight) largest = std::max(largest, *std::ranges::max_element(layer));
    return largest;
  };
  for (int layer = 0; layer < reader.shape.layers; ++layer) {
    for (int head = 0; head < reader.shape.attention.heads; ++head) {
      std::vector<std::string> weights;
      for (const Evaluation& e : evaluations) {
        const double weight = e.antecedent_weight.at(layer).at(head);
        weights.push_back(fmt::format("{:.2f}{}", weight, weight == best(e) ? '*' : ' '));
      }
      table += row(fmt::format("layer {}, head {}", layer + 1, head + 1), weights);
    }
  }
  return table + row("accuracy", accuracy);
}

}  // namespace heed
