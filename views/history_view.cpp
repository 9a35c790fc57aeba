#include "views/view.h"

#include <heed/explain/studies/cause_history.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace heed {
namespace {

constexpr double far_apart = 0.25;   // difference of two shares of their maxima
constexpr double min_effect = 0.05;  // smaller effects count as none

// "0.96 █████████▋", or without the bar on a narrow terminal.
std::string figure_and_bar(double value, const Terminal& terminal) {
  constexpr int columns = 10;
  const std::string figure = std::abs(value) < 0.005 ? " 0.00" : fmt::format("{:5.2f}", value);
  if (terminal.width < 80) return figure;
  return fmt::format("{} {:<{}}", figure, bar(std::clamp(value, 0.0, 1.0), columns), columns);
}

std::string history_of_head(const CauseHistory& history, int layer, int head, const View& view) {
  const bool is_narrow = view.terminal.width < 60;  // without the last column
  const bool has_others = !is_narrow && history.steps[0].heads[static_cast<std::size_t>(layer)].size() > 1;
  const std::string titles = view.terminal.width < 80
                                 ? fmt::format("{:>6}  {:>7} {:>6}  {:>6}", "step", "before", "weight", "effect")
                                 : fmt::format("{:>6}  {:>7}  {:<17}  {:<16}", "step", "before", " weight", " effect");
  std::string text = fmt::format("layer {} head {}: query -> antecedent\n", layer + 1, head + 1);
  for (const std::string& line : history_verdict(history, layer, head)) text += paragraph(line, view.terminal);
  text += trimmed(fmt::format("{}  {:>7}  {}", titles, "after", has_others ? "every head" : "")) + "\n";
  for (const CauseHistory::Step& step : history.steps) {
    const auto l = static_cast<std::size_t>(layer);
    const CauseHistory::Edge &edge = step.heads[l][static_cast<std::size_t>(head)], &all = step.layers[l];
    text += trimmed(fmt::format("{:>6}  {:>7}  {}   {}  {:>7}  {:>10}", step.step, percent(step.accuracy),
                                figure_and_bar(edge.weight.share, view.terminal),
                                figure_and_bar(edge.effect.share, view.terminal), percent(edge.accuracy.share),
                                has_others ? percent(all.accuracy.share) : "")) +
            "\n";
  }
  return text;
}

}  // namespace

