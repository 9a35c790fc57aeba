#include "inspect/causal/cause_history.h"

#include "inspect/causal/baseline.h"
#include "run/dump.h"
#include "run/run_directory.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

constexpr double apart = 0.25;         // of shares of their largest
constexpr double least_effect = 0.05;  // that counts as one

// The mean weight of the edge from the query to the antecedent, and what cutting it does.
CauseHistory::Edge cut_edge(const HeldOut& held_out, const std::vector<int>& groups, const Baseline& before,
                            Heads heads) {
  const EdgeOf to_antecedent = [](const Example& e) { return Edge{e.query, span_of(e, Role::antecedent)}; };
  const std::vector<HeldOut::Answer> after = held_out.answers(cut(heads, held_out, to_antecedent));
  std::vector<double> weights, effects, right;
  for (std::size_t i = 0; i < after.size(); ++i) {
    weights.push_back(before.weight(i, heads, Role::query, span_of(held_out.sentences()[i], Role::antecedent)));
    effects.push_back(before.answers()[i].probability - after[i].probability);
    right.push_back(after[i].word == held_out.right(i));
  }
  return {interval_of(weights, groups), interval_of(effects, groups), interval_of(right, groups)};
}

CauseHistory::Step step_of(const SavedModel& model, const HeldOut& held_out, const std::vector<int>& groups,
                           Passes& passes) {
  passes.next();
  const Baseline before(held_out);
  const auto cut_in = [&](Heads heads) {
    passes.next();
    return cut_edge(held_out, groups, before, heads);
  };
  CauseHistory::Step step{.step = model.step, .accuracy = 0, .probability = 0, .heads = {}, .layers = {}};
  const auto count = static_cast<double>(before.answers().size());
  for (std::size_t i = 0; i < before.answers().size(); ++i) {
    step.accuracy += (before.answers()[i].word == held_out.right(i)) / count;
    step.probability += before.answers()[i].probability / count;
  }
  for (int layer = 0; layer < held_out.layers(); ++layer) {
    step.heads.emplace_back();
    for (int head = 0; head < held_out.heads(); ++head) {
      step.heads.back().push_back(cut_in({layer, head}));
    }
    step.layers.push_back(held_out.heads() == 1 ? step.heads.back()[0] : cut_in({layer, -1}));
  }
  return step;
}

