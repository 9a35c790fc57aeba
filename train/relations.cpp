#include "train/relations.h"

#include <heed/tokenizers/graphemes.h>

#include <fmt/format.h>

#include <algorithm>

namespace heed {
namespace {

// Returns a table of relations that fit beside each other.
std::string relations_that_fit(const std::vector<Relation>& relations) {
  constexpr int first_column = 22, column = 12;
  const auto row = [](std::string_view name, const std::vector<std::string>& cells) {
    std::string line = "  " + fit_width(name, first_column);
    for (const std::string& cell : cells)
      line += std::string(static_cast<std::size_t>(column - display_width(cell)), ' ') + cell;
    return line + "\n";
  };
  std::vector<std::string> names, accuracy;
  for (const Relation& r : relations) {
    names.push_back(fit_width(r.name, std::min(display_width(r.name), column - 2)) + " ");
    accuracy.push_back(fmt::format("{:.1f} %", 100 * r.evaluation.accuracy));
  }
  const auto best = [](const Relation& r) {
    double largest = 0;
    for (const auto& layer : r.evaluation.antecedent_weight) {
      largest = std::max(largest, *std::ranges::max_element(layer));
    }
    return largest;
  };
  std::string table = row("query -> antecedent", names);
  const auto& layers = relations.at(0).evaluation.antecedent_weight;
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    for (std::size_t head = 0; head < layers[layer].size(); ++head) {
      std::vector<std::string> weights;
      for (const Relation& r : relations) {
        const double weight = r.evaluation.antecedent_weight.at(layer).at(head);
        weights.push_back(fmt::format("{:.2f}{}", weight, weight == best(r) ? '*' : ' '));
      }
      table += row(fmt::format("layer {}, head {}", layer + 1, head + 1), weights);
    }
  }
  return table + row("accuracy", accuracy);
}

}  // namespace

std::vector<Relation> evaluate_relations(const Model& model, const std::vector<Example>& examples) {
  std::vector<std::pair<std::string, std::vector<Example>>> groups;
  for (const Example& example : examples) {
    auto group = std::ranges::find(groups, example.relation, [](const auto& g) { return g.first; });
    if (group == groups.end()) group = groups.insert(group, {example.relation, {}});
    group->second.push_back(example);
    group->second.back().counterpart = -1;  // an index into all the examples, not into this group
  }
  std::vector<Relation> relations;
  for (const auto& [name, asked] : groups) {
    relations.push_back({name, evaluate(model, NumberedExamples(asked, model.vocabulary))});
  }
  return relations;
}

bool has_relations(const std::vector<Example>& examples) {
  return std::ranges::any_of(examples, [&](const Example& e) { return e.relation != examples[0].relation; });
}

std::string relations_table(const std::vector<Relation>& relations, const Terminal& terminal) {
  constexpr int margin = 24, column = 12;
  const auto fit = static_cast<std::size_t>(std::max(1, (terminal.width - margin) / column));
  std::string text;
  for (std::size_t first = 0; first < relations.size(); first += fit) {
    const auto begin = relations.begin() + static_cast<std::ptrdiff_t>(first);
    const std::size_t count = std::min(fit, relations.size() - first);
    text += (first > 0 ? "\n" : "") + relations_that_fit({begin, begin + static_cast<std::ptrdiff_t>(count)});
  }
  return text;
}

}  // namespace heed
