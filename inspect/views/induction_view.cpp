#include "inspect/views/induction_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace heed {
namespace {

// What followed the latest token before `token` that is the same; -1 where there is none.
int follower_of_same(const std::vector<std::string>& tokens, int token) {
  for (int earlier = token - 1; earlier >= 0; --earlier) {
    if (tokens[static_cast<std::size_t>(earlier)] == tokens[static_cast<std::size_t>(token)]) return earlier + 1;
  }
  return -1;
}

HeadScores scores_of(const Dump& dump, std::size_t layer, std::int64_t head) {
  HeadScores sums;
  int tokens = 0, repeated = 0;
  for (const SentenceAttention& sentence : dump.sentences) {
    const Tensor& weights = sentence.layers.at(layer);  // (heads, T, T)
    for (int t = 1; t < std::ssize(sentence.tokens); ++t) {
      sums.previous_token += weights.at({head, t, t - 1});
      ++tokens;
      const int follower = follower_of_same(sentence.tokens, t);
      if (follower < 0) continue;
      sums.induction += weights.at({head, t, follower});
      ++repeated;
    }
  }
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  return {tokens ? sums.previous_token / tokens : unknown, repeated ? sums.induction / repeated : unknown};
}

std::string score_cell(double score) { return std::isnan(score) ? "    -" : fmt::format(" {:4.2f}", score); }

}  // namespace

std::vector<std::vector<HeadScores>> head_scores(const Dump& dump) {
  std::vector<std::vector<HeadScores>> scores;
  if (dump.sentences.empty()) fail("step {}: the dump holds no sentences", dump.step);
  for (std::size_t layer = 0; layer < dump.sentences[0].layers.size(); ++layer) {
    scores.emplace_back();
    for (std::int64_t head = 0; head < dump.sentences[0].layers[layer].size(0); ++head) {
      scores.back().push_back(scores_of(dump, layer, head));
    }
  }
  return scores;
}

std::string induction_view(const std::vector<Dump>& dumps, const std::vector<Metrics>& metrics, const View& view) {
  std::vector<std::vector<std::vector<HeadScores>>> all;  // a dump, a layer, a head
  for (const Dump& dump : dumps) all.push_back(head_scores(dump));
  struct Column {
    std::size_t layer, head;
  };
  std::vector<Column> columns;
  const Range layers = chosen_range("layer", view.layer, static_cast<int>(all.at(0).size()));
  for (int layer = layers.begin; layer < layers.end; ++layer) {
    const auto l = static_cast<std::size_t>(layer);
    const Range heads = chosen_range("head", view.head, static_cast<int>(all[0][l].size()));
    for (int head = heads.begin; head < heads.end; ++head) columns.push_back({l, static_cast<std::size_t>(head)});
  }
  constexpr int margin = 16, column_width = 12;
  const std::size_t a_table = static_cast<std::size_t>(std::max(1, (view.terminal.width - margin) / column_width));
  std::string text = wrapped(
      "Mean weight from a token to the one before it (prev), and to what followed it when it came before (ind).",
      view.terminal.width);
  text += "\n";
  for (std::size_t first = 0; first < columns.size(); first += a_table) {
    const std::size_t end = std::min(columns.size(), first + a_table);
    std::string above = std::string(margin, ' '), names = fmt::format("{:>6}  {:>8}", "step", "loss");
    for (std::size_t c = first; c < end; ++c) {
      above +=
          fmt::format("{:>{}}", fmt::format("layer {}.{}", columns[c].layer + 1, columns[c].head + 1), column_width);
      names += "   prev  ind";
    }
    text += "\n" + above + "\n" + names + "\n";
    for (std::size_t i = 0; i < dumps.size(); ++i) {
      const auto line = std::ranges::find(metrics, dumps[i].step, &Metrics::step);
      text += fmt::format("{:>6}  {:>8}", dumps[i].step,
                          line == metrics.end() ? "-" : fmt::format("{:.4f}", line->held_out.loss));
      for (std::size_t c = first; c < end; ++c) {
        const HeadScores& scores = all[i][columns[c].layer][columns[c].head];
        text += "  " + score_cell(scores.previous_token) + score_cell(scores.induction);
      }
      text += "\n";
    }
  }
  return text;
}

}  // namespace heed
