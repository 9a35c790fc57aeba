#include "inspect/commands/shared.h"
#include "inspect/run_studies.h"

#include <heed/explain/studies/head_choices.h>
#include <heed/files/file.h>
#include <heed/formats/saved_model.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

const char* name_of(HeadChoices::Direction direction) {
  return direction == HeadChoices::Direction::to_candidate ? "pronoun -> candidate" : "candidate -> pronoun";
}

std::string name_of(const HeadChoices::Head& head) {
  return fmt::format("layer {} head {}, {}", head.layer + 1, head.head + 1, name_of(head.direction));
}

std::string heads_view(const HeadChoices& found, const std::string& set, const View& view) {
  const Interval& measured = found.best.right;
  const std::string unseen = found.equal_pairs == 0
                                 ? ""
                                 : fmt::format(
                                       " In {} of the {} the words that differ come after the pronoun and the "
                                       "candidates, where a causal model "
                                       "cannot see them: each head is right in one of the two sentences.",
                                       found.equal_pairs, counted(found.pairs, "minimal pair"));
  std::string text = wrapped(
      (std::isnan(measured.share)
           ? fmt::format(
                 "{}: no head can be measured, because one half of the sentences chooses it and the other half is "
                 "empty; pairs stay together. Give more sentences.",
                 set)
           : fmt::format(
                 "{}: {} points at the correct candidate in {} of the half on which it was not chosen ({:.1f} to "
                 "{:.1f}); {}",
                 set, name_of(found.best), percent(measured.share), 100 * measured.low, 100 * measured.high,
                 found.beats_baselines() ? "better than each baseline." : "not shown to beat the baselines.")) +
          unseen,
      view.terminal.width);
  const auto line = [&](const std::string& words) { text += paragraph(words, view.terminal); };
  const auto row = [&](const std::string& name, const auto& share) { text += share_row(name, share, view.terminal); };
  text += "\n\n";
  line(fmt::format("{}, {} in minimal pairs; share of right candidates, and its 95 % interval",
                   counted(found.sentences, "sentence"), 2 * found.pairs));
  row("that head, on the half that chose it", found.chosen_on);
  row("that head, on the other half", found.best.right);
  row("a head drawn at random", found.mean);
  row("the candidate nearest to the pronoun", found.nearest);
  row("the first candidate", found.first);
  row("the most frequent answer, other half", found.most_frequent);
  row("a coin", found.coin);
  std::vector<HeadChoices::Head> heads = found.heads;
  std::ranges::stable_sort(heads, std::greater<>(), [](const HeadChoices::Head& h) { return h.right.share; });
  heads.resize(std::min<std::size_t>(heads.size(), 8));
  text += '\n';
  line(fmt::format("The {} largest of {} shares, on all sentences (the largest are so by chance, too)", heads.size(),
                   found.heads.size()));
  for (const HeadChoices::Head& head : heads) row(name_of(head), head.right);
  if (found.answers) {
    text += '\n';
    line(fmt::format("Right answers by the model, and without that head's edge {}", name_of(found.best.direction)));
    row("the model", found.answers->before);
    row("the model without that edge", found.answers->without_edge);
  }
  if (found.without > 0) {
    text += '\n';
    line(fmt::format("Left out: {} without a correct candidate among two.", counted(found.without, "sentence")));
  }
  if (found.too_long > 0) {
    text += '\n';
    line(fmt::format("Left out: {} longer than the model reads.", counted(found.too_long, "sentence")));
  }
  return text;
}

Json head_json(const HeadChoices::Head& head) {
  return {{"layer", head.layer},
          {"head", head.head},
          {"direction", head.direction == HeadChoices::Direction::to_candidate ? "to_candidate" : "from_candidate"},
          {"right", interval_json(head.right)}};
}

Json heads_json(const HeadChoices& found, const std::string& set) {
  Json json{{"set", set},
            {"sentences", found.sentences},
            {"pairs", found.pairs},
            {"too_long", found.too_long},
            {"without_candidates", found.without},
            {"best", head_json(found.best)},
            {"chosen_on", interval_json(found.chosen_on)},
            {"over_nearest", interval_json(found.over_nearest)},
            {"over_first", interval_json(found.over_first)},
            {"over_most_frequent", interval_json(found.over_most_frequent)},
            {"mean", found.mean},
            {"nearest", interval_json(found.nearest)},
            {"first", interval_json(found.first)},
            {"most_frequent", interval_json(found.most_frequent)},
            {"coin", found.coin},
            {"heads", Json::array()}};
  if (found.answers) {
    json["answers"] = {{"before", interval_json(found.answers->before)},
                       {"without_edge", interval_json(found.answers->without_edge)}};
  }
  for (const HeadChoices::Head& head : found.heads) json["heads"].push_back(head_json(head));
  return json;
}

}  // namespace

const Command heads_command{
    .name = "heads",
    .words = "RUN [FILE...]",
    .summary = "Counts how often each head points at the right candidate",
    .example = "inspect heads all-MiniLM-L6-v2 winograd.tsv#en/wsc_naive.train",
    .shared = "json",
    .is_shared = true,
    .answer = [](const Request& request) {
      const Model model = model_of(request.runs[0], {}, request.progress);
      Json all = Json::array();
      std::string text;
      const auto add = [&](const std::string& set, const std::string& file) {
        const HeadChoices found =
            head_choices(model, report_sentences(model, request.runs[0], file), request.processes);
        text += (text.empty() ? "" : "\n") + heads_view(found, set, request.view);
        all.push_back(heads_json(found, set));
      };
      if (request.files.empty() && is_pretrained(request.runs[0])) {
        misused("expected a FILE of sentences with candidates: inspect heads {} FILE", shell_word(request.runs[0]));
      }
      for (const std::string& file : request.files) add(file, file);
      if (request.files.empty()) add("held-out sentences", "");
      return request.has("json") ? json_line(all) : text;
    }};

}  // namespace heed
