#include "inspect/views/induction_view.h"

#include "inspect/views/shown_heads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace heed {
namespace {

constexpr double unknown_score = std::numeric_limits<double>::quiet_NaN();

std::vector<std::vector<HeadScores>> scores_of(const Dump& dump) {
  if (dump.sentences.empty()) fail("step {}: the snapshot lacks sentences", dump.step);
  return head_scores(dump.sentences);
}

std::string score_cell(double score) { return std::isnan(score) ? "    -" : fmt::format(" {:4.2f}", score); }

// Scores of every head at one step.
struct Scored {
  std::int64_t step;
  double loss;                                  // on held-out examples; NaN: unknown
  std::vector<std::vector<HeadScores>> scores;  // [layer][head]

  const HeadScores& at(HeadIndex of) const {
    return scores[static_cast<std::size_t>(of.layer)][static_cast<std::size_t>(of.head)];
  }
};

std::vector<Scored> scored(const std::vector<Dump>& dumps, const std::vector<Metrics>& metrics) {
  std::vector<Scored> all;
  for (const Dump& dump : dumps) {
    const auto line = std::ranges::find(metrics, dump.step, &Metrics::step);
    all.push_back({dump.step, line == metrics.end() ? unknown_score : line->held_out.loss, scores_of(dump)});
  }
  return all;
}

std::vector<HeadIndex> chosen_heads(const Scored& one, const View& view) {
  std::vector<int> heads_of;
  for (const std::vector<HeadScores>& layer : one.scores) heads_of.push_back(static_cast<int>(layer.size()));
  return chosen_heads(heads_of, view);
}

// "At step 400 layer 1 head 1 attends most to the token before (0.99), layer 2 head 1 most ... (0.83)."
std::string largest_text(const Scored& last, const std::vector<HeadIndex>& heads) {
  const auto largest = [&](double HeadScores::*score) {
    const HeadIndex best = *std::ranges::max_element(heads, {}, [&](HeadIndex at) {
      const double value = last.at(at).*score;
      return std::isnan(value) ? -1 : value;
    });
    return std::isnan(last.at(best).*score)
               ? "-"
               : fmt::format("{:.2f} in layer {} head {}", last.at(best).*score, best.layer + 1, best.head + 1);
  };
  return fmt::format("Largest scores at step {}: previous token {}, induction {}.", last.step,
                     largest(&HeadScores::previous_token), largest(&HeadScores::induction));
}

}  // namespace

std::string best_head_text(const Dump& dump, double HeadScores::*score) {
  if (dump.sentences.empty()) return "-";
  double largest = -1;
  HeadIndex best{};
  const auto scores = head_scores(dump.sentences);
  for (std::size_t layer = 0; layer < scores.size(); ++layer) {
    for (std::size_t head = 0; head < scores[layer].size(); ++head) {
      if (const double value = scores[layer][head].*score; value > largest) {
        largest = value;
        best = {static_cast<int>(layer), static_cast<int>(head)};
      }
    }
  }
  return largest < 0 ? "-" : fmt::format("{:.2f} layer {} head {}", largest, best.layer + 1, best.head + 1);
}

std::string induction_view(const std::vector<Dump>& dumps, const std::vector<Metrics>& metrics, const View& view) {
  const std::vector<Scored> all = scored(dumps, metrics);
  const std::vector<HeadIndex> columns = chosen_heads(all.at(0), view);
  constexpr int margin = 16, column_width = 12;
  const std::size_t a_table = static_cast<std::size_t>(std::max(1, (view.terminal.width - margin) / column_width));
  std::string text = paragraph(largest_text(all.back(), columns), view.terminal) +
                     paragraph(
                         "prev: mean weight from a token to the one before it; ind: to the token that followed its "
                         "earlier occurrence.",
                         view.terminal);
  for (std::size_t first = 0; first < columns.size(); first += a_table) {
    const std::size_t end = std::min(columns.size(), first + a_table);
    std::string above = std::string(margin, ' '), names = fmt::format("{:>6}  {:>8}", "step", "loss");
    for (std::size_t c = first; c < end; ++c) {
      above +=
          fmt::format("{:>{}}", fmt::format("layer {}.{}", columns[c].layer + 1, columns[c].head + 1), column_width);
      names += "   prev  ind";
    }
    text += "\n" + above + "\n" + names + "\n";
    for (const Scored& one : all) {
      text += fmt::format("{:>6}  {:>8}", one.step, std::isnan(one.loss) ? "-" : fmt::format("{:.4f}", one.loss));
      for (std::size_t c = first; c < end; ++c) {
        text += "  " + score_cell(one.at(columns[c]).previous_token) + score_cell(one.at(columns[c]).induction);
      }
      text += "\n";
    }
  }
  return text;
}

Json induction_json(const std::vector<Dump>& dumps, const std::vector<Metrics>& metrics, const View& view) {
  Json steps = Json::array();
  for (const Scored& one : scored(dumps, metrics)) {
    Json heads = Json::array();
    for (const HeadIndex at : chosen_heads(one, view)) {
      heads.push_back({{"layer", at.layer},
                       {"head", at.head},
                       {"previous_token", number_or_null(one.at(at).previous_token)},
                       {"induction", number_or_null(one.at(at).induction)}});
    }
    steps.push_back({{"step", one.step}, {"loss", number_or_null(one.loss)}, {"heads", std::move(heads)}});
  }
  return {{"steps", std::move(steps)}};
}

}  // namespace heed
