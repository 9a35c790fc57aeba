#include "inspect/causal/causes.h"
#include "inspect/views/sentence_text.h"
#include "inspect/views/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

constexpr double slight = 0.01;  // change of a probability that is not worth a line between tokens other than the query

// "+0.123"; without a sign where it rounds to 0.
std::string signed_figure(double value) { return std::abs(value) < 0.0005 ? " 0.000" : fmt::format("{:+.3f}", value); }

std::string row_text(const std::string& what, const std::string& weight, const std::string& probability,
                     const std::string& right, const std::string& twin) {
  return trimmed(fmt::format("{:<35}{:>7}{:>18}{:>10}{:>10}", what, weight, probability, right, twin)) + "\n";
}

std::string label(const Cause& row) {
  const std::string to = row.to == "rest" ? "each of the rest" : row.to;
  switch (row.what) {
    case Cause::zero_ablation:
      return "  output 0";
    case Cause::mean_ablation:
      return "  output its mean";
    case Cause::only_edge:
      return fmt::format("  keep {} -> {} alone", row.from, to);
    case Cause::patch_head:
    case Cause::patch_layer:
      return "  output of the twin sentence";
    default:
      return fmt::format("  cut {} -> {}", row.from, to);
  }
}

// The rows of one head, or with -1 of all heads of a layer at once; none when there are no such rows.
std::string rows_text(const Causes& causes, int layer, int head, const View& view) {
  std::string text;
  int left_out = 0;
  for (const Cause& row : causes.rows) {
    if (row.layer != layer || row.head != head) continue;
    if (row.from != "query" && !row.from.empty() && std::abs(row.probability) < slight && row.spread < slight) {
      ++left_out;
      continue;
    }
    const std::string weight = row.from.empty() || std::isnan(row.weight) ? "" : fmt::format("{:.2f}", row.weight);
    const std::string line =
        row_text(label(row), weight, fmt::format("{} ± {:.3f}", signed_figure(row.probability), row.spread),
                 percent(row.accuracy, ""), percent(row.flipped, ""));
    const bool points = causes.pointing && layer == causes.pointing->layer && head == causes.pointing->head &&
                        row.what == Cause::edge && row.to == "antecedent";
    text += points ? highlighted(line, view.terminal) : line;
    if (row.sentences != causes.sentences)
      text += fmt::format("    in {} of {} sentences\n", row.sentences, causes.sentences);
  }
  if (left_out > 0) text += fmt::format("  {} edges between other tokens: less than {} each\n", left_out, slight);
  if (text.empty()) return "";
  return fmt::format("layer {} {}\n", layer + 1, head < 0 ? "all heads at once" : fmt::format("head {}", head + 1)) +
         text;
}

std::string attribution_text(const Attribution& one, int heads, const View& view) {
  std::string text = fmt::format("\n{}\nthe logit of {} is {:.3f}:\n",
                                 sentence_text(one.tokens, one.query, one.antecedent, view.terminal),
                                 highlighted(one.answer, view.terminal), one.logit);
  for (int head = 0; head < heads; ++head) {
    std::vector<Attribution::Term> terms;
    std::ranges::copy_if(one.terms, std::back_inserter(terms), [&](const auto& term) { return term.head == head; });
    std::ranges::stable_sort(terms, std::greater(), [](const auto& term) { return std::abs(term.logit); });
    text += fmt::format("  layer {} head {}", one.layer + 1, head + 1);
    double others = 0;
    for (std::size_t i = 0; i < terms.size(); ++i) {
      if (i < 2) {
        text += fmt::format("  {} {:+.3f}", token_label(one.tokens, terms[i].source), terms[i].logit);
      } else {
        others += terms[i].logit;
      }
    }
    text += fmt::format("  others {:+.3f}\n", others);
  }
  std::string rest;
  for (const auto& [what, logit] : one.rest) rest += fmt::format("  {} {:+.3f}", what, logit);
  return text + wrapped(rest + fmt::format("  = {:.3f}", one.sum()), view.terminal.width, 2) + "\n";
}

}  // namespace

