#include "views/sentence_text.h"
#include "views/shown_heads.h"
#include "views/view.h"

#include <heed/explain/studies/causes.h>
#include <heed/files/utf8.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

constexpr std::size_t of_many = 2;  // heads shown of a model with more than always_shown
constexpr double slight = 0.01;     // smaller changes are omitted, except for edges from the query

// On a narrow terminal the intervention is on its own line above the figures.
bool is_narrow(const Terminal& terminal) { return terminal.width < 80; }

std::string row_text(const std::string& what, const std::string& weight, const std::string& probability,
                     const std::string& right, const std::string& counterpart, const Terminal& terminal) {
  if (is_narrow(terminal)) {
    const std::string figures = trimmed(fmt::format("{:>6}{:>16}{:>9}{:>9}", weight, probability, right, counterpart));
    return (what.empty() ? "" : what + "\n") + figures + "\n";
  }
  return trimmed(fmt::format("{:<35}{:>7}{:>18}{:>10}{:>10}", what, weight, probability, right, counterpart)) + "\n";
}

std::string label(const Cause& row) {
  const auto edge = fmt::format("{} -> {}", role_text(row.from), role_text(row.to));
  switch (row.what) {
    case Cause::What::zero_ablation:
      return "  zero-ablated";
    case Cause::What::mean_ablation:
      return "  mean-ablated";
    case Cause::What::only_edge:
      return "  keep only " + edge;
    case Cause::What::zero_weight:
    case Cause::What::zero_weight_all_heads:
    case Cause::What::zero_weight_everywhere:
      return "  zero weight " + edge;
    case Cause::What::patch_head:
    case Cause::What::patch_layer:
      return "  patched from the minimal pair";
    default:
      return "  cut " + edge;
  }
}

// Returns the rows of one head, or with -1 those of all heads of a layer together. Returns "" without such rows.
std::string rows_text(const Causes& causes, int layer, int head, const View& view) {
  std::string text;
  int slight_ones = 0;
  for (const Cause& row : causes.rows) {
    if (row.layer != layer || row.head != head) continue;
    if (row.from != "query" && !row.from.empty() && std::abs(row.probability) < slight && row.spread < slight) {
      ++slight_ones;
      continue;
    }
    const std::string weight = row.from.empty() || std::isnan(row.weight) ? "" : fmt::format("{:.2f}", row.weight);
    const std::string line =
        row_text(label(row), weight, fmt::format("{} ± {:.3f}", signed_figure(row.probability), row.spread),
                 percent(row.accuracy.share, ""), percent(row.flipped.share, ""), view.terminal);
    const bool points = causes.pointing && layer == causes.pointing->layer && head == causes.pointing->head &&
                        row.what == Cause::What::edge && row.to == "antecedent";
    text += points ? highlighted(line, view.terminal) : line;
    if (row.sentences != causes.sentences) {
      text += fmt::format("    of {} sentences, before {}\n", row.sentences, percent(row.before.share));
    }
  }
  if (slight_ones > 0) {
    text += paragraph(fmt::format("  {} edges between other tokens: less than {} each", slight_ones, slight),
                      view.terminal, 4);
  }
  if (text.empty()) return "";
  if (layer < 0) return "every head of every layer\n" + text;
  return fmt::format("layer {} {}\n", layer + 1, head < 0 ? "every head" : fmt::format("head {}", head + 1)) + text;
}

// Returns a line per head; with many heads, only the two with the largest contributions.
std::string attribution_text(const Attribution& one, bool is_text, const View& view) {
  std::string text =
      fmt::format("\n{}\nthe logit of {} is {:.3f}:\n",
                  sentence_text(one.tokens, one.query, antecedent_span(one.antecedent), view.terminal, is_text),
                  highlighted(token_text(one.answer), view.terminal), one.logit);
  struct Part {
    int head;
    double logit;
    std::vector<Attribution::Term> terms;
  };
  std::vector<Part> heads;
  for (const Attribution::Term& term : one.terms) {
    if (heads.empty() || heads.back().head != term.head) heads.push_back({term.head, 0, {}});
    heads.back().logit += term.logit;
    heads.back().terms.push_back(term);
  }
  const bool some = std::ssize(heads) > always_shown && !view.layer && !view.head;
  if (some) std::ranges::stable_sort(heads, std::greater(), [](const Part& part) { return std::abs(part.logit); });
  std::string rest;
  double others = 0;
  for (std::size_t i = 0; i < heads.size(); ++i) {
    if (some && i >= of_many) {
      others += heads[i].logit;
      continue;
    }
    std::vector<Attribution::Term>& terms = heads[i].terms;
    std::ranges::stable_sort(terms, std::greater(), [](const auto& term) { return std::abs(term.logit); });
    std::string line = fmt::format("  layer {} head {}", one.layer + 1, heads[i].head + 1);
    double smaller = 0;
    for (std::size_t t = 0; t < terms.size(); ++t) {
      if (t < 2) {
        line += fmt::format("  {} {:+.3f}", token_label(one.tokens, terms[t].source), terms[t].logit);
      } else {
        smaller += terms[t].logit;
      }
    }
    text += paragraph(line + fmt::format("  others {:+.3f}", smaller), view.terminal, 4);
  }
  if (some) rest = fmt::format("  {} other heads {:+.3f}", heads.size() - of_many, others);
  for (const auto& [what, logit] : one.rest) rest += fmt::format("  {} {:+.3f}", what, logit);
  return text + paragraph(rest + fmt::format("  = {:.3f}", one.sum()), view.terminal, 2);
}