// The kept models of a run, in order, with the last.
std::vector<std::filesystem::path> models_of(const std::filesystem::path& run) {
  std::vector<std::filesystem::path> files;
  std::vector<std::int64_t> steps = dumped_model_steps(run);
  for (const std::int64_t step : steps) files.push_back(dumped_model_path(run, step));
  if (files.empty()) {
    fail("{}: keeps no model but the last, so nothing can be cut at earlier steps; train with dump.weights: true",
         run.string());
  }
  if (const std::filesystem::path last = model_path(run); std::filesystem::exists(last)) {
    if (saved_step(last) > steps.back()) files.push_back(last);
  }
  return files;
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

CauseHistory cause_history(const std::filesystem::path& run, int most, const OnProgress& progress) {
  const std::vector<std::filesystem::path> files = models_of(run);
  CauseHistory history;
  std::vector<Example> held_out = read_held_out(run);
  history.held_out = static_cast<int>(held_out.size());
  std::vector<Example> with_antecedent;
  std::vector<int> groups;  // the same number for both of a pair
  for (int i = 0; i < std::ssize(held_out); ++i) {
    Example& e = held_out[static_cast<std::size_t>(i)];
    if (e.antecedent < 0) continue;
    groups.push_back(e.twin < 0 ? i : std::min(i, e.twin));
    e.twin = -1;  // nothing is taken from twins
    with_antecedent.push_back(std::move(e));
  }
  held_out = std::move(with_antecedent);
  if (held_out.empty()) {
    fail("{}: no held-out sentence says what its query refers to, so there is no edge to cut", run.string());
  }
  std::optional<Passes> passes;
  for (const std::filesystem::path& file : files) {
    const SavedModel model = load_model(file);
    const TransformerConfig& config = model.transformer().config;
    const double all =
        (config.layers * (config.heads() + (config.heads() > 1)) + 1) * static_cast<double>(files.size());
    if (!passes) passes.emplace("weights and effects", all, progress);
    const HeldOut sentences(model, held_out,
                            most > 0 ? static_cast<std::size_t>(most) : affordable(config, held_out, all));
    history.sentences = static_cast<int>(sentences.sentences().size());
    history.steps.push_back(step_of(model, sentences, groups, *passes));
  }
  return history;
}

std::vector<std::string> history_verdict(const CauseHistory& history, int layer, int head) {
  struct Point {
    std::int64_t step;
    Interval weight, effect;
  };
  std::vector<Point> points;
  std::optional<std::int64_t> depends;  // from this step on more than half of the answer's probability does
  Interval most_weight{0, 0, 0}, most_effect{0, 0, 0};
  bool has_effect = false;
  const auto keep_larger = [](Interval& most, const Interval& now) {
    if (now.share > most.share) most = now;
  };
  for (const CauseHistory::Step& step : history.steps) {
    const CauseHistory::Edge& edge = step.heads.at(static_cast<std::size_t>(layer)).at(static_cast<std::size_t>(head));
    points.push_back({step.step, edge.weight, edge.effect});
    if (!edge.effect.is_above(step.probability / 2)) {
      depends.reset();
    } else if (!depends) {
      depends = step.step;
    }
    has_effect = has_effect || edge.effect.is_above(0);
    keep_larger(most_weight, edge.weight);
    keep_larger(most_effect, edge.effect);
  }
  if (std::ranges::all_of(history.steps, [](const CauseHistory::Step& step) { return step.accuracy == 0; })) {
    return {"At no kept step is an answer right: there is nothing whose cause could be found."};
  }
  if (!has_effect || most_effect.share < least_effect) {
    return {fmt::format(
        "At no kept step does cutting that edge cost the answer more than {} of its probability{}; the "
        "largest weight is {}.",
        with_error(most_effect), has_effect ? "" : ", which is not shown to be above 0", with_error(most_weight))};
  }
  const auto first_half = [&](Interval Point::*value, double most) {
    return *std::ranges::find_if(points, [&](const Point& p) { return (p.*value).share >= most / 2; });
  };
  const Point grown = first_half(&Point::weight, most_weight.share);
  const Point matters = first_half(&Point::effect, most_effect.share);
  const bool weight_first = grown.step < matters.step && grown.effect.high < most_effect.low / 2;
  const bool effect_first = matters.step < grown.step && matters.weight.high < most_weight.low / 2;
  std::vector<std::string> lines{
      fmt::format("The weight reaches half of its largest, {}, at step {}; the effect reaches half of its largest, {}, "
                  "at step {}.",
                  with_error(most_weight), grown.step, with_error(most_effect), matters.step)};
  if (weight_first) {
    lines.push_back(fmt::format("The weight grew before the effect: at step {} the effect is still {}.", grown.step,
                                with_error(grown.effect)));
  } else if (effect_first) {
    lines.push_back(fmt::format("The effect grew before the weight: at step {} the weight is still {}.", matters.step,
                                with_error(matters.weight)));
  } else if (grown.step != matters.step) {
    lines.emplace_back("Which of the two grew first is not shown.");
  }
  // Runs of steps in which one share is ahead of the other.
  std::vector<std::string> parted;
  for (std::size_t i = 0; i < points.size();) {
    const auto ahead = [&](std::size_t at) {
      const auto& [step, weight, effect] = points[at];
      const double gap = weight.share / most_weight.share - effect.share / most_effect.share;
      const double error = weight.error() / most_weight.share + effect.error() / most_effect.share;
      return std::abs(gap) - error <= apart ? 0 : gap > 0 ? 1 : -1;
    };
    const int side = ahead(i);
    std::size_t end = i + 1;
    while (end < points.size() && ahead(end) == side) ++end;
    if (side != 0) {
      const auto figures = [](const Point& p) {
        return fmt::format("weight {}, effect {}", with_error(p.weight), with_error(p.effect));
      };
      parted.push_back(end - i == 1 ? fmt::format("at step {} ({})", points[i].step, figures(points[i]))
                                    : fmt::format("from step {} ({}) to {} ({})", points[i].step, figures(points[i]),
                                                  points[end - 1].step, figures(points[end - 1])));
      parted.back() += side > 0 ? ", the weight ahead" : ", the effect ahead";
    }
    i = end;
  }
  lines.push_back(parted.empty()
                      ? "As shares of their largest the two are nowhere shown to be more than a quarter apart."
                      : fmt::format("As shares of their largest the two are more than a quarter apart {}.",
                                    fmt::join(parted, "; ")));
  if (depends) {
    lines.push_back(
        fmt::format("From step {} on cutting that edge takes more than half of the answer's probability.", *depends));
  }
  return lines;
}

Json history_json(const CauseHistory& history) {
  const auto edge_json = [](const CauseHistory::Edge& e) {
    return Json{{"weight", e.weight.share},     {"weight_error", e.weight.error()},
                {"effect", e.effect.share},     {"effect_error", e.effect.error()},
                {"accuracy", e.accuracy.share}, {"accuracy_error", e.accuracy.error()}};
  };
  Json steps = Json::array(), verdicts = Json::array();
  for (const CauseHistory::Step& step : history.steps) {
    Json heads = Json::array(), layers = Json::array();
    for (const auto& of_layer : step.heads) {
      heads.push_back(Json::array());
      for (const CauseHistory::Edge& edge : of_layer) heads.back().push_back(edge_json(edge));
    }
    for (const CauseHistory::Edge& edge : step.layers) layers.push_back(edge_json(edge));
    steps.push_back({{"step", step.step},
                     {"accuracy", step.accuracy},
                     {"probability", step.probability},
                     {"heads", std::move(heads)},
                     {"layers", std::move(layers)}});
  }
  for (std::size_t layer = 0; layer < history.steps.at(0).heads.size(); ++layer) {
    verdicts.push_back(Json::array());
    for (std::size_t head = 0; head < history.steps[0].heads[layer].size(); ++head) {
      verdicts.back().push_back(history_verdict(history, static_cast<int>(layer), static_cast<int>(head)));
    }
  }
  return {{"sentences", history.sentences},
          {"held_out", history.held_out},
          {"steps", std::move(steps)},
          {"verdict", std::move(verdicts)}};
}

}  // namespace heed
