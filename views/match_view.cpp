#include "views/view.h"

#include <heed/explain/studies/causes.h>
#include <heed/explain/studies/matched_heads.h>
#include <heed/tokenizers/graphemes.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>

namespace heed {
namespace {

// Returns percent(share), or both ends alone where ± would misplace one: "65.5 to 100.0".
std::string percent_column(const Interval& share) {
  const std::string text = percent(share);
  const std::size_t begin = text.find('(');
  return begin == std::string::npos ? text : text.substr(begin + 1, text.size() - begin - 2);
}

struct Spread {
  double mean, deviation;
};

Spread spread_of(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, values.size() > 1 ? std::sqrt(squares / (n - 1)) : 0};
}

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// Returns "layer 2 in 8, layer 1 in 3", in descending order of count.
std::string layers_text(const std::vector<int>& layers) {
  std::map<int, int> counts;
  for (const int layer : layers) ++counts[layer];
  std::vector<std::pair<int, int>> most(counts.begin(), counts.end());
  std::ranges::stable_sort(most, std::greater(), &std::pair<int, int>::second);
  std::vector<std::string> texts;
  for (const auto& [layer, count] : most) texts.push_back(fmt::format("layer {} in {}", layer + 1, count));
  return fmt::format("{}", fmt::join(texts, ", "));
}

// Returns how many sentences the verdicts that cannot be told need, as a sentence; "" if no number is known to be enough.
std::string needed_by(const MatchedHeads& matched) {
  double needed = 0;
  for (const MatchedHeads::Run& run : matched.runs) {
    if (!run.pointing || run.pointing->weight < pointing_weight || run.pointing->carried != Carried::unknown) continue;
    const Verdict& lost = run.pointing->lost.is_strong() ? run.pointing->lost_in_layer : run.pointing->lost;
    if (needed == 0 || lost.needed < needed) needed = lost.needed;
  }
  return needed == 0 ? "" : fmt::format(" The first of them needs about {:.0f} sentences.", needed);
}

std::vector<std::string> pointing_verdict(const MatchedHeads& matched) {
  std::vector<double> weights, flipped;
  std::vector<int> layers;
  std::map<Carried, int> carried;
  for (const MatchedHeads::Run& run : matched.runs) {
    if (!run.pointing) continue;
    weights.push_back(run.pointing->weight);
    if (!std::isnan(run.pointing->flipped.share)) flipped.push_back(run.pointing->flipped.share);
    if (run.pointing->weight < pointing_weight) continue;
    layers.push_back(run.pointing->layer);
    ++carried[run.pointing->carried];
  }
  if (weights.empty()) return {};
  const std::size_t points = layers.size();
  const auto [least, most] = std::ranges::minmax(weights);
  std::vector<std::string> lines{
      fmt::format("The weight of that head is {:.2f} to {:.2f} over the {} runs, median {:.2f}.", least, most,
                  weights.size(), median_of(weights)),
      fmt::format("A head points, with a weight of {} or more, in {} of {} runs{}{}.", pointing_weight, points,
                  weights.size(), points ? ": " : "", layers_text(layers))};
  const std::string advantage = std::isnan(matched.chance) ? "accuracy" : "advantage over chance";
  const auto count = [&](Carried where, const char* name, const std::string& text) {
    if (carried[where] > 0) lines.push_back(fmt::format("{} ({} of {}): {}.", name, carried[where], points, text));
  };
  count(Carried::alone, "alone",
        fmt::format("without that edge in that head, at least {:.0f} % of the {} is lost", 100 * all_lost, advantage));
  const std::string in_layer = fmt::format(
      "without that edge in every head of the layer, at least {:.0f} % of the {} is lost", 100 * all_lost, advantage);
  count(Carried::shared, "shared", in_layer + ", but not without it in that head alone");
  count(Carried::layer, "layer", in_layer + "; the sentences do not show whether without it in that head alone");
  count(Carried::in_part, "in part",
        fmt::format("without that edge in every head of the layer, {:.0f} to {:.0f} % is lost", 100 * none_lost,
                    100 * all_lost));
  count(Carried::another_way, "another way",
        fmt::format("without that edge in every head of the layer, at most {:.0f} % is lost", 100 * none_lost));
  count(Carried::no_answers, "no answers", "accuracy is not shown to be above chance before any cut");
  if (carried[Carried::unknown] > 0) {
    lines.push_back(fmt::format("cannot tell ({} of {}): the 95 % intervals of these shares include a limit.{}",
                                carried[Carried::unknown], points, needed_by(matched)));
  }
  if (!flipped.empty()) {
    const auto [low, high] = std::ranges::minmax(flipped);
    lines.push_back(fmt::format("With that head patched from the minimal pair, {} to {} of {} answers flip, median {}.",
                                percent(low), percent(high), matched.with_counterpart, percent(median_of(flipped))));
  }
  return lines;
}

// Returns the names without their common directory.
std::vector<std::string> short_names(const MatchedHeads& matched) {
  std::vector<std::filesystem::path> paths;
  for (const MatchedHeads::Run& run : matched.runs)
    paths.push_back(std::filesystem::path(run.name + "/").parent_path());
  const bool together = std::ranges::all_of(
      paths, [&](const std::filesystem::path& path) { return path.parent_path() == paths[0].parent_path(); });
  std::vector<std::string> names;
  for (const std::filesystem::path& path : paths) names.push_back((together ? path.filename() : path).string());
  return names;
}

// Returns a column of a table, or "" on a terminal of fewer columns than `least`.
std::string column(const Terminal& terminal, int least, const std::string& text) {
  return terminal.width < least ? "" : text;
}

std::string runs_table(const MatchedHeads& matched, const Terminal& terminal) {
  const std::vector<std::string> names = short_names(matched);
  int widest = 3;
  for (const std::string& name : names) widest = std::max(widest, display_width(name));
  const auto padded = [&](const std::string& name) {
    return name + std::string(static_cast<std::size_t>(widest - display_width(name)), ' ');
  };
  std::string text = trimmed(padded("run") + "    right  head  weight" + column(terminal, 60, "    without it") +
                             column(terminal, 80, "       in layer   flipped")) +
                     "\n";
  for (std::size_t i = 0; i < names.size(); ++i) {
    const MatchedHeads::Run& run = matched.runs[i];
    text +=
        fmt::format("{}  {:>7}", padded(names[i]), percent(run.pointing ? run.pointing->before.share : run.accuracy));
    if (const auto& p = run.pointing) {
      text += fmt::format("  {:>4}  {:>6.2f}", fmt::format("{}.{}", p->layer + 1, p->head + 1), p->weight) +
              column(terminal, 60, fmt::format("  {:>13}", percent_column(p->without))) +
              column(terminal, 80,
                     fmt::format("  {:>13}  {:>7}", percent_column(p->without_in_layer), percent(p->flipped.share))) +
              column(terminal, 60,
                     fmt::format("  {}", p->weight < pointing_weight      ? "-"
                                         : p->carried == Carried::unknown ? "cannot tell"
                                                                          : to_string(p->carried)));
    }
    text += "\n";
  }
  return text;
}

std::string roles_table(const MatchedHeads& matched, const Terminal& terminal) {
  std::string text = "head   layer" + column(terminal, 80, "   antecedent     cue word") +
                     column(terminal, 60, "      ablated") + "    alike  random\n";
  std::vector<const MatchedHeads::Role*> rows;
  for (const MatchedHeads::Role& role : matched.roles) rows.push_back(&role);
  const auto effect_of = [](const MatchedHeads::Role* role) {
    double sum = 0;
    for (const MatchedHeads::Member& one : role->members) sum += one.effect;
    return sum;
  };
  std::ranges::stable_sort(rows, std::greater(), effect_of);
  for (const MatchedHeads::Role* role : rows) {
    const MatchedHeads::Member& own = role->members[matched.reference];
    const auto same_layer =
        std::ranges::count_if(role->members, [&](const auto& one) { return one.layer == own.layer; });
    const auto figures = [&](double MatchedHeads::Member::*figure) {
      std::vector<double> values;
      for (const MatchedHeads::Member& one : role->members) values.push_back(one.*figure);
      const Spread spread = spread_of(values);
      return std::isnan(spread.mean) ? std::string("-") : fmt::format("{:.2f} ± {:.2f}", spread.mean, spread.deviation);
    };
    text += fmt::format("{:>4}  {:>6}", fmt::format("{}.{}", own.layer + 1, own.head + 1),
                        fmt::format("{} of {}", same_layer, role->members.size())) +
            column(terminal, 80,
                   fmt::format("  {:>11}  {:>11}", figures(&MatchedHeads::Member::antecedent),
                               figures(&MatchedHeads::Member::cue))) +
            column(terminal, 60, fmt::format("  {:>11}", figures(&MatchedHeads::Member::effect))) +
            fmt::format("  {:>7.2f}  {:>6.2f}\n", role->similarity, role->random);
  }
  return text;
}

}  // namespace

