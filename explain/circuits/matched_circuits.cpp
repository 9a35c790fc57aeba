#include <heed/explain/circuits/matched_circuits.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace heed {
namespace {

using Head = std::pair<int, int>;  // layer and number

// An edge as the heads of the reference name it.
struct Named {
  std::string name, kind;  // with and without the numbers of heads
  double as_many = 1;      // edges of its kind
  bool is_known = true;    // whether each head has a number
};

class Matching {
 public:
  Matching(const ComparedCircuits& compared, const MatchedHeads& heads) : compared_(compared), heads_(heads) {
    for (const MatchedHeads::Role& role : heads.roles) ++heads_of_layer_[role.members[heads.reference].layer];
  }

  MatchedCircuits run() {
    MatchedCircuits result{
        .reference = compared_.models[heads_.reference].name, .similarity = heads_.similarity, .random = heads_.random};
    for (std::size_t model = 0; model < compared_.models.size(); ++model) add(model);
    for (auto& [name, row] : rows_) {
      row.effect /= row.circuits;
      const Named& named = names_.at(name);
      row.by_chance = named.is_known ? chance_of(named) : std::numeric_limits<double>::quiet_NaN();
      result.rows.push_back(std::move(row));
    }
    std::ranges::stable_sort(result.rows, std::greater(), [](const MatchedCircuits::Row& row) {
      return std::tuple(row.surviving, row.circuits, std::abs(row.effect));
    });
    return result;
  }

 private:
  void add(std::size_t model) {
    const CircuitStudy& study = compared_.models[model].study;
    if (study.verdict != CircuitStudy::Verdict::circuit) return;
    roles_.clear();
    for (const MatchedHeads::Role& role : heads_.roles) {
      const MatchedHeads::Member &own = role.members[model], &named = role.members[heads_.reference];
      if (own.layer == named.layer) roles_[{own.layer, own.head}] = named.head;
    }
    std::map<std::string, std::pair<bool, double>> here;  // whether one survives, and the sum of effects
    for (const CircuitStudy::Edge& edge : study.edges) {
      if (!edge.in_circuit) continue;
      const Named named = named_by_reference(edge);
      auto& [survives, effect] = here[named.name];
      survives = survives || edge.survives;
      effect += edge.best_effect().share;
      if (named.is_known && model != heads_.reference) ++count_[named.kind];
      if (model == heads_.reference) of_reference_.insert(named.name);
      names_.emplace(named.name, named);
    }
    for (const auto& [name, one] : here) {
      MatchedCircuits::Row& row = rows_[name];
      row.name = name;
      ++row.circuits;
      row.surviving += one.first;
      row.effect += one.second;
    }
  }

  Named named_by_reference(const CircuitStudy::Edge& edge) {
    Named result;
    const auto add_head = [&](int layer, int head) {
      const auto found = roles_.find({layer, head});
      result.is_known = result.is_known && found != roles_.end();
      result.name +=
          fmt::format("layer {} head {}", layer + 1, found == roles_.end() ? "?" : std::to_string(found->second + 1));
      result.as_many *= heads_of_layer_[layer];
    };
    const std::size_t arrow = edge.name.find(" -> ");
    if (edge.from.kind == CircuitNode::Kind::head) {
      add_head(edge.from.layer, edge.from.head);
    } else {
      result.name += edge.name.substr(0, arrow);
    }
    result.name += " -> ";
    if (edge.to.head < 0) {
      result.name += edge.name.substr(arrow + 4);
    } else if (edge.to.nodes.size() == 1) {
      add_head(edge.to.layer, edge.to.head);
      result.name += edge.name.substr(edge.name.rfind(' '));
    } else {  // a head of keys and values, which several heads share
      result.name += without_heads(edge.name.substr(arrow + 4));
      result.is_known = false;
    }
    result.kind = without_heads(result.name);
    return result;
  }

  // Returns 1 for the reference's own edge, and for each other model the share of all edges of its kind that its circuit has.
  double chance_of(const Named& named) const {
    const auto others = count_.find(named.kind);
    return (of_reference_.contains(named.name) ? 1 : 0) + (others == count_.end() ? 0 : others->second / named.as_many);
  }

  const ComparedCircuits& compared_;
  const MatchedHeads& heads_;
  std::map<int, int> heads_of_layer_{};
  std::map<Head, int> roles_{};  // of the model: the reference's number of each head
  std::map<std::string, MatchedCircuits::Row> rows_{};
  std::map<std::string, Named> names_{};
  std::map<std::string, double> count_{};  // edges of a kind, in the circuits of models other than the reference
  std::set<std::string> of_reference_{};
};

}  // namespace

MatchedCircuits matched_circuits(const ComparedCircuits& compared, const MatchedHeads& heads) {
  if (heads.runs.size() != compared.models.size()) {
    fail("matched_circuits: expected the heads of {}, got those of {}", counted(compared.models.size(), "model"),
         heads.runs.size());
  }
  return Matching(compared, heads).run();
}

}  // namespace heed
