#include "inspect/causal/cause_history.h"

#include "inspect/causal/baseline.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

constexpr double apart = 0.25;         // of shares of their largest
constexpr double least_effect = 0.05;  // that counts as one

// The mean weight of the edge from the query to the antecedent, and what cutting it does.
CauseHistory::Edge cut_edge(const HeldOut& held_out, const Baseline& before, Heads heads) {
  const EdgeOf to_antecedent = [](const Example& e) { return Edge{e.query, span_of(e, Role::antecedent)}; };
  const std::vector<HeldOut::Answer> after = held_out.answers(cut(heads, held_out, to_antecedent));
  CauseHistory::Edge edge;
  for (std::size_t i = 0; i < after.size(); ++i) {
    edge.weight += before.weight(i, heads, Role::query, span_of(held_out.sentences()[i], Role::antecedent));
    edge.effect += before.answers()[i].probability - after[i].probability;
    edge.accuracy += after[i].word == held_out.right(i);
  }
  const auto count = static_cast<double>(after.size());
  return {edge.weight / count, edge.effect / count, edge.accuracy / count};
}

CauseHistory::Step step_of(const SavedModel& model, const HeldOut& held_out) {
  const Baseline before(held_out);
  CauseHistory::Step step{.step = model.step, .accuracy = 0, .probability = 0, .heads = {}, .layers = {}};
  const auto count = static_cast<double>(before.answers().size());
  for (std::size_t i = 0; i < before.answers().size(); ++i) {
    step.accuracy += (before.answers()[i].word == held_out.right(i)) / count;
    step.probability += before.answers()[i].probability / count;
  }
  for (int layer = 0; layer < held_out.layers(); ++layer) {
    step.heads.emplace_back();
    for (int head = 0; head < held_out.heads(); ++head) {
      step.heads.back().push_back(cut_edge(held_out, before, {layer, head}));
    }
    step.layers.push_back(held_out.heads() == 1 ? step.heads.back()[0] : cut_edge(held_out, before, {layer, -1}));
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
      if (heads[layer][head].weight >
          heads[static_cast<std::size_t>(best.layer)][static_cast<std::size_t>(best.head)].weight)
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
  std::erase_if(held_out, [](const Example& e) { return e.antecedent < 0; });
  for (Example& e : held_out) e.twin = -1;  // nothing is taken from twins
  if (held_out.empty()) {
    fail("{}: no held-out sentence says what its query refers to, so there is no edge to cut", run.string());
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (progress) progress("weights and effects", static_cast<double>(i) / static_cast<double>(files.size()));
    const SavedModel model = load_model(files[i]);
    const ReaderConfig& config = model.reader->config;
    const double passes = config.layers * (config.attention.heads + 1) + 1;
    const std::size_t used = most > 0 ? static_cast<std::size_t>(most)
                                      : affordable(config, held_out, passes * static_cast<double>(files.size()));
    const HeldOut sentences(model, held_out, used);
    history.sentences = static_cast<int>(sentences.sentences().size());
    history.steps.push_back(step_of(model, sentences));
  }
  return history;
}

std::vector<std::string> history_verdict(const CauseHistory& history, int layer, int head) {
  struct Point {
    std::int64_t step;
    double weight, effect;
  };
  std::vector<Point> points;
  std::optional<std::int64_t> hangs;  // from where on more than half of the answer's probability does
  double most_weight = 0, most_effect = 0;
  for (const CauseHistory::Step& step : history.steps) {
    const CauseHistory::Edge& edge = step.heads.at(static_cast<std::size_t>(layer)).at(static_cast<std::size_t>(head));
    points.push_back({step.step, edge.weight, edge.effect});
    if (edge.effect <= step.probability / 2) {
      hangs.reset();
    } else if (!hangs) {
      hangs = step.step;
    }
    most_weight = std::max(most_weight, edge.weight);
    most_effect = std::max(most_effect, edge.effect);
  }
  if (std::ranges::all_of(history.steps, [](const CauseHistory::Step& step) { return step.accuracy == 0; })) {
    return {"At no kept step is an answer right: there is nothing whose cause could be found."};
  }
  if (most_effect < least_effect) {
    return {
        fmt::format("Cutting that edge never costs the answer more than {:.2f} of its probability, with a weight of "
                    "up to {:.2f}: it was never the cause.",
                    std::max(0.0, most_effect), most_weight)};
  }
  const auto first_half = [&](double Point::*value, double most) {
    return std::ranges::find_if(points, [&](const Point& p) { return p.*value >= most / 2; });
  };
  const auto looks = first_half(&Point::weight, most_weight), matters = first_half(&Point::effect, most_effect);
  const auto later = matters - looks;  // by so many dumped steps
  std::vector<std::string> lines{fmt::format(
      "The weight has half of its largest ({:.2f}) at step {}, the effect half of its ({:.2f}) at step {}: {}.",
      most_weight, looks->step, most_effect, matters->step,
      later > 1    ? "it looked there before that mattered"
      : later < -1 ? "its look mattered before it was strong"
                   : "it looked there when that mattered")};
  // Runs of steps in which one share is ahead of the other.
  std::vector<std::string> parted;
  for (std::size_t i = 0; i < points.size();) {
    const auto ahead = [&](std::size_t at) {
      const double gap = points[at].weight / most_weight - points[at].effect / most_effect;
      return std::abs(gap) <= apart ? 0 : gap > 0 ? 1 : -1;
    };
    const int side = ahead(i);
    std::size_t end = i + 1;
    while (end < points.size() && ahead(end) == side) ++end;
    if (side != 0) {
      const auto figures = [](const Point& p) {
        return fmt::format("weight {:.2f}, effect {:.2f}", p.weight, p.effect);
      };
      parted.push_back(end - i == 1 ? fmt::format("at step {} ({})", points[i].step, figures(points[i]))
                                    : fmt::format("from step {} ({}) to {} ({})", points[i].step, figures(points[i]),
                                                  points[end - 1].step, figures(points[end - 1])));
      parted.back() += side > 0 ? ", the weight ahead" : ", the effect ahead";
    }
    i = end;
  }
  lines.push_back(parted.empty() ? "As shares of their largest the two are never more than a quarter apart."
                                 : fmt::format("As shares of their largest the two are more than a quarter apart {}.",
                                               fmt::join(parted, "; ")));
  if (hangs)
    lines.push_back(fmt::format("From step {} on more than half of the answer's probability hangs on it.", *hangs));
  return lines;
}

Json history_json(const CauseHistory& history) {
  const auto edge_json = [](const CauseHistory::Edge& e) {
    return Json{{"weight", e.weight}, {"effect", e.effect}, {"accuracy", e.accuracy}};
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
