#include "explain/studies/internal/cause_rows.h"

#include <heed/explain/studies/baseline.h>
#include <heed/explain/studies/rank_correlation.h>
#include <heed/models/reading.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

namespace heed {
namespace {

bool changes_weight(Cause::What what) {
  return what == Cause::What::zero_weight || what == Cause::What::zero_weight_all_heads ||
         what == Cause::What::zero_weight_everywhere;
}

// Returns how often the sentences, the longest of which has T tokens, are read. Per head: its outputs, each key of the
// query, that of the antecedent alone and with weight 0, and 9 edges between the other roles. Per layer: all its heads at
// once. Once each: all heads of all layers, cut and with weight 0, and the unchanged model.
double passes(const TransformerConfig& config, Heads among, std::size_t T) {
  const auto keys = static_cast<double>(T);
  const int layers = among.layer < 0 ? config.layers : 2,
            heads = among.head < 0 ? config.heads() : 2;  // one that points
  return layers * (heads * (keys + 14) + keys + 2) + 3;
}

class Study {
 public:
  // `constant` is as for chance_of(), among numbered_answers().
  Study(const HeldOut& held_out, Causes& causes, Heads among, std::optional<int> constant, double passes,
        const OnProgress& progress)
      : held_out_(held_out),
        sentences_(held_out.sentences()),
        answers_(numbered_answers(sentences_)),
        constant_(constant),
        causes_(causes),
        among_(among),
        passes_("causes", passes, progress),
        before_(answers_before()) {
    summarise();
    find_pointing_head();
  }

  void run() {
    for (int layer = 0; layer < held_out_.layers(); ++layer) {
      for (int head = 0; head < held_out_.heads(); ++head) {
        if (!is_measured({layer, head})) continue;
        plan_head({layer, head});
        carry_out();
      }
      if (held_out_.heads() == 1 || !is_measured({layer, -1})) continue;
      plan_edges_of_query(Cause::What::edge_all_heads, {layer, -1});
      plan_edge(Cause::What::zero_weight_all_heads, {layer, -1}, Role::query, Role::antecedent);
      plan_outputs(Cause::What::patch_layer, {layer, -1}, patch_from_counterparts({layer, -1}));
      carry_out();
    }
    if (held_out_.layers() > 1) {
      plan_edge(Cause::What::edge_everywhere, {-1, -1}, Role::query, Role::antecedent);
      plan_edge(Cause::What::zero_weight_everywhere, {-1, -1}, Role::query, Role::antecedent);
    }
    carry_out();
    compare_flips();
    say_what_is_left_out();
    causes_.rank_correlation_last = rank_correlation(last_.weights, last_.changes);
    causes_.rank_correlation_all = rank_correlation(all_.weights, all_.changes);
  }

 private:
  using Answers = std::vector<HeldOut::Answer>;

  // An intervention, and the rows that its answers add to the table.
  struct Planned {
    InterventionOf intervention;
    std::function<void(const Answers&)> use;
  };

  // Returns whether a head is measured; for head -1, whether any of its layer is.
  bool is_measured(Heads one) const {
    const auto is_in = [&](Heads chosen) {
      return (chosen.layer < 0 || chosen.layer == one.layer) &&
             (chosen.head < 0 || one.head < 0 || chosen.head == one.head);
    };
    return is_in(among_) || (causes_.pointing && is_in({causes_.pointing->layer, causes_.pointing->head}));
  }

  bool is_right(std::size_t i, const Answers& answers) const { return answers[i].word == held_out_.right(i); }
  double change(std::size_t i, const Answers& after) const {
    return after[i].probability - before_.answers()[i].probability;
  }

  Baseline answers_before() {
    passes_.next();
    return Baseline(held_out_);
  }

  // Makes the planned interventions, which the processes share out, and uses their answers in the order of the plan.
  void carry_out() {
    const std::vector<Planned> plan = std::exchange(planned_, {});
    std::vector<InterventionOf> interventions;
    for (const Planned& one : plan) interventions.push_back(one.intervention);
    const std::vector<Answers> after = held_out_.answers(interventions, [&] { passes_.next(); });
    for (std::size_t i = 0; i < plan.size(); ++i) plan[i].use(after[i]);
  }

  void plan_head(Heads heads) {
    plan_outputs(Cause::What::zero_ablation, heads, [=](auto) { return ablate(heads); });
    plan_outputs(Cause::What::mean_ablation, heads, mean_ablation(heads));
    plan_edges_of_query(Cause::What::edge, heads);
    plan_edge(Cause::What::zero_weight, heads, Role::query, Role::antecedent);
    if (weight_on_antecedent(heads) >= kept_weight) {
      plan_edge(Cause::What::only_edge, heads, Role::query, Role::antecedent);
    }
    if (heads.layer + 1 < held_out_.layers()) plan_edges_between_roles(heads);
    plan_outputs(Cause::What::patch_head, heads, patch_from_counterparts(heads));
  }

