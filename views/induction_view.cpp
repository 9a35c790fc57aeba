#include "views/induction_view.h"

#include "views/shown_heads.h"

#include <heed/files/utf8.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace heed {
namespace {

constexpr double unknown_score = std::numeric_limits<double>::quiet_NaN();

std::vector<std::vector<HeadScores>> scores_of(const Dump& dump) {
  if (dump.sentences.empty()) fail("step {}: the snapshot has no sentences", dump.step);
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
  return fmt::format("Largest scores in the watched sentences at step {}: previous token {}, induction {}.", last.step,
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

namespace {

std::vector<HeadIndex> heads_of(const RepeatedScores& scores, const View& view) {
  std::vector<int> counts;
  for (const auto& layer : scores.heads) counts.push_back(static_cast<int>(layer.size()));
  return chosen_heads(counts, view);
}

const RepeatedScores::Head& head_at(const RepeatedScores& scores, HeadIndex at) {
  return scores.heads[static_cast<std::size_t>(at.layer)][static_cast<std::size_t>(at.head)];
}

std::vector<HeadIndex> by_induction(const RepeatedScores& scores, const View& view) {
  std::vector<HeadIndex> heads = heads_of(scores, view);
  std::ranges::stable_sort(heads, std::greater<>(), [&](HeadIndex at) { return head_at(scores, at).induction.share; });
  return heads;
}

// Returns which heads are induction heads, with the rule.
std::string heads_verdict(const RepeatedScores& scores, const View& view) {
  std::vector<std::string> found, undecided;
  for (const HeadIndex at : by_induction(scores, view)) {
    const Interval& score = head_at(scores, at).induction;
    const std::string name = fmt::format("layer {} head {}", at.layer + 1, at.head + 1);
    if (scores.is_induction(at.layer, at.head)) found.push_back(fmt::format("{} ({:.2f})", name, score.share));
    if (scores.is_undecided(at.layer, at.head)) {
      undecided.push_back(fmt::format("{} ({:.2f} to {:.2f})", name, score.low, score.high));
    }
  }
  const auto rule = [&](const char* place) {
    return fmt::format(
        "over {} sequences of {} to {} different random tokens, each read twice, the mean weight from a token of the "
        "second copy to the one behind its first copy has an interval {} {:.2f} (95 % for all heads together)",
        scores.sequences, scores.min_length, scores.max_length, place, RepeatedScores::least);
  };
  const std::string doubt =
      undecided.empty() ? "" : fmt::format("Cannot tell of {}, whose interval contains", listed(undecided, ", ", 8));
  if (!found.empty()) {
    return fmt::format("Induction heads: {}: {}.{}", listed(found, ", ", 8), rule("above"),
                       doubt.empty() ? "" : fmt::format(" {} {:.2f}.", doubt, RepeatedScores::least));
  }
  if (doubt.empty()) return fmt::format("No head alone is an induction head: for each, {}.", rule("below"));
  return fmt::format("{} {:.2f}. No head is shown to be an induction head: for none, {}.", doubt, RepeatedScores::least,
                     rule("above"));
}

}  // namespace

std::string repeated_verdict(const RepeatedScores& scores, const View& view) {
  const std::string predicted =
      std::isnan(scores.right.share)
          ? ""
          : fmt::format(" The model predicts {:.1f} % ({:.1f} to {:.1f}) of the tokens of the second copies right.",
                        100 * scores.right.share, 100 * scores.right.low, 100 * scores.right.high);
  return heads_verdict(scores, view) + predicted;
}

std::string repeated_view(const RepeatedScores& scores, const View& view) {
  std::string text = paragraph(repeated_verdict(scores, view), view.terminal) + "\n";
  std::vector<HeadIndex> heads = by_induction(scores, view);
  const std::size_t all = heads.size();
  if (!view.layer && !view.head) {
    heads.resize(std::min(all, static_cast<std::size_t>(heads_that_fit(view.terminal, 1, 1))));
  }
  const auto cell = [](const Interval& score) {
    return fmt::format("{:.2f} ({:.2f} to {:.2f})", score.share, score.low, score.high);
  };
  if (view.terminal.width >= 68) text += fmt::format("{:<19}{:<23}{}\n", "", "induction", "previous token");
  for (const HeadIndex at : heads) {
    const auto& [previous, induction] = head_at(scores, at);
    const std::string name = fmt::format("layer {} head {}", at.layer + 1, at.head + 1);
    text += view.terminal.width >= 68
                ? fmt::format("{:<19}{:<23}{}\n", name, cell(induction), cell(previous))
                : fmt::format("{}\n  induction {}\n  previous  {}\n", name, cell(induction), cell(previous));
  }
  if (heads.size() < all) {
    text +=
        paragraph(fmt::format("Shown: {} of {} heads, those with the largest induction scores. --layer {} shows all "
                              "of layer {}, --json all heads.",
                              heads.size(), all, heads[0].layer + 1, heads[0].layer + 1),
                  view.terminal);
  }
  return text;
}

Json repeated_json(const RepeatedScores& scores, const View& view) {
  Json heads = Json::array();
  for (const HeadIndex at : heads_of(scores, view)) {
    heads.push_back({{"layer", at.layer},
                     {"head", at.head},
                     {"previous_token", interval_json(head_at(scores, at).previous_token)},
                     {"induction", interval_json(head_at(scores, at).induction)},
                     {"is_induction", scores.is_induction(at.layer, at.head)},
                     {"is_undecided", scores.is_undecided(at.layer, at.head)}});
  }
  return {{"sequences", scores.sequences},        {"min_length", scores.min_length}, {"max_length", scores.max_length},
          {"right", interval_json(scores.right)}, {"least", RepeatedScores::least},  {"heads", std::move(heads)}};
}

std::string induction_view(const std::vector<Dump>& dumps, const std::vector<Metrics>& metrics, const View& view) {
  const std::vector<Scored> all = scored(dumps, metrics);
  const std::vector<HeadIndex> columns = chosen_heads(all.at(0), view);
  constexpr int margin = 16, column_width = 12;
  const std::size_t a_table = static_cast<std::size_t>(std::max(1, (view.terminal.width - margin) / column_width));
  std::string text =
      paragraph(largest_text(all.back(), columns), view.terminal) +
      paragraph(fmt::format("prev: mean weight from a token to the one before it; ind: to the token that "
                            "followed its earlier occurrence, over {} that occur again.",
                            counted(repeated_tokens(dumps.back().sentences), "token")),
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
