#include <heed/explain/studies/baseline.h>
#include <heed/explain/studies/cause_history.h>

#include <algorithm>
#include <optional>

namespace heed {
namespace {

constexpr ScoreScale weight_scale{0, 1, 0}, effect_scale{-1, 1, 0};

// Returns the mean weight of the edge from the query to the antecedent, and the effect of cutting it, one of `steps` steps.
CauseHistory::Edge effect_of(const std::vector<HeldOut::Answer>& after, const HeldOut& held_out,
                             const std::vector<int>& groups, const Baseline& before, const Chance& chance, Heads heads,
                             std::size_t steps) {
  std::vector<double> weights, effects, right_before, right;
  for (std::size_t i = 0; i < after.size(); ++i) {
    weights.push_back(before.weight(i, heads, Role::query, span_of(held_out.sentences()[i], Role::antecedent)));
    effects.push_back(before.answers()[i].probability - after[i].probability);
    right_before.push_back(before.answers()[i].word == held_out.right(i));
    right.push_back(after[i].word == held_out.right(i));
  }
  const double error = 0.05 / static_cast<double>(steps);  // at all steps at once
  return {interval_of(weights, groups, weight_scale, error), interval_of(effects, groups, effect_scale, error),
          interval_of(right, groups, share_scale), verdict_of(right_before, right, groups, chance)};
}

CauseHistory::Step step_of(const Model& model, const HeldOut& held_out, const std::vector<int>& groups,
                           std::size_t steps, Passes& passes) {
  passes.next();
  const Baseline before(held_out);
  CauseHistory::Step step{.step = model.step, .accuracy = 0, .probability = 0, .heads = {}, .layers = {}};
  const auto count = static_cast<double>(before.answers().size());
  for (std::size_t i = 0; i < before.answers().size(); ++i) {
    step.accuracy += (before.answers()[i].word == held_out.right(i)) / count;
    step.probability += before.answers()[i].probability / count;
  }
  std::vector<Heads> cut;  // each head, and then its layer
  for (int layer = 0; layer < held_out.layers(); ++layer) {
    for (int head = 0; head < held_out.heads(); ++head) cut.push_back({layer, head});
    if (held_out.heads() > 1) cut.push_back({layer, -1});
  }
  const EdgeOf to_antecedent = [](const Example& e) { return Edge{e.query, span_of(e, Role::antecedent)}; };
  std::vector<InterventionOf> interventions;
  for (const Heads heads : cut) interventions.push_back(cut_in_each(heads, to_antecedent));
  const auto after = held_out.answers(interventions, [&] { passes.next(); });
  const Chance chance = chance_of(held_out.sentences());
  step.heads.resize(static_cast<std::size_t>(held_out.layers()));
  for (std::size_t i = 0; i < cut.size(); ++i) {
    const CauseHistory::Edge edge = effect_of(after[i], held_out, groups, before, chance, cut[i], steps);
    if (cut[i].head >= 0) step.heads[static_cast<std::size_t>(cut[i].layer)].push_back(edge);
    if (cut[i].head < 0 || held_out.heads() == 1) step.layers.push_back(edge);
  }
  return step;
}

}  // namespace

CauseHistory::Head CauseHistory::pointing() const {
  Head best{0, 0};
  const auto& heads = steps.back().heads;
  for (std::size_t layer = 0; layer < heads.size(); ++layer) {
    for (std::size_t head = 0; head < heads[layer].size(); ++head) {
      if (heads[layer][head].weight.share >
          heads[static_cast<std::size_t>(best.layer)][static_cast<std::size_t>(best.head)].weight.share)
        best = {static_cast<int>(layer), static_cast<int>(head)};
    }
  }
  return best;
}

CauseHistory cause_history(std::size_t count, const std::function<Model(std::size_t)>& load,
                           std::vector<Example> held_out, const StudyOptions& options) {
  CauseHistory history;
  history.held_out = static_cast<int>(held_out.size());
  std::vector<Example> with_antecedent;
  const std::vector<int> all_groups = observations_of(held_out);
  std::vector<int> groups;
  for (std::size_t i = 0; i < held_out.size(); ++i) {
    Example& e = held_out[i];
    if (e.antecedent < 0) continue;
    groups.push_back(all_groups[i]);
    e.counterpart = -1;  // counterparts are not used
    with_antecedent.push_back(std::move(e));
  }
  if (with_antecedent.empty()) fail("the held-out sentences have no antecedents, so no edge can be cut");
  std::optional<Passes> passes;
  for (std::size_t i = 0; i < count; ++i) {
    const Model model = load(i);
    const TransformerConfig& config = model.transformer().config;
    const double cuts = config.layers * (config.heads() + (config.heads() > 1)), models = static_cast<double>(count);
    if (!passes)
      passes.emplace("weights and effects", (cuts / options.processes.size() + 1) * models, options.progress);
    const std::size_t used = sentences_to_use(options.most, config, with_antecedent, (cuts + 1) * models);
    const HeldOut sentences(model, with_antecedent, used, options.processes);
    history.sentences = static_cast<int>(sentences.sentences().size());
    history.steps.push_back(step_of(model, sentences, groups, count, *passes));
  }
  return history;
}

}  // namespace heed
