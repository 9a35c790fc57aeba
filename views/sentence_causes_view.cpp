#include "views/sentence_text.h"
#include "views/shown_heads.h"
#include "views/view.h"

#include <heed/explain/studies/sentence_causes.h>
#include <heed/tokenizers/graphemes.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

using Head = SentenceCauses::Head;

std::string head_name(const Head& head) { return fmt::format("layer {} head {}", head.layer + 1, head.head + 1); }

// "the probability of Paris", "the logit of Mary minus that of John"
std::string measure_text(const SentenceCauses& causes) {
  const std::string answer = token_text(causes.answer);
  return causes.has_rival() ? fmt::format("the logit of {} minus that of {}", answer, token_text(causes.rival))
                            : fmt::format("the probability of {}", answer);
}

double largest_cut_of(const Head& head) {
  const int token = head.largest_cut();
  return token < 0 ? 0 : head.cuts[static_cast<std::size_t>(token)];
}

// The share that patching restores, or the size of the change by zero ablation: what the verdict is about.
double measured_effect(const Head& head) { return std::isnan(head.restored) ? std::abs(head.zero) : head.restored; }

// The largest absolute change of the measure in any column of the table. A patch changes the counterpart's.
double largest_effect(const SentenceCauses& causes, const Head& head) {
  const double patched = head.restored * (causes.difference - causes.pair_difference);
  return std::max({std::abs(head.zero), std::abs(head.mean), std::abs(largest_cut_of(head)),
                   std::isnan(patched) ? 0 : std::abs(patched)});
}

std::string verdict_of_ablation(const SentenceCauses& causes, const Head& most) {
  const std::string answer = token_text(causes.answer);
  const bool is_changed = most.answer_without != causes.answer;
  return fmt::format("{} depends most on {}: zero-ablated, its probability is {:.3f} instead of {:.3f}, and {}.",
                     answer, head_name(most), causes.probability + most.zero, causes.probability,
                     is_changed ? fmt::format("the answer is {}", token_text(most.answer_without))
                                : fmt::format("{} stays the answer", answer));
}

std::string verdict_of_patch(const SentenceCauses& causes, const Head& most) {
  const std::string share = percent(most.restored);
  const std::string difference =
      fmt::format("the difference between {} and {}", token_text(causes.answer), token_text(causes.rival));
  if (most.restored >= 0.5) {
    return fmt::format("Layer {} head {} carries {}: patched into the pair, it restores {} of it.", most.layer + 1,
                       most.head + 1, difference, share);
  }
  return fmt::format("No single head carries half of {}: {} restores most, {}.", difference, head_name(most), share);
}

std::vector<std::string> verdict(const SentenceCauses& causes, bool is_whole_model) {
  const Head& most = *std::ranges::max_element(causes.heads, {}, measured_effect);
  std::vector<std::string> lines{causes.has_rival() ? verdict_of_patch(causes, most)
                                                    : verdict_of_ablation(causes, most)};
  if (!is_whole_model) lines[0] = "Of the heads measured: " + lines[0];
  const auto changing =
      std::ranges::count_if(causes.heads, [&](const Head& head) { return head.answer_without != causes.answer; });
  lines.push_back(
      fmt::format("Zero ablation of one head changes the answer for {} of {} heads.", changing, causes.heads.size()));
  const Head& cut =
      *std::ranges::max_element(causes.heads, {}, [](const Head& head) { return std::abs(largest_cut_of(head)); });
  if (const int token = cut.largest_cut(); token >= 0) {
    lines.push_back(fmt::format("Of all edges from {}, {} -> {} in {} matters most: cut, it changes {} by {}.",
                                token_label(causes.tokens, causes.query), token_label(causes.tokens, causes.query),
                                token_label(causes.tokens, token), head_name(cut), measure_text(causes),
                                signed_figure(largest_cut_of(cut))));
    lines.push_back(fmt::format(
        "With the weight of that edge set to 0 instead, so that no other token receives it, the change is {}.",
        signed_figure(cut.zero_weight)));
  }
  lines.emplace_back(
      "One sentence is an anecdote: the next one may depend on other heads. Ask several before you conclude.");
  return lines;
}