std::string matched_heads_view(const MatchedHeads& matched, const View& view) {
  const auto paragraph = [&](const std::string& line) { return wrapped(line, view.terminal.width) + "\n"; };
  std::string text =
      paragraph(fmt::format("{} runs answer the same {} sentences, {}.", matched.runs.size(), matched.sentences,
                            matched.source.empty() ? "held out of the first" : "of " + matched.source));
  const std::vector<std::string> names = short_names(matched);
  std::vector<std::string> others;
  std::vector<int> held_out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (matched.runs[i].held_out == matched.sentences) continue;
    others.push_back(names[i]);
    held_out.push_back(matched.runs[i].held_out);
  }
  if (!others.empty()) {
    const auto [least, most] = std::ranges::minmax(held_out);
    text += paragraph(fmt::format(
        "{} held out only {} of these sentences; {} may have trained on the rest. --test FILE "
        "asks all runs the same new sentences, and --set data.seed=1 of train holds out the same.",
        fmt::join(others, ", "), least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most),
        others.size() == 1 ? "it" : "they"));
  }
  const std::vector<std::string> verdict = pointing_verdict(matched);
  if (!verdict.empty()) {
    text += "\nWhich head points?\n";
    for (const std::string& line : verdict) text += paragraph(line);
    text += "\n" + runs_table(matched, view.terminal) + "\n" +
            legend({{"right", fmt::format("accuracy over the {} of {} sentences whose antecedent is known",
                                          matched.with_antecedent, matched.sentences)},
                    {"head", "the one with the largest mean weight from the query to the antecedent"},
                    {"without it", "accuracy after that edge is cut in that head"},
                    {"in layer", "accuracy after it is cut in every head of its layer"},
                    {"flipped", fmt::format("share of {} answers that change to the counterpart's when that head is "
                                            "patched from the minimal pair",
                                            matched.with_counterpart)},
                    {"±", "half of a 95 % interval; both ends alone stand where it lies to one side"}},
                   view.terminal);
  }
  text += "\nWhich heads do the same?\n" +
          paragraph(
              fmt::format("All heads together: {:.2f} alike, {:.2f} at random. Untrained heads, too, are somewhat more "
                          "alike when they are matched than at random: no test says that heads do the same.",
                          matched.similarity, matched.random)) +
          "\n" + roles_table(matched, view.terminal) + "\n" +
          paragraph(fmt::format(
              "Each head of {}, the run most like the others, with the head of each run that is assigned to "
              "it. They are matched on one half of the sentences, by the query's weights and by the effect "
              "of zero ablation, and measured on the other half.",
              short_names(matched)[matched.reference])) +
          legend({{"layer", "how many of these heads are in the same layer"},
                  {"antecedent", "the query's weight on the antecedent, mean ± deviation over the runs"},
                  {"cue word", "the query's weight on the cue word"},
                  {"ablated", "by how much the answer's probability falls when the head is zero-ablated"},
                  {"alike", "likeness of the matched heads; 1 is the same"},
                  {"random", "the same for random matchings"}},
                 view.terminal);
  return text;
}

