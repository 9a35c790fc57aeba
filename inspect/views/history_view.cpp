#include "inspect/causal/cause_history.h"
#include "inspect/views/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

// "0.96 █████████▋", or without the bar on a narrow terminal.
std::string figure_and_bar(double value, const Terminal& terminal) {
  constexpr int columns = 10;
  const std::string figure = std::abs(value) < 0.005 ? " 0.00" : fmt::format("{:5.2f}", value);
  if (terminal.width < 80) return figure;
  return fmt::format("{} {:<{}}", figure, bar(std::clamp(value, 0.0, 1.0), columns), columns);
}

std::string history_of_head(const CauseHistory& history, int layer, int head, const View& view) {
  const bool has_others = history.steps[0].heads[static_cast<std::size_t>(layer)].size() > 1;
  const int width = view.terminal.width < 80 ? 5 : 16;
  std::string text = fmt::format("layer {} head {}: query -> antecedent\n", layer + 1, head + 1);
  for (const std::string& line : history_verdict(history, layer, head))
    text += wrapped(line, view.terminal.width) + "\n";
  text += trimmed(fmt::format("{:>6}  {:>7}  {:<{}}  {:<{}}  {:>7}  {}", "step", "before", " weight", width + 1,
                              " effect", width, "after", has_others ? "every head" : "")) +
          "\n";
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
         wrapped(fmt::format("Over {} of {} held-out sentences. weight: the query's mean weight on the antecedent; "
                             "effect: by how much the answer's probability falls when that edge is cut; before, after: "
                             "accuracy before the cut and after it; every head: after cutting it in every head of the "
                             "layer. ± is half of a 95 % interval.",
                             history.sentences, history.held_out),
                 view.terminal.width) +
         "\n";
}

}  // namespace heed
