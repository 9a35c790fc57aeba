#include "inspect/views/view.h"

#include <heed/explain/studies/causes.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

constexpr double slight_loss = 0.05;  // a loss whose interval lies below this counts as none

// ", by chance 50.0 %"
std::string chance_text(const Causes& causes) {
  return std::isnan(causes.chance) ? "" : fmt::format(", by chance {}", percent(causes.chance));
}

// "28.0 % ± 6.3 of 200 sentences are answered right (before 100.0 %, by chance 50.0 %)"
std::string right_after(const Causes& causes, const Cause& row) {
  return fmt::format("{} of {} sentences are answered right (before {}{})", percent(row.accuracy), row.sentences,
                     percent(row.before.share), chance_text(causes));
}

std::string too_few(int sentences, int held_out) {
  const std::string remedy = sentences < held_out
                                 ? fmt::format("Raise --limit: the run holds out {}.", held_out)
                                 : "Hold out more: name them in data.test, or raise data.held_out of a generated task.";
  return fmt::format("Unknown: {}, too few for a 95 % interval. {}", counted(sentences, "sentence"), remedy);
}

std::string no_answers(const Causes& causes, const Interval& accuracy, int sentences) {
  return fmt::format("Unknown: {} of {} sentences are answered right{}, so the answers cannot be explained.",
                     percent(accuracy), sentences, chance_text(causes));
}

// Answers "is the attention the cause?" in one sentence, over the sentences whose antecedent is known.
std::string answer(const Causes& causes, const Cause& alone, const Cause* everywhere) {
  if (alone.before.error() >= 0.5) return too_few(alone.sentences, causes.held_out);
  if (!has_answers(alone.before, causes.chance)) return no_answers(causes, alone.before, alone.sentences);
  const std::string cut = "without the edge from the query to the antecedent in ";
  const std::string head = fmt::format("layer {} head {}", causes.pointing->layer + 1, causes.pointing->head + 1);
  if (alone.lost.is_above(0)) {
    const bool all = is_lost(alone.accuracy, alone.before.share, causes.chance);
    const bool guessed = all && std::isnan(causes.chance);
    return fmt::format("{}: {}{}, {}{}.", all ? "Yes" : "In part", cut, head, right_after(causes, alone),
                       guessed ? "; chance is unknown, so half of the accuracy before counts as lost" : "");
  }
  if (everywhere && everywhere->lost.is_above(0)) {
    return fmt::format("Not this head alone: {}{}, {}, but without it in every head, {} are.", cut, head,
                       right_after(causes, alone), percent(everywhere->accuracy));
  }
  const Cause& most = everywhere ? *everywhere : alone;
  const bool none = most.lost.high < slight_loss;
  return fmt::format(
      "{}: {}{}, {}{}.", none ? "No" : "Not shown", cut, everywhere ? "every head of every layer" : head,
      right_after(causes, most),
      none ? fmt::format("; the weight of {:.2f} in {} is not what they depend on", causes.pointing->weight, head)
           : "");
}

void add_other_edges(std::vector<std::string>& lines, const Causes& causes, int layer, int head) {
  bool others = false;
  for (const char* to : {"other", "decider", "itself"}) {
    const Cause* row = causes.find(Cause::What::edge, layer, head, to);
    if (!row) continue;
    const bool loses = row->lost.is_above(0);
    others = others || !loses;
    if (loses) {
      lines.push_back(fmt::format("Without its edge to {} instead, {} of {} sentences are answered right (before {}).",
                                  row->to == "itself" ? "itself" : "the " + role_text(to), percent(row->accuracy),
                                  row->sentences, percent(row->before.share)));
    }
  }
  const Cause* rest = causes.find(Cause::What::edge, layer, head, "rest");
  if (rest) {
    lines.push_back(fmt::format("Its edges to other tokens, cut one by one, change no answer in {} of {} sentences.",
                                percent(rest->unmoved), rest->sentences));
  }
  if (others) lines.emplace_back("For no other edge of that head is a loss shown.");
}

