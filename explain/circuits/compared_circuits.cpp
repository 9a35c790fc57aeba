#include <heed/explain/circuits/compared_circuits.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace heed {

std::string without_heads(std::string name) {
  constexpr std::string_view head = "head ";
  for (std::size_t at = name.find(head); at != name.npos; at = name.find(head, at + 1)) {
    const std::size_t number = at + head.size() - 1, end = name.find_first_not_of("0123456789?", number + 1);
    name.erase(number, (end == name.npos ? name.size() : end) - number);
  }
  return name;
}

ComparedCircuits compare_circuits(std::vector<ComparedCircuits::Model> models, ComparedCircuits::SameHeads same) {
  ComparedCircuits result{.models = std::move(models), .found = 0, .rows = {}};
  std::map<std::string, ComparedCircuits::Row> rows;
  for (const ComparedCircuits::Model& model : result.models) {
    if (model.study.verdict != CircuitStudy::Verdict::circuit) continue;
    ++result.found;
    struct Here {
      bool survives = false;
      double effect = 0;
    };
    std::map<std::string, Here> here;
    for (const CircuitStudy::Edge& edge : model.study.edges) {
      if (!edge.in_circuit) continue;
      const bool by_number = same == ComparedCircuits::SameHeads::by_number;
      Here& one = here[by_number ? edge.name : without_heads(edge.name)];
      one.survives = one.survives || edge.survives;
      one.effect += edge.best_effect().share;
    }
    for (const auto& [name, one] : here) {
      ComparedCircuits::Row& row = rows[name];
      row.name = name;
      ++row.circuits;
      row.surviving += one.survives;
      row.effect += one.effect;
    }
  }
  for (auto& [name, row] : rows) {
    row.effect /= row.circuits;
    result.rows.push_back(std::move(row));
  }
  std::ranges::stable_sort(result.rows, std::greater(), [](const ComparedCircuits::Row& row) {
    return std::tuple(row.surviving, row.circuits, std::abs(row.effect));
  });
  return result;
}

}  // namespace heed
