#include "views/circuit_view.h"

#include "views/sentence_text.h"
#include "views/written_tokens.h"

#include <heed/explain/circuits/main_path.h>
#include <heed/files/utf8.h>
#include <heed/tokenizers/graphemes.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

constexpr std::size_t max_edges = 30;  // in the table
constexpr int name_columns = 42, effect_columns = 24;
constexpr int head_columns = 17;  // in the tables of heads

std::string head_name(const CircuitNode& head) {
  return part_name({.what = "head", .layer = head.layer, .head = head.head});
}

std::string of_all(int part, int all) { return fmt::format("{} of {}", part, all); }

std::string how_often(const CircuitStudy& study, const CircuitStudy::Edge& edge) {
  std::string text = fmt::format("{:3.0f} %", 100 * edge.resamples);
  if (study.methods.size() > 1) text += fmt::format(" {}/{}", edge.methods, study.methods.size());
  if (!study.own_groups.empty()) text += fmt::format(" {}/{}", edge.of_groups, study.own_groups.size());
  return text;
}

std::string heading(const CircuitStudy& study) {
  std::string text = fit_width("edge", name_columns) + fit_width(" effect", effect_columns) + "chosen";
  if (study.methods.size() > 1) text += " by";
  if (!study.own_groups.empty()) text += " of";
  return text + "\n";
}

std::string edge_row(const CircuitStudy& study, const CircuitStudy::Edge& edge) {
  const bool is_estimate = std::isnan(edge.exact.share);
  const std::string effect = (is_estimate ? "~" : " ") + figure_text(edge.best_effect());
  return trimmed(fit_width(edge.name, name_columns) + fit_width(effect, effect_columns) + " " +
                 how_often(study, edge)) +
         "\n";
}

std::string table(const CircuitStudy& study, bool surviving, const std::string& title, const Terminal& terminal) {
  std::vector<const CircuitStudy::Edge*> rows;
  for (const CircuitStudy::Edge& edge : study.edges) {
    if (edge.survives == surviving) rows.push_back(&edge);
  }
  if (rows.empty()) return "";
  std::string text = "\n" + paragraph(title, terminal) + heading(study);
  for (std::size_t i = 0; i < std::min(rows.size(), max_edges); ++i) text += edge_row(study, *rows[i]);
  if (rows.size() > max_edges) text += fmt::format("... and {} more: --json lists them\n", rows.size() - max_edges);
  return text;
}

std::vector<std::pair<std::string, std::string>> explanations(const CircuitStudy& study) {
  const bool estimates =
      std::ranges::any_of(study.edges, [](const auto& edge) { return std::isnan(edge.exact.share); });
  std::vector<std::pair<std::string, std::string>> lines{
      {"effect", fmt::format("log odds lost when this edge alone carries the corrupted text{}",
                             estimates ? fmt::format("; ~ estimated by {}", name_of(study.method)) : "")},
      {"chosen", fmt::format("share of {} resamples of the pairs that choose it", study.resamples)}};
  std::string methods;
  for (const ScoreMethod method : study.methods)
    methods += (methods.empty() ? "" : ", ") + std::string(name_of(method));
  if (study.methods.size() > 1) lines.emplace_back("by", fmt::format("how many of the methods {} choose it", methods));
  if (!study.own_groups.empty()) lines.emplace_back("of", "how many of the groups choose it, each alone");
  return lines;
}

// Returns the main path as a sentence.
std::string path_text(const CircuitStudy& study, const Terminal& terminal) {
  const std::vector<std::size_t> path = main_path(study);
  if (path.empty())
    return "\n" + paragraph("No path of edges that survive, all with positive effects, leads to the answer.", terminal);
  std::vector<std::string> names;
  double least = study.edges[path[0]].best_effect().share;
  for (const std::size_t i : path) {
    names.push_back(study.edges[i].name);
    least = std::min(least, study.edges[i].best_effect().share);
  }
  return "\n" +
         paragraph(fmt::format("Main path, on which each edge survives and has an effect of at least {:+.2f}: {}.",
                               least, fmt::join(names, ", ")),
                   terminal);
}

std::string curve(const CircuitStudy& study) {
  const bool is_found = study.verdict == CircuitStudy::Verdict::circuit;
  std::string text = "\nedges that joined   on a path   faithfulness\n";
  for (const CircuitStudy::Point& point : study.curve) {
    text += fmt::format("{:>17} {:>11}   {}{}\n", fmt::format("{} ({:.1f} %)", point.joined, 100 * point.share),
                        point.edges, share_text(point.faithfulness),
                        is_found && point.joined == study.circuit.joined ? "  <- the circuit" : "");
  }
  return text;
}