void add_patches(std::vector<std::string>& lines, const Causes& causes, int layer, int head) {
  const Cause* patch = causes.find(Cause::What::patch_head, layer, head);
  if (!patch) return;
  const auto flips = [&](const std::string& what, const Cause& row) {
    lines.push_back(fmt::format("{} patched from the minimal pair: {} of {} answers flip to the counterpart's.", what,
                                percent(row.flipped), row.sentences));
  };
  flips("That head", *patch);
  if (const Cause* all = causes.find(Cause::What::patch_layer, layer, -1)) flips("Every head of its layer", *all);
  const auto most = std::ranges::max_element(
      causes.rows, {}, [](const Cause& row) { return row.what == Cause::What::patch_head ? row.flipped.share : -1; });
  if (most->flipped.low > patch->flipped.high) {
    flips(fmt::format("Layer {} head {}, which flips more,", most->layer + 1, most->head + 1), *most);
  }
}

// Answers "which heads do the answers depend on?" for sentences without an antecedent, such as those of a language model.
std::vector<std::string> heads_verdict(const Causes& causes) {
  std::vector<const Cause*> heads;
  for (const Cause& row : causes.rows) {
    if (row.what == Cause::What::mean_ablation) heads.push_back(&row);
  }
  if (heads.empty()) return {};
  if (causes.accuracy.error() >= 0.5) return {too_few(causes.sentences, causes.held_out)};
  if (!has_answers(causes.accuracy, causes.chance)) return {no_answers(causes, causes.accuracy, causes.sentences)};
  const Cause& most = **std::ranges::min_element(heads, {}, &Cause::probability);
  const auto needed = std::ranges::count_if(heads, [](const Cause* row) { return row->lost.is_above(0); });
  const std::string effect = fmt::format(
      "when layer {} head {} is mean-ablated, {}, and the answer's mean probability changes by {:+.3f} from {:.3f}",
      most.layer + 1, most.head + 1, right_after(causes, most), most.probability, causes.probability);
  if (needed == 0) {
    return {fmt::format("Not shown for any single head: {}. That is the largest effect of {} heads.", effect,
                        heads.size())};
  }
  return {
      fmt::format("Most of all on layer {} head {}: {}.", most.layer + 1, most.head + 1, effect),
      fmt::format("Accuracy falls with {} of {} heads: the 95 % interval of the loss excludes 0. With many heads, some "
                  "do so by chance.",
                  needed, heads.size())};
}

}  // namespace

std::vector<std::string> causes_verdict(const Causes& causes) {
  if (!causes.pointing) return heads_verdict(causes);
  const auto& [layer, head, weight, others] = *causes.pointing;
  const Cause& alone = *causes.find(Cause::What::edge, layer, head, "antecedent");
  const Cause* in_layer = causes.find(Cause::What::edge_all_heads, layer, -1, "antecedent");
  const Cause* everywhere = causes.find(Cause::What::edge_everywhere, -1, -1, "antecedent");
  std::vector<std::string> lines{answer(causes, alone, everywhere ? everywhere : in_layer)};
  lines.push_back(fmt::format(
      "Layer {} head {} gives the antecedent the most weight of all heads: {:.2f} in the mean of {} sentences.",
      layer + 1, head + 1, weight, alone.sentences));
  const auto wider = [&](const std::string& where, const Cause& row) {
    lines.push_back(fmt::format("Without that edge in {}, {} of {} sentences are answered right.", where,
                                percent(row.accuracy), row.sentences));
  };
  if (in_layer) {
    wider("every head of that layer", *in_layer);
    if (others.is_above(0)) {
      lines.push_back(fmt::format("That loses {:.1f} ± {:.1f} points more: another head of the layer carries it, too.",
                                  100 * others.share, 100 * others.error()));
    }
  }
  if (everywhere) wider("every head of every layer", *everywhere);
  add_other_edges(lines, causes, layer, head);
  add_patches(lines, causes, layer, head);
  return lines;
}

}  // namespace heed
