#include "views/view.h"

#include <heed/explain/studies/causes.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

// ", by chance 50.0 %", ", by the most frequent answer 92.0 %"
std::string chance_text(double chance, bool is_constant) {
  if (std::isnan(chance)) return "";
  return fmt::format(", by {} {}", is_constant ? "the most frequent answer" : "chance", percent(chance));
}

// "28.0 % ± 6.3 of 200 sentences are then answered right (before 100.0 %, by chance 50.0 %)"
std::string right_after(const Cause& row) {
  return fmt::format("{} of {} sentences are then answered right (before {}{})", percent(row.accuracy), row.sentences,
                     percent(row.before.share), chance_text(row.verdict.chance, row.verdict.is_constant));
}

std::string no_answers(const Interval& accuracy, int sentences, double chance, bool is_constant) {
  return fmt::format(
      "No answers to explain: {} of {} sentences are answered right{}, which is not shown to be above chance.",
      percent(accuracy), sentences, chance_text(chance, is_constant));
}

std::string remedy(const Verdict& verdict, int held_out) {
  return verdict.needed <= held_out
             ? fmt::format("Raise --limit: the run holds out {}.", held_out)
             : "Hold out more: name them in data.test, or raise data.held_out of a generated task.";
}

// Answers "is the attention the cause?" over the sentences whose antecedent is known.
std::vector<std::string> answer(const Causes& causes, const Cause& alone, const Cause& everywhere) {
  using Kind = Verdict::Kind;
  const Verdict &head = alone.verdict, &all = everywhere.verdict;
  const std::string name = fmt::format("layer {} head {}", causes.pointing->layer + 1, causes.pointing->head + 1);
  const auto without = [&](const std::string& verdict, const std::string& where, const Cause& row) {
    return fmt::format("{}: without the edge from the query to the antecedent in {}, {}; {}.", verdict, where,
                       lost_text(row.verdict), right_after(row));
  };
  const bool is_one = &alone == &everywhere;
  const auto more = [&](const Cause& row) {
    std::vector<std::string> lines;
    if (const std::string text = needed_text(row.verdict); !text.empty()) {
      lines.push_back(row.verdict.needed > 0 ? text + " " + remedy(row.verdict, causes.held_out) : text);
    }
    return lines;
  };
  const auto with = [](std::string first, std::vector<std::string> rest) {
    rest.insert(rest.begin(), std::move(first));
    return rest;
  };
  if (head.kind == Kind::no_answers)
    return with(no_answers(alone.before, alone.sentences, head.chance, head.is_constant), more(alone));
  switch (head.kind) {
    case Kind::all:
      return {without("Yes", name, alone)};
    case Kind::part:
      return {without("In part", name, alone)};
    case Kind::at_least_part:
      return with(without("At least in part", name, alone), more(alone));
    case Kind::unknown:
      return with(without(fmt::format("Cannot tell from {}", counted(alone.sentences, "sentence")), name, alone),
                  more(alone));
    default:
      break;
  }
  if (!is_one && all.lost.low > none_lost) {
    return with(fmt::format("Not this head alone: without the edge from the query to the antecedent in {}, {}; without "
                            "it in every head, {} over {} sentences.",
                            name, lost_text(head), lost_text(all), everywhere.sentences),
                more(everywhere));
  }
  if (all.kind == Kind::none) {
    return {without("No", is_one ? name : "every head of every layer", everywhere)};
  }
  return with(without(head.kind == Kind::none ? "Not this head" : "At most in part", name, alone),
              more(head.kind == Kind::none ? everywhere : alone));
}

// Compares the cut of an edge with a weight of 0 after the softmax, which no other token receives.
void add_zero_weight(std::vector<std::string>& lines, const Verdict& cut, const Cause& row) {
  const Verdict& zeroed = row.verdict;
  lines.push_back(fmt::format(
      "With the weight of that edge set to 0 instead, so that no other token receives it, {} over {} sentences.",
      lost_text(zeroed), row.sentences));
  if (!cut.is_strong() || !zeroed.is_strong() || cut.kind == zeroed.kind) return;
  lines.push_back(fmt::format("The two verdicts differ ({} with the cut, {} with a weight of 0): {}.",
                              to_string(cut.kind), to_string(zeroed.kind),
                              zeroed.lost.share > cut.lost.share
                                  ? "after the cut, the tokens that receive the weight make up for a part of the loss"
                                  : "a part of what the cut loses is due to the tokens that receive the weight"));
}