// Selects all heads of a small model. In a larger model, selects the heads with the most weight on the antecedent, or if it
// is unknown, those whose output, replaced, changes the answers most.
ShownHeads heads_of(const Causes& causes, const View& view) {
  std::vector<int> heads;
  for (const Cause& row : causes.rows) {
    if (row.layer < 0) continue;
    heads.resize(std::max(heads.size(), static_cast<std::size_t>(row.layer) + 1));
    heads.back() = std::max(heads.back(), row.head + 1);
  }
  const auto importance = [&](HeadIndex at) {
    if (const Cause* edge = causes.find(Cause::What::edge, at.layer, at.head, "antecedent")) return edge->weight;
    double most = 0;
    for (const auto what : {Cause::What::zero_ablation, Cause::What::mean_ablation, Cause::What::patch_head}) {
      if (const Cause* row = causes.find(what, at.layer, at.head)) most = std::max(most, std::abs(row->probability));
    }
    return most;
  };
  const ShownHeads all = shown_heads(heads, view, always_shown, importance);
  return all.of <= always_shown ? all : shown_heads(heads, view, static_cast<int>(of_many), importance);
}

// The correlation is undefined if all weights or all effects are equal.
std::string correlation_text(const Causes& causes) {
  const double last = causes.rank_correlation_last, all = causes.rank_correlation_all;
  if (std::isnan(last) || std::isnan(all)) {
    return "The rank correlation of weights and effects of cuts is undefined: all weights, or all effects, are equal.";
  }
  return fmt::format(
      "Rank correlation (Spearman) of weight and effect of a cut, over all edges of the queries: {:.2f} in the "
      "last layer and {:.2f} in all layers.",
      last, all);
}

}  // namespace

std::string role_text(const std::string& role) {
  return role == "other" ? "distractor" : role == "decider" ? "cue word" : role == "rest" ? "other tokens" : role;
}

std::string causes_view(const Causes& causes, const View& view) {
  std::string text =
      fmt::format("step {}: {} of {} held-out sentences\n", causes.step, causes.sentences, causes.held_out);
  std::string answered = fmt::format("{} of them are answered right", percent(causes.accuracy));
  if (!std::isnan(causes.counterpart_accuracy.share)) {
    answered += fmt::format("; of {} minimal pairs both are in {}", causes.pairs, percent(causes.counterpart_accuracy));
  }
  answered += fmt::format("; the answer's mean probability is {:.3f}", causes.probability);
  text += paragraph(answered, view.terminal) + "\n" +
          paragraph(causes.pointing ? "Is the attention the cause?" : "Which heads do the answers depend on?",
                    view.terminal);
  std::vector<std::string> lines = causes_verdict(causes);
  lines.insert(lines.end(), causes.left_out.begin(), causes.left_out.end());
  if (std::ranges::any_of(causes.rows, [](const Cause& row) { return row.verdict.lost.share > 1; })) {
    lines.emplace_back("More than 100 % of the advantage is lost where accuracy falls below chance.");
  }
  if (!view.layer && !view.head) lines.push_back(correlation_text(causes));
  for (const std::string& line : lines) text += paragraph(line, view.terminal);
  text += "\n" + row_text("", "weight", "probability", "accuracy", "flip", view.terminal);
  text += row_text("", "", "change ± sd", "after", "rate", view.terminal);
  const ShownHeads shown = heads_of(causes, view);
  for (std::size_t i = 0; i < shown.heads.size(); ++i) {
    const int layer = shown.heads[i].layer;
    text += rows_text(causes, layer, shown.heads[i].head, view);
    const bool last_of_layer = std::none_of(shown.heads.begin() + static_cast<std::ptrdiff_t>(i) + 1, shown.heads.end(),
                                            [&](HeadIndex later) { return later.layer == layer; });
    if (last_of_layer && !view.head) text += rows_text(causes, layer, -1, view);
  }
  if (!view.layer && !view.head) text += rows_text(causes, -1, -1, view);
  text += left_out_text(shown,
                        causes.pointing ? "those with the most weight on the antecedent"
                                        : "those whose output, zeroed, averaged or patched, changes most",
                        view.terminal);
  if (causes.attribution.empty()) return text;
  text += "\n" + paragraph("Attribution: parts that add up to the logit of an answer", view.terminal);
  for (const Attribution& one : causes.attribution) text += attribution_text(one, causes.is_text, view);
  const bool marked =
      std::ranges::any_of(causes.attribution, [](const Attribution& one) { return one.antecedent >= 0; });
  return marked ? text + "\n" + antecedent_legend(false, view.terminal) : text;
}

}  // namespace heed