// Returns what chooses each edge that survives (CircuitStudy::Edge::survives).
std::string choosers(const CircuitStudy& study) {
  const bool has_exact = study.method != ScoreMethod::exact &&  // else the resamples are of these
                         std::ranges::find(study.methods, ScoreMethod::exact) != study.methods.end();
  const bool has_groups = !study.own_groups.empty();
  return fmt::format("at least {:.0f} % of {} resamples of the pairs{}", 100 * survival_share, study.resamples,
                     has_exact && has_groups ? ", the effects measured by patching and each group"
                     : has_exact             ? " and the effects measured by patching"
                     : has_groups            ? " and each group"
                                             : "");
}

// Returns what the edges that survive are not shown to surpass.
std::string as_much_as_survivors(const CircuitStudy& study) {
  if (!(study.surviving.faithfulness.low > 0)) return "nothing";
  if (!(study.surviving_null_tasks.difference.low > 0))
    return fmt::format("circuits of null tasks keep with as many edges, {}",
                       share_text(study.surviving_null_tasks.faithfulness));
  return fmt::format("random circuits of as many edges keep, {}", share_text(study.surviving_random.faithfulness));
}

// Returns what the circuit keeps beside random circuits and those of null tasks, and the same for the edges that survive.
std::string controls_table(const CircuitStudy& study) {
  constexpr int name_width = 27, share_width = 26;
  const bool has_survivors = std::isfinite(study.surviving.faithfulness.share);
  const auto row = [&](const std::string& name, const std::string& circuit, const std::string& surviving) {
    return trimmed(fit_width(name, name_width) + (has_survivors ? fit_width(surviving, share_width) : "") + circuit) +
           "\n";
  };
  const auto edges = [](const CircuitStudy::Point& point) {
    return counted(static_cast<std::size_t>(point.joined), "edge");
  };
  std::string text = "\n" + row("faithfulness of", "the circuit that was chosen", "the edges that survive");
  text += row("", edges(study.circuit), edges(study.surviving));
  text += row("this circuit", share_text(study.circuit.faithfulness), share_text(study.surviving.faithfulness));
  const auto compared = [&](const std::string& name, const CircuitStudy::Comparison& circuit,
                            const CircuitStudy::Comparison& surviving) {
    if (circuit.circuits == 0) return;
    text += row(fmt::format("{} {}", circuit.circuits, name), share_text(circuit.faithfulness),
                share_text(surviving.faithfulness));
  };
  compared("random circuits", study.random, study.surviving_random);
  compared("circuits of null tasks", study.null_tasks, study.surviving_null_tasks);
  return text;
}

// Returns the table of where heads look in all pairs.
std::string over_pairs_table(const CircuitExample& example, const Terminal& terminal) {
  if (example.over_pairs.empty()) return "";
  constexpr int share_columns = 20;
  const auto share = [](const Interval& of) {
    return fmt::format("{:.0f} % ({:.0f} to {:.0f})", 100 * of.share, 100 * of.low, 100 * of.high);
  };
  std::string text =
      "\n" + paragraph(fmt::format("The share of {} held-out pairs in which the head, at the token that is "
                                   "asked, attends most to",
                                   example.pairs),
                       terminal);
  text += fit_width("head", head_columns) + fit_width("what differs", share_columns) +
          fit_width("the right answer", share_columns) + "the wrong (corrupted)\n";
  for (const HeadOverPairs& one : example.over_pairs) {
    text += fit_width(head_name(one.head), head_columns) + fit_width(share(one.difference), share_columns) +
            fit_width(share(one.right), share_columns) + share(one.wrong) + "\n";
  }
  return text;
}

// Returns the edges that survive, although no circuit is reported.
std::string survivors_text(const CircuitStudy& study) {
  std::vector<std::string> names;
  for (const CircuitStudy::Edge& edge : study.edges) {
    if (std::ranges::count(study.survivors, edge.edge) > 0) names.push_back(edge.name);
  }
  return names.empty() ? "." : fmt::format(": {}.", listed(names, ", ", 8));
}

// Returns in how many of the held-out pairs the right answer is the more probable one.
long pairs_of(const CircuitStudy& study, const Interval& right) { return std::lround(right.share * study.held_out); }

}  // namespace

std::string figure_text(const Interval& figure) {
  if (!std::isfinite(figure.share)) return "-";
  if (!std::isfinite(figure.error())) return fmt::format("{:+.2f} (no bounds)", figure.share);
  const double largest = std::max(std::abs(figure.low), std::abs(figure.high));
  const int digits = largest < 10 ? 2 : largest < 100 ? 1 : 0;
  return fmt::format("{0:+.{3}f} ({1:.{3}f} to {2:.{3}f})", figure.share, figure.low, figure.high, digits);
}