std::vector<std::string> causes_verdict(const Causes& causes) {
  if (!causes.pointing) return {};
  const auto [layer, head, weight] = *causes.pointing;
  std::vector<std::string> lines{fmt::format("Layer {} head {} points: weight {:.2f} from the query to the antecedent.",
                                             layer + 1, head + 1, weight)};
  const Cause* cut = causes.find(Cause::edge, layer, head, "antecedent");
  lines.push_back(fmt::format("Without that edge {} of the answers are right", percent(cut->accuracy)));
  if (!std::isnan(causes.chance)) {
    const double error = 1.96 * std::sqrt(causes.chance * (1 - causes.chance) / cut->sentences);
    lines.back() += fmt::format("; chance is {} ± {:.1f}", percent(causes.chance), 100 * error);
    if (cut->accuracy > causes.chance + error) lines.back() += ", so it is not the only way to the answer";
  }
  lines.back() += ".";
  double least = 1;
  for (const char* to : {"other", "decider", "itself", "rest"}) {
    if (const Cause* row = causes.find(Cause::edge, layer, head, to)) least = std::min(least, row->accuracy);
  }
  lines.push_back(fmt::format("Without any other one edge of that head, at least {}", percent(least)));
  if (const Cause* rest = causes.find(Cause::edge, layer, head, "rest")) {
    lines.back() +=
        fmt::format("; in {} of the sentences no cut among the rest changes the answer", percent(rest->unmoved));
  }
  lines.back() += ".";
  if (const Cause* all = causes.find(Cause::edge_all_heads, layer, -1, "antecedent")) {
    lines.push_back(fmt::format("Without that edge in every head of the layer, {}{}.", percent(all->accuracy),
                                all->accuracy < cut->accuracy - 0.05 ? ": another head points too" : ""));
  }
  if (const Cause* patch = causes.find(Cause::patch_head, layer, head)) {
    lines.push_back(
        fmt::format("With the twin's output in that head, {} give the twin's answer", percent(patch->flipped)));
    if (const Cause* all = causes.find(Cause::patch_layer, layer, -1)) {
      lines.back() += fmt::format("; in every head of the layer, {}", percent(all->flipped));
    }
    const auto most = std::ranges::max_element(
        causes.rows, {}, [](const Cause& row) { return row.what == Cause::patch_head ? row.flipped : -1; });
    if (most->flipped > patch->flipped) {
      lines.back() +=
          fmt::format("; in layer {} head {} alone, {}", most->layer + 1, most->head + 1, percent(most->flipped));
    }
    lines.back() += ".";
  }
  return lines;
}

std::string causes_view(const Causes& causes, const View& view) {
  int layers = 0, heads = 0;
  for (const Cause& row : causes.rows) {
    layers = std::max(layers, row.layer + 1);
    heads = std::max(heads, row.head + 1);
  }
  const Range shown_layers = chosen_range("layer", view.layer, layers),
              shown_heads = chosen_range("head", view.head, heads);
  std::string text =
      fmt::format("step {}: {} of {} held-out sentences\n", causes.step, causes.sentences, causes.held_out);
  text += fmt::format("answered right {}", percent(causes.accuracy));
  if (!std::isnan(causes.twin_accuracy)) text += fmt::format(", both twins {}", percent(causes.twin_accuracy));
  text += fmt::format("; probability of the answer {:.3f}\n", causes.probability);
  text += "\n" + row_text("", "weight", "probability", "right", "twin's");
  text += row_text("", "", "change ± sd", "", "answer");
  for (int layer = shown_layers.begin; layer < shown_layers.end; ++layer) {
    for (int head = shown_heads.begin; head < shown_heads.end; ++head) text += rows_text(causes, layer, head, view);
    if (!view.head) text += rows_text(causes, layer, -1, view);
  }
  std::vector<std::string> lines = causes_verdict(causes);
  lines.push_back(fmt::format(
      "Attention weight and the effect of cutting its edge have a rank correlation of {:.2f} in the last layer "
      "and {:.2f} in all (Spearman, over every token that the queries can see).",
      causes.rank_correlation_last, causes.rank_correlation_all));
  lines.insert(lines.end(), causes.left_out.begin(), causes.left_out.end());
  text += "\nIs the attention the cause?\n";
  for (const std::string& line : lines) text += wrapped(line, view.terminal.width) + "\n";
  text += "\nWhere the logit of an answer comes from: parts that add up to it\n";
  for (const Attribution& one : causes.attribution) text += attribution_text(one, heads, view);
  const bool marked =
      std::ranges::any_of(causes.attribution, [](const Attribution& one) { return one.antecedent >= 0; });
  return marked ? text + "\n" + antecedent_legend(false, view.terminal) : text;
}

}  // namespace heed