  InterventionOf mean_ablation(Heads heads) const {
    return [this, heads](std::span<const Example> batch) {
      std::vector<int> queries;
      for (const Example& e : batch) queries.push_back(e.query);
      return ablate(heads, before_.mean_output(heads.layer), queries);
    };
  }

  void summarise() {
    std::vector<double> right, probability, both;
    std::vector<int> groups, of_pairs;
    for (std::size_t i = 0; i < sentences_.size(); ++i) {
      right.push_back(is_right(i, before_.answers()));
      groups.push_back(held_out_.group(i));
      probability.push_back(before_.answers()[i].probability);
      if (sentences_[i].counterpart < 0) continue;
      both.push_back(right.back() > 0 && is_right(i ^ 1, before_.answers()));
      of_pairs.push_back(groups.back());
    }
    causes_.sentences = static_cast<int>(sentences_.size());
    causes_.pairs = static_cast<int>(both.size() / 2);
    causes_.accuracy = interval_of(right, groups, share_scale);
    causes_.probability = mean(probability);
    causes_.counterpart_accuracy = interval_of(both, of_pairs, share_scale);
    const Chance chance = chance_of(answers_, fair_choice(sentences_), constant_);
    causes_.chance = chance.share;
    causes_.is_constant = !chance.constant.empty();
  }

  // Returns the mean weight from the query to the antecedent; NaN when no sentence has one.
  double weight_on_antecedent(Heads heads) const {
    std::vector<double> weights;
    for (std::size_t i = 0; i < sentences_.size(); ++i) {
      const double w = before_.weight(i, heads, Role::query, span_of(sentences_[i], Role::antecedent));
      if (!std::isnan(w)) weights.push_back(w);
    }
    return mean(weights);
  }

  void find_pointing_head() {
    for (int layer = 0; layer < held_out_.layers(); ++layer) {
      for (int head = 0; head < held_out_.heads(); ++head) {
        const double weight = weight_on_antecedent({layer, head});
        if (!std::isnan(weight) && (!causes_.pointing || weight > causes_.pointing->weight)) {
          causes_.pointing = {layer, head, weight, no_interval, {}};
        }
      }
    }
  }

  void say_what_is_left_out() {
    const auto none = [&](const auto& fits) { return std::ranges::none_of(causes_.rows, fits); };
    const auto note = [&](const char* text) { causes_.left_out.emplace_back(text); };
    if (!causes_.pointing) {
      note("No sentence has an antecedent: edges to it, to a distractor and to a cue word are left out.");
    } else {
      if (none([](const Cause& row) { return row.to == "other"; })) {
        note("No sentence has a distractor: edges to one are left out, and chance is unknown.");
      }
      if (none([](const Cause& row) { return row.to == "decider"; })) {
        note("No sentence has a cue word beside its antecedent: edges to one are left out.");
      }
    }
    if (none([](const Cause& row) { return is_patch(row.what); })) {
      note("No sentence has a counterpart: there is nothing to patch with.");
    }
  }

  void gather(Gathered& row, std::size_t i, const Answers& after, double weight) const {
    if (!std::isnan(weight)) row.weights.push_back(weight);
    row.changes.push_back(change(i, after));
    row.right.push_back(is_right(i, after));
    row.before.push_back(is_right(i, before_.answers()));
    row.lost.push_back(row.before.back() - row.right.back());
    row.sentences.push_back(static_cast<int>(i));
    row.groups.push_back(held_out_.group(i));
    row.answers.push_back(answers_[i]);
    if (std::isnan(fair_choice({&sentences_[i], 1}))) row.fair = no_figure;
    if (sentences_[i].counterpart < 0) return;
    row.flipped.push_back(held_out_.flips(i, before_.answers()[i], after[i]));
    row.flipped_groups.push_back(row.groups.back());
  }

  // Adds a row to the table, unless no sentence has it.
  void add(const Cause& cause, Heads heads, const Gathered& row) {
    if (row.changes.empty()) return;
    if (cause.what == Cause::What::patch_head) flips_.push_back({heads, row.flipped, row.flipped_groups});
    causes_.rows.push_back(cause_of(cause, heads, row, constant_));
  }