std::string share_text(const Interval& share) {
  if (!std::isfinite(share.share)) return "-";
  const auto percent_of = [](double x) { return std::abs(x) < 0.0005 ? 0.0 : 100 * x; };  // without "-0.0"
  if (!std::isfinite(share.error())) return fmt::format("{:.1f} % (no bounds)", percent_of(share.share));
  return fmt::format("{:.1f} % ({:.1f} to {:.1f})", percent_of(share.share), percent_of(share.low),
                     percent_of(share.high));
}

std::vector<std::string> circuit_verdict(const CircuitStudy& study) {
  using enum CircuitStudy::Verdict;
  std::vector<std::string> lines;
  const auto line = [&]<class... Args>(fmt::format_string<Args...> format, Args&&... args) {
    lines.push_back(fmt::format(format, std::forward<Args>(args)...));
  };
  const auto survives = std::ranges::count_if(study.edges, &CircuitStudy::Edge::survives);
  const auto others =
      std::ranges::count_if(study.edges, [](const auto& edge) { return edge.in_circuit && !edge.survives; });
  switch (study.verdict) {
    case circuit:
      line(
          "{} edges survive, and keep {} of the difference between the clean and the corrupted texts, while all "
          "other edges carry what they carry in the corrupted ones. The right answer is then the more probable one "
          "in {} of {} held-out pairs, {}.",
          of_all(static_cast<int>(survives), study.all_edges), share_text(study.surviving.faithfulness),
          pairs_of(study, study.surviving.right), study.held_out, share_text(study.surviving.right));
      break;
    case no_behaviour:
      if (!(study.behaviour.low > 0)) {
        line(
            "There is no circuit to report: the clean texts are not shown to favour the right answers more than the "
            "corrupted ones.");
      } else if (!(study.clean.low > 0)) {
        line("There is no circuit to report: the clean texts are not shown to favour the right answers, {}.",
             figure_text(study.clean));
      } else {
        line(
            "There is no circuit to report: the corrupted texts are not shown to take away more than half of what "
            "favours the right answers.");
      }
      break;
    case null_as_good:
      line(
          "There is no circuit to report: tasks with exchanged answers give circuits of this size that are not shown "
          "to keep less.");
      break;
    case random_as_good:
      line("There is no circuit to report: random circuits of this size are not shown to keep less.");
      break;
    case unstable:
      if (study.surviving.edges == 0) {
        line(
            "There is no circuit to report: {} of {} edges of the circuit that was chosen survive, and no path of "
            "these leads to the answer{}",
            study.surviving.joined, study.circuit.edges, survivors_text(study));
      } else {
        line(
            "There is no circuit to report: {} of {} edges of the circuit that was chosen survive, and keep {} of the "
            "difference. That is not shown to be more than {}.",
            study.surviving.joined, study.circuit.edges, share_text(study.surviving.faithfulness),
            as_much_as_survivors(study));
      }
      break;
  }
  const bool is_found = study.verdict == circuit;
  if (is_found && others > 0) {
    line("{} of the circuit that was chosen did not survive. With them it keeps {}.",
         counted(static_cast<std::size_t>(others), "edge"), share_text(study.circuit.faithfulness));
  }
  if (is_found || study.verdict == unstable) {
    line("An edge survives if {} choose it, and the half of the pairs that chooses shows its effect to differ from 0.",
         choosers(study));
  }
  line(
      "The log odds of the right answer against the wrong one are {:.2f} in the clean texts and {:.2f} in the "
      "corrupted ones, a difference of {}.",
      study.clean.share, study.corrupted.share, figure_text(study.behaviour));
  if (is_found) {
    const Interval &alone = study.circuit.right, &all = study.right_in_clean, &none = study.right_in_corrupted;
    line(
        "The right answer is the more probable one in {} of {} held-out pairs with the circuit that was chosen, {}; in "
        "{} with all edges, {}; and in {} with none, {}.",
        pairs_of(study, alone), study.held_out, share_text(alone), pairs_of(study, all), share_text(all),
        pairs_of(study, none), share_text(none));
  }
  return lines;
}