std::vector<std::string> history_verdict(const CauseHistory& history, int layer, int head) {
  struct Point {
    std::int64_t step;
    Interval weight, effect;
  };
  std::vector<Point> points;
  std::optional<std::int64_t> depends;  // step from which all of the advantage over chance is lost without the edge
  Interval max_weight{0, 0, 0}, max_effect{0, 0, 0};
  bool has_effect = false;
  const auto keep_larger = [](Interval& most, const Interval& now) {
    if (now.share > most.share) most = now;
  };
  for (const CauseHistory::Step& step : history.steps) {
    const CauseHistory::Edge& edge = step.heads.at(static_cast<std::size_t>(layer)).at(static_cast<std::size_t>(head));
    points.push_back({step.step, edge.weight, edge.effect});
    if (edge.lost.kind != Verdict::Kind::all) {
      depends.reset();
    } else if (!depends) {
      depends = step.step;
    }
    has_effect = has_effect || edge.effect.is_above(0);
    keep_larger(max_weight, edge.weight);
    keep_larger(max_effect, edge.effect);
  }
  if (std::ranges::all_of(history.steps, [](const CauseHistory::Step& step) { return step.accuracy == 0; })) {
    return {"At no kept step is an answer right: there is nothing whose cause could be found."};
  }
  if (!has_effect || max_effect.share < min_effect) {
    return {fmt::format(
        "The largest cost of cutting that edge at a kept step is {} of the answer's probability{}; the largest "
        "weight is {}.",
        with_error(max_effect), has_effect ? "" : ", which is not shown to be above 0", with_error(max_weight))};
  }
  const auto first_half = [&](Interval Point::*value, double most) {
    return *std::ranges::find_if(points, [&](const Point& p) { return (p.*value).share >= most / 2; });
  };
  const Point grown = first_half(&Point::weight, max_weight.share);
  const Point matters = first_half(&Point::effect, max_effect.share);
  const bool weight_first = grown.step < matters.step && grown.effect.high < max_effect.low / 2;
  const bool effect_first = matters.step < grown.step && matters.weight.high < max_weight.low / 2;
  std::vector<std::string> lines{
      fmt::format("The weight reaches half of its largest, {}, at step {}; the effect reaches half of its largest, {}, "
                  "at step {}.",
                  with_error(max_weight), grown.step, with_error(max_effect), matters.step)};
  if (grown.step == points.front().step) {
    lines.emplace_back(
        "The weight is as large from the first kept step on, so this does not show which of the two grew first.");
  } else if (weight_first) {
    lines.push_back(fmt::format("The weight grew before the effect: at step {} the effect is still {}.", grown.step,
                                with_error(grown.effect)));
  } else if (effect_first) {
    lines.push_back(fmt::format("The effect grew before the weight: at step {} the weight is still {}.", matters.step,
                                with_error(matters.weight)));
  } else if (grown.step != matters.step) {
    lines.emplace_back("This does not show which of the two grew first.");
  }
  // Intervals of steps in which one share exceeds the other.
  std::vector<std::string> parted;
  for (std::size_t i = 0; i < points.size();) {
    const auto ahead = [&](std::size_t at) {
      const auto& [step, weight, effect] = points[at];
      const double gap = weight.share / max_weight.share - effect.share / max_effect.share;
      const double error = weight.error() / max_weight.share + effect.error() / max_effect.share;
      return std::abs(gap) - error <= far_apart ? 0 : gap > 0 ? 1 : -1;
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
        fmt::format("From step {} on, at least {:.0f} % of the {} is lost without that edge.", *depends, 100 * all_lost,
                    std::isnan(history.steps.back().heads[0][0].lost.chance) ? "accuracy" : "advantage over chance"));
  }
  return lines;
}

std::string history_view(const CauseHistory& history, const View& view) {
  std::string text;
  const CauseHistory::Head points = history.pointing();
  const auto& heads_now = history.steps.back().heads;
  const Range layers = view.layer || view.head ? chosen_range("layer", view.layer, static_cast<int>(heads_now.size()))
                                               : Range{points.layer, points.layer + 1};
  for (int layer = layers.begin; layer < layers.end; ++layer) {
    const int count = static_cast<int>(heads_now[static_cast<std::size_t>(layer)].size());
    const Range heads =
        view.layer || view.head ? chosen_range("head", view.head, count) : Range{points.head, points.head + 1};
    for (int head = heads.begin; head < heads.end; ++head) text += history_of_head(history, layer, head, view) + "\n";
  }
  return text +
         paragraph(fmt::format(
                       "Over {} of {} held-out sentences; ± is half of an interval that holds at all steps with 95 %:",
                       history.sentences, history.held_out),
                   view.terminal) +
         legend({{"before", "accuracy before the cut"},
                 {"weight", "the query's mean weight on the antecedent"},
                 {"effect", "by how much the answer's probability falls when that edge is cut"},
                 {"after", "accuracy after the cut in that head"},
                 {"every head", "accuracy after the cut in every head of the layer"}},
                view.terminal);
}

Json history_json(const CauseHistory& history) {
  const auto edge_json = [](const CauseHistory::Edge& e) {
    return Json{
        {"weight", e.weight.share},         {"weight_error", e.weight.error()}, {"effect", e.effect.share},
        {"effect_error", e.effect.error()}, {"accuracy", e.accuracy.share},     {"accuracy_error", e.accuracy.error()},
        {"accuracy_low", e.accuracy.low},   {"accuracy_high", e.accuracy.high}, {"lost", verdict_json(e.lost)}};
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