void add_other_edges(std::vector<std::string>& lines, const Causes& causes, int layer, int head) {
  std::vector<const Cause*> others;
  for (const char* to : {"other", "decider", "itself"}) {
    if (const Cause* row = causes.find(Cause::What::edge, layer, head, to)) others.push_back(row);
  }
  const std::vector<const Cause*> with_loss = Causes::with_loss(others);
  for (const Cause* row : with_loss) {
    lines.push_back(fmt::format("Without its edge to {} instead, {} of {} sentences are answered right (before {}).",
                                row->to == "itself" ? "itself" : "the " + role_text(row->to), percent(row->accuracy),
                                row->sentences, percent(row->before.share)));
  }
  const Cause* rest = causes.find(Cause::What::edge, layer, head, "rest");
  if (rest) {
    lines.push_back(fmt::format("Its edges to other tokens, cut one by one, change no answer in {} of {} sentences.",
                                percent(rest->unmoved), rest->sentences));
  }
  if (with_loss.size() < others.size()) lines.emplace_back("For no other edge of that head is a loss shown.");
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
  if (const auto more = causes.pointing->flips_more) {
    flips(fmt::format("Layer {} head {}, which flips more,", more->layer + 1, more->head + 1),
          *causes.find(Cause::What::patch_head, more->layer, more->head));
  }
}

// Answers "which heads do the answers depend on?" for sentences without an antecedent, such as those of a language model.
std::vector<std::string> heads_verdict(const Causes& causes) {
  std::vector<const Cause*> heads;
  for (const Cause& row : causes.rows) {
    if (row.what == Cause::What::mean_ablation) heads.push_back(&row);
  }
  if (heads.empty()) return {};
  const Cause& most = **std::ranges::min_element(heads, {}, &Cause::probability);
  if (most.verdict.kind == Verdict::Kind::no_answers)
    return {no_answers(causes.accuracy, causes.sentences, causes.chance, causes.is_constant)};
  const std::size_t all = heads.size(), needed = Causes::with_loss(heads).size();
  const std::string effect = fmt::format(
      "when layer {} head {} is mean-ablated, {}; {}; the answer's mean probability changes by {:+.3f} from {:.3f}",
      most.layer + 1, most.head + 1, lost_text(most.verdict), right_after(most), most.probability, causes.probability);
  if (needed == 0) {
    return {fmt::format("Not shown for any single head: {}. That is the largest effect of {}.", effect,
                        counted(static_cast<int>(all), "head"))};
  }
  return {fmt::format("Most of all on layer {} head {}: {}.", most.layer + 1, most.head + 1, effect),
          fmt::format("Accuracy falls with {} of {} heads. Holm's method keeps the probability that any of these is "
                      "named by chance at 5 %.",
                      needed, all)};
}

}  // namespace

std::vector<std::string> causes_verdict(const Causes& causes) {
  if (!causes.pointing) return heads_verdict(causes);
  const auto& [layer, head, weight, others, flips_more] = *causes.pointing;
  const Cause& alone = *causes.find(Cause::What::edge, layer, head, "antecedent");
  const Cause* in_layer = causes.find(Cause::What::edge_all_heads, layer, -1, "antecedent");
  const Cause* everywhere = causes.find(Cause::What::edge_everywhere, -1, -1, "antecedent");
  std::vector<std::string> lines = answer(causes, alone, everywhere ? *everywhere : in_layer ? *in_layer : alone);
  const bool has_answers = alone.verdict.kind != Verdict::Kind::no_answers;
  if (has_answers && alone.verdict.lost.share > 1 && !std::isnan(alone.verdict.chance)) {
    lines[0] += " A loss of more than 100 % means accuracy below chance.";
  }
  if (causes.attention_alone && has_answers) {
    lines[0] +=
        " The last layer has no residual, so the query's state there comes only from the tokens that it attends to.";
  }
  const Cause* zeroed = causes.find(Cause::What::zero_weight, layer, head, "antecedent");
  if (zeroed && has_answers) add_zero_weight(lines, alone.verdict, *zeroed);
  lines.push_back(fmt::format(
      "Layer {} head {} gives the antecedent the most weight of all heads: {:.2f} in the mean of {} sentences.",
      layer + 1, head + 1, weight, alone.sentences));
  const auto wider = [&](const std::string& where, const Cause& row) {
    if (row.verdict.kind == Verdict::Kind::no_answers) return;
    lines.push_back(
        fmt::format("Without that edge in {}, {} over {} sentences.", where, lost_text(row.verdict), row.sentences));
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