std::string circuit_view(const CircuitStudy& study, const View& view) {
  const Terminal& terminal = view.terminal;
  std::string text;
  for (const std::string& line : circuit_verdict(study)) text += paragraph(line, terminal);
  text += paragraph(fmt::format("Half of {} chose the circuit by {}, the other half gives these figures and their 95 % "
                                "intervals{}.",
                                counted(study.pairs, "pair"),
                                study.method == ScoreMethod::exact ? "measured effects (exact)" : name_of(study.method),
                                study.observations == study.pairs ? ""
                                : study.groups_are_observations   ? "; the pairs of a group count as one"
                                                                  : "; pairs of the same two texts count as one"),
                    terminal);
  if (study.verdict == CircuitStudy::Verdict::circuit) {
    text += table(study, true, "The circuit: the edges that survive", terminal);
    text += table(study, false, "Edges that some choices have, but that do not survive", terminal);
    text += "\n" + legend(explanations(study), terminal) + path_text(study, terminal);
  } else if (study.verdict == CircuitStudy::Verdict::unstable) {
    text +=
        table(study, false, "Edges that some choices have", terminal) + "\n" + legend(explanations(study), terminal);
  }
  text += curve(study);
  text += fmt::format("\n{:<34}{}\n{:<34}{}\n", "area under the curve (CPR)", share_text(study.cpr),
                      "area between it and 100 % (CMD)", share_text(study.cmd));
  text += controls_table(study);
  return text;
}

std::string circuit_part_view(const std::vector<std::string>& removed, const CircuitPart& part, const View& view) {
  const bool is_one = part.edges.size() == 1;
  return "\n" + paragraph(fmt::format("Without {}: {} of the circuit {} on a path to the answer, and {} {}.",
                                      fmt::join(removed, ", "), counted(part.edges.size(), "edge"),
                                      is_one ? "is" : "are", is_one ? "keeps" : "keep", share_text(part.faithfulness)),
                          view.terminal);
}

CircuitExample circuit_example(const Model& model, std::span<const TextPair> pairs, const CircuitTask& task,
                               const CircuitStudy& study) {
  const TextPair& pair = pairs[median_pair(task, study)];
  std::vector<HeadInPair> heads;
  std::vector<HeadOverPairs> over_pairs;
  if (pair.clean.tokens.size() <= max_example_tokens) {
    const std::vector<CircuitNode> of_circuit = circuit_heads(study, max_drawn_edges);
    heads = heads_in_pair(model, pair, of_circuit);
    over_pairs = heads_over_pairs(model, pairs, study, of_circuit);
  }
  const auto answer = [&](const std::vector<int>& answers) {
    return shown_answer(model.tokenizer, pair.clean, answer_text(model, pair.clean, answers.at(0)));
  };
  return {shown_tokens(model.tokenizer, pair.clean.tokens),
          shown_tokens(model.tokenizer, pair.corrupted.tokens),
          answer(pair.right),
          answer(pair.wrong),
          pair.clean.query,
          std::move(heads),
          std::move(over_pairs),
          study.held_out};
}

std::string circuit_example_view(const CircuitExample& example, const View& view) {
  if (example.heads.empty()) return "";
  constexpr int word_columns = 14, attended_columns = 20;
  const auto word = [](const std::vector<std::string>& tokens, int token) {
    return excerpt(token_label(tokens, token), word_columns - 1);
  };
  const auto attended = [&](const std::vector<std::string>& tokens, const HeadInPair::Attended& most) {
    return fit_width(fmt::format("{} {:.2f}", word(tokens, most.token), most.weight), attended_columns);
  };
  const auto sentence = [](const std::vector<std::string>& tokens) {
    return sentence_text(tokens, -1, {}, {.width = 1 << 20});
  };
  std::string text = fmt::format("\nOne of the held-out pairs, with the answer {} and not {}:\n",
                                 visible(example.right), visible(example.wrong));
  text += legend({{"clean", sentence(example.tokens)}, {"corrupted", sentence(example.corrupted)}}, view.terminal);
  text += "\n" + fit_width("head", head_columns) + fit_width("at", word_columns) +
          fit_width("attends to", attended_columns) + fit_width("corrupted", attended_columns) + "effect\n";
  for (const HeadInPair& one : example.heads) {
    text += fmt::format("{}{}{}{}{:+.2f}\n", fit_width(head_name(one.head), head_columns),
                        fit_width(word(example.tokens, one.token), word_columns), attended(example.tokens, one.clean),
                        attended(example.corrupted, one.corrupted), one.at_token);
  }
  const std::vector<std::pair<std::string, std::string>> lines{
      {"at", "the token at which the head's output has its largest effect"},
      {"attends to", "the token to which this one gives its largest weight, in the clean and in the corrupted text"},
      {"effect", "log odds lost when the output at this token is that of the corrupted text"}};
  return text + "\n" + legend(lines, view.terminal) + over_pairs_table(example, view.terminal);
}

}  // namespace heed