Json matched_heads_json(const MatchedHeads& matched) {
  Json runs = Json::array(), found = Json::array();
  for (const MatchedHeads::Run& run : matched.runs) {
    Json pointing;
    if (const auto& p = run.pointing) {
      pointing = {{"layer", p->layer},
                  {"head", p->head},
                  {"weight", p->weight},
                  {"before", p->before.share},
                  {"without", p->without.share},
                  {"without_error", p->without.error()},
                  {"without_in_layer", p->without_in_layer.share},
                  {"without_in_layer_error", p->without_in_layer.error()},
                  {"turned", number_or_null(p->flipped.share)},
                  {"turned_error", number_or_null(p->flipped.error())},
                  {"lost", verdict_json(p->lost)},
                  {"lost_in_layer", verdict_json(p->lost_in_layer)},
                  {"carried", to_string(p->carried)}};
    }
    runs.push_back({{"name", run.name},
                    {"step", run.step},
                    {"held_out", run.held_out},
                    {"accuracy", run.accuracy},
                    {"pointing", pointing}});
  }
  for (const MatchedHeads::Role& role : matched.roles) {
    Json members = Json::array();
    for (const MatchedHeads::Member& one : role.members) {
      members.push_back({{"layer", one.layer},
                         {"head", one.head},
                         {"similarity", one.similarity},
                         {"antecedent", number_or_null(one.antecedent)},
                         {"other", number_or_null(one.other)},
                         {"decider", number_or_null(one.cue)},
                         {"effect", one.effect}});
    }
    found.push_back({{"members", members}, {"similarity", role.similarity}, {"random", role.random}});
  }
  return {{"source", matched.source.empty() ? Json() : Json(matched.source)},
          {"sentences", matched.sentences},
          {"with_antecedent", matched.with_antecedent},
          {"with_twin", matched.with_counterpart},
          {"chance", number_or_null(matched.chance)},
          {"runs", runs},
          {"reference", matched.reference},
          {"roles", found},
          {"similarity", matched.similarity},
          {"random", matched.random}};
}

}  // namespace heed