// On a narrow terminal the edge is on a line below the head.
std::string line_text(const std::string& head, const std::string& zero, const std::string& mean,
                      const std::string& restored, const std::string& edge, const Terminal& terminal) {
  const std::string figures = fmt::format("{:<17}{:>7}{:>8}{:>8}", head, zero, mean, restored);
  if (terminal.width >= 80) return trimmed(figures + "   " + fit_width(edge, terminal.width - 44)) + "\n";
  return trimmed(figures) + "\n" + (edge.empty() ? "" : trimmed("  " + fit_width(edge, terminal.width - 3)) + "\n");
}

std::string head_text(const SentenceCauses& causes, const Head& head, const Terminal& terminal) {
  std::string edge;
  if (const int token = head.largest_cut(); token >= 0) {
    edge = fmt::format("{} {} (weight {:.2f})", token_label(causes.tokens, token), signed_figure(largest_cut_of(head)),
                       head.weights[static_cast<std::size_t>(token)]);
  }
  const std::string restored = std::isnan(head.restored) ? "" : fmt::format("{:.1f} %", 100 * head.restored);
  return line_text(head_name(head), signed_figure(head.zero), signed_figure(head.mean), restored, edge, terminal);
}

}  // namespace

std::string sentence_causes_view(const SentenceCauses& causes, const View& view) {
  const Terminal& terminal = view.terminal;
  std::string text;
  for (const std::string& line : verdict(causes, !view.layer && !view.head)) text += paragraph(line, terminal);
  text += "\n" + sentence_text(causes.tokens, causes.query, {}, terminal) + "\n" +
          paragraph(fmt::format("predicts {} with probability {:.3f}", token_text(causes.answer), causes.probability),
                    terminal);
  if (causes.has_rival()) {
    text += sentence_text(causes.pair_tokens, causes.query, {}, terminal) + "\n" +
            paragraph(fmt::format("the pair, predicts {}; {}: {:.3f} above, {:.3f} here", token_text(causes.rival),
                                  measure_text(causes), causes.difference, causes.pair_difference),
                      terminal);
  }
  text += "\n" + paragraph(fmt::format("Changes of {}:", measure_text(causes)), terminal);
  text += line_text("", "zero", "mean", causes.has_rival() ? "patched" : "", "edge whose cut changes most", terminal);
  std::vector<Head> heads = causes.heads;
  const std::size_t most =
      static_cast<std::size_t>(heads_that_fit(terminal, causes.has_rival() ? 2 : 1, terminal.width < 80 ? 2 : 1));
  if (!view.layer && !view.head) {
    std::ranges::stable_sort(heads, std::greater<>(), [&](const Head& head) { return largest_effect(causes, head); });
    heads.resize(std::min(heads.size(), most));
  }
  for (const Head& head : heads) text += head_text(causes, head, terminal);
  if (heads.size() < causes.heads.size()) {
    text += paragraph(
        fmt::format("Shown: {} of {} heads, sorted by their largest absolute change in any column{}. --layer {} shows "
                    "all of layer {}, --json all heads.",
                    heads.size(), causes.heads.size(),
                    causes.has_rival() ? " (patched: of the pair's logit difference)" : "", heads[0].layer + 1,
                    heads[0].layer + 1),
        terminal);
  }
  return text;
}

Json sentence_causes_json(const SentenceCauses& causes) {
  Json heads = Json::array();
  for (const Head& head : causes.heads) {
    Json cuts = Json::array();
    for (const double cut : head.cuts) cuts.push_back(number_or_null(cut));
    heads.push_back({{"layer", head.layer},
                     {"head", head.head},
                     {"zero", head.zero},
                     {"mean", head.mean},
                     {"answer_without", head.answer_without},
                     {"restored", number_or_null(head.restored)},
                     {"weights", head.weights},
                     {"cuts", std::move(cuts)},
                     {"zero_weight", number_or_null(head.zero_weight)}});
  }
  const bool is_pair = causes.has_rival();
  return {{"tokens", causes.tokens},
          {"query", causes.query},
          {"answer", causes.answer},
          {"probability", causes.probability},
          {"pair", is_pair ? Json(causes.pair_tokens) : Json()},
          {"rival", is_pair ? Json(causes.rival) : Json()},
          {"measure", is_pair ? "logit difference" : "probability"},
          {"difference", number_or_null(causes.difference)},
          {"pair_difference", number_or_null(causes.pair_difference)},
          {"heads", std::move(heads)}};
}

}  // namespace heed