  // Changes the heads' whole output: in all sentences or, by a patch, in those that have a counterpart.
  void plan_outputs(Cause::What what, Heads heads, const InterventionOf& intervention) {
    if (is_patch(what) && std::isnan(causes_.counterpart_accuracy.share)) return;
    const auto use = [=, this](const Answers& after) {
      Gathered row;
      for (std::size_t i = 0; i < sentences_.size(); ++i) {
        if (is_patch(what) && sentences_[i].counterpart < 0) continue;
        gather(row, i, after, before_.weight(i, heads, Role::query, span_of(sentences_[i], Role::antecedent)));
      }
      add({.what = what}, heads, row);
    };
    planned_.push_back({intervention, use});
  }

  void plan_edge(Cause::What what, Heads heads, Role from, Role to) {
    const EdgeOf edge_of = [=](const Example& e) { return Edge{token_of(e, from), span_of(e, to)}; };
    if (std::ranges::none_of(sentences_, [&](const Example& e) { return edge_of(e).exists(); })) return;
    const auto use = [=, this](const Answers& after) {
      Gathered row;
      for (std::size_t i = 0; i < sentences_.size(); ++i) {
        const Edge edge = edge_of(sentences_[i]);
        if (edge.exists()) gather(row, i, after, before_.weight(i, heads, from, edge.to));
      }
      add({.what = what, .from = to_string(from), .to = from == to ? "itself" : to_string(to)}, heads, row);
    };
    planned_.push_back({changes_weight(what)             ? zero_weight_in_each(heads, edge_of)
                        : what == Cause::What::only_edge ? keep_only_in_each(heads, edge_of)
                                                         : cut_in_each(heads, edge_of),
                        use});
  }

  void plan_edges_between_roles(Heads heads) {
    constexpr std::array others{Role::antecedent, Role::distractor, Role::cue};
    for (const Role from : others) {
      for (const Role to : others) plan_edge(Cause::What::edge, heads, from, to);
    }
  }

  // Cuts each key of the query in turn; keys of the same name are cut together.
  void plan_edges_of_query(Cause::What what, Heads heads) {
    const std::vector<bool> none(sentences_.size());
    const auto found =
        std::make_shared<EdgesOfQuery>(EdgesOfQuery{std::vector<Gathered>(std::size(key_names)), none, none});
    const int keys = static_cast<int>(longest(sentences_));
    for (int key = 0; key < keys; ++key) {
      const auto edge_of = [key](const Example& e) { return Edge{e.query, keys_from(e, key)}; };
      const auto use = [=, this](const Answers& after) {
        for (std::size_t i = 0; i < sentences_.size(); ++i) {
          const Edge edge = edge_of(sentences_[i]);
          if (edge.exists()) add_key(*found, what, heads, i, key, edge, after);
        }
        if (key + 1 == keys) add_edges_of_query(*found, what, heads);
      };
      planned_.push_back({cut_in_each(heads, edge_of), use});
    }
  }

  void add_key(EdgesOfQuery& found, Cause::What what, Heads heads, std::size_t i, int key, const Edge& edge,
               const Answers& after) {
    const auto name = std::ranges::find(key_names, name_of(sentences_[i], key)) - std::begin(key_names);
    const double weight = before_.weight(i, heads, Role::query, edge.to);
    gather(found.rows[static_cast<std::size_t>(name)], i, after, weight);
    if (key_names[static_cast<std::size_t>(name)] == "rest") {
      found.has_rest[i] = true;
      found.moved[i] = found.moved[i] || after[i].word != before_.answers()[i].word;
    }
    if (what == Cause::What::edge) correlate(heads.layer, weight, std::abs(change(i, after)));
  }

  void add_edges_of_query(const EdgesOfQuery& found, Cause::What what, Heads heads) {
    for (std::size_t n = 0; n < std::size(key_names); ++n) {
      Cause cause{.what = what, .from = "query", .to = std::string(key_names[n])};
      if (cause.to == "rest") {
        cause.sentences = static_cast<int>(std::ranges::count(found.has_rest, true));
        std::vector<double> unmoved;
        std::vector<int> groups;
        for (std::size_t i = 0; i < sentences_.size(); ++i) {
          if (!found.has_rest[i]) continue;
          unmoved.push_back(!found.moved[i]);
          groups.push_back(held_out_.group(i));
        }
        cause.unmoved = interval_of(unmoved, groups, share_scale);
      }
      add(cause, heads, found.rows[n]);
    }
    compare_with_layer(what, heads, found.rows[0]);
  }

  // Compares the answers lost in the whole layer with those lost in the head that points, on the same sentences.
  void compare_with_layer(Cause::What what, Heads heads, const Gathered& antecedent) {
    if (!causes_.pointing || heads.layer != causes_.pointing->layer) return;
    if (what == Cause::What::edge && heads.head == causes_.pointing->head) lost_alone_ = antecedent.lost;
    if (what != Cause::What::edge_all_heads) return;
    std::vector<double> more = antecedent.lost;
    for (std::size_t i = 0; i < more.size(); ++i) more[i] -= lost_alone_.at(i);
    causes_.pointing->others = interval_of(more, antecedent.groups, difference_scale);
  }

  // Compares the head with the largest flip rate with the one that points, on the same sentences.
  void compare_flips() {
    if (!causes_.pointing || flips_.empty()) return;
    const auto most = std::ranges::max_element(flips_, {}, [](const Flips& one) { return mean(one.flipped); });
    const auto points = std::ranges::find_if(flips_, [&](const Flips& one) {
      return one.heads.layer == causes_.pointing->layer && one.heads.head == causes_.pointing->head;
    });
    std::vector<double> more = most->flipped;
    for (std::size_t i = 0; i < more.size(); ++i) more[i] -= points->flipped.at(i);
    const double error = 0.05 / static_cast<double>(flips_.size());  // the largest of many is picked
    if (interval_of(more, most->groups, difference_scale, error).is_above(0))
      causes_.pointing->flips_more = most->heads;
  }

  void correlate(int layer, double weight, double effect) {
    all_.weights.push_back(weight);
    all_.changes.push_back(effect);
    if (layer + 1 < held_out_.layers()) return;
    last_.weights.push_back(weight);
    last_.changes.push_back(effect);
  }

  // The answers that a patched head turns into the counterpart's (1), or does not (0).
  struct Flips {
    Heads heads;
    std::vector<double> flipped;
    std::vector<int> groups;
  };

  const HeldOut& held_out_;
  const std::vector<Example>& sentences_;
  std::vector<int> answers_;
  std::optional<int> constant_;
  Causes& causes_;
  Heads among_;
  Passes passes_;
  Baseline before_;
  std::vector<Planned> planned_;
  Gathered all_, last_;  // edges of the query: weights and absolute changes
  std::vector<Flips> flips_;
  std::vector<double> lost_alone_;  // without the edge to the antecedent in the head that points
};

}  // namespace

std::vector<const Cause*> Causes::with_loss(std::vector<const Cause*> rows) {
  std::ranges::sort(rows, {}, &Cause::p);
  std::size_t shown = 0;
  while (shown < rows.size() && rows[shown]->p * static_cast<double>(rows.size() - shown) < 0.05) ++shown;
  rows.resize(shown);
  std::erase_if(rows, [](const Cause* row) { return row->lost.share <= 0; });
  return rows;
}

const Cause* Causes::find(Cause::What what, int layer, int head, const std::string& to) const {
  const auto found = std::ranges::find_if(rows, [&](const Cause& row) {
    return row.what == what && row.layer == layer && row.head == head && row.to == to &&
           (row.from.empty() || row.from == "query");
  });
  return found == rows.end() ? nullptr : &*found;
}

bool answers_by_attention_alone(const Model& model) {
  const TransformerConfig& config = model.transformer().config;
  const bool mlp_reads_input = config.block.parallel && config.block.mlp.width > 0;
  return !config.last_residual && !mlp_reads_input;
}

Causes causes_beside(const ConstantOf& constant_of, const Model& model, const std::vector<Example>& held_out,
                     const StudyOptions& options, Heads among) {
  Causes result;
  result.step = model.step;
  result.held_out = static_cast<int>(held_out.size());
  result.is_text = holds_spaces(model);
  const TransformerConfig& config = model.transformer().config;
  result.attention_alone = answers_by_attention_alone(model);
  const double times = passes(config, among, longest(held_out));
  const HeldOut used(model, held_out, sentences_to_use(options.most, config, held_out, times), options.processes);
  const double own = passes(config, among, longest(used.sentences())) / options.processes.size();
  Study(used, result, among, constant_of(used.sentences()), own, options.progress).run();
  if (model.head().chooses_candidates())
    result.left_out.emplace_back("The model chooses among candidates, so no logit of a word is attributed.");
  return result;
}

Causes causes(const Model& model, const std::vector<Example>& held_out, const std::vector<Example>& watched,
              const StudyOptions& options, Heads among) {
  Causes result = causes_beside([](const auto&) { return std::nullopt; }, model, held_out, options, among);
  if (model.head().chooses_candidates()) return result;
  for (const Example& example : watched) result.attribution.push_back(attribute(model, example));
  return result;
}

}  // namespace heed
