#include "views/view.h"

#include <heed/explain/studies/report.h>
#include <heed/files/utf8.h>

#include <fmt/format.h>

namespace heed {
namespace {

constexpr int looks_columns = 72;  // of the table of attention on candidates; a narrow terminal has sentences instead

std::string looks_row(const char* name, const Report::Looks& looks, const Terminal& terminal) {
  if (looks.sentences == 0) return "";
  if (terminal.width < looks_columns) {
    return paragraph(
        fmt::format(
            "  {} answers ({}): {:.2f} on the correct candidate, {:.2f} on another; {} changed without that edge", name,
            looks.sentences, looks.meant, looks.other, percent(looks.moved)),
        terminal, 4);
  }
  return fmt::format("  {:<18} {:>12.2f}  {:>10.2f}  {:>25}\n", fmt::format("{} ({})", name, looks.sentences),
                     looks.meant, looks.other, percent(looks.moved));
}

const Report::Group* group(const Report& report, const char* name) {
  for (const Report::Group& one : report.groups) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

// "4.0 points (1.2 to 6.8)"
std::string points_text(const Interval& difference) {
  return fmt::format("{:.1f} points ({:.1f} to {:.1f})", 100 * difference.share, 100 * difference.low,
                     100 * difference.high);
}

Json looks_json(const Report::Looks& looks) {
  return {{"sentences", looks.sentences},
          {"meant", number_or_null(looks.meant)},
          {"other", number_or_null(looks.other)},
          {"moved", number_or_null(looks.moved)}};
}

}  // namespace

std::vector<std::string> report_verdict(const Report& report) {
  std::vector<std::string> lines;
  const std::string interval = fmt::format("{:.1f} to {:.1f} %", 100 * report.model.low, 100 * report.model.high);
  if (!report.model.is_above(report.coin)) {
    lines.push_back(fmt::format("Not shown to be better than a coin: {} is in, or above, the interval {}.",
                                percent(report.coin), interval));
  }
  const auto compare = [&](const char* baseline, const Interval& more) {
    const bool is_better = more.is_above(0);
    lines.push_back(fmt::format("{} than {}: right in {} more of the same sentences{}.",
                                is_better ? "Better" : "Not shown to be better", baseline, points_text(more),
                                is_better ? "" : ", an interval that does not lie above 0"));
  };
  if (report.over_most_frequent) compare("the most frequent answer", *report.over_most_frequent);
  if (report.over_bag) {
    compare("a bag of words", *report.over_bag);
  } else {
    lines.emplace_back("Its training sentences are unknown: no bag of words is trained on them, and none is left out.");
  }
  for (const auto& [what, control] : {std::pair("without the candidates' words", report.without_candidates),
                                      std::pair("on the part after the query", report.after_query)}) {
    if (control && control->is_above(report.chance())) {
      lines.push_back(fmt::format(
          "{} it is still right in {} ({:.1f} to {:.1f}), above {}'s {}: annotation artifacts of "
          "the set reveal the answer.",
          std::string(1, static_cast<char>(what[0] - 32)) + (what + 1), percent(control->share), 100 * control->low,
          100 * control->high, report.most_frequent ? "the most frequent answer" : "a coin", percent(report.chance())));
    }
  }
  if (const auto& difference = report.pro_over_anti) {
    const bool is_shown = difference->low > 0 || difference->high < 0;
    lines.push_back(fmt::format("Pro-stereotypical {}, anti-stereotypical {}: a difference of {}{}.",
                                percent(group(report, "pro")->right.share), percent(group(report, "anti")->right.share),
                                points_text(*difference), is_shown ? "" : ", which is not shown to differ from 0"));
  }
  const Report::Group *feminine = group(report, "feminine"), *masculine = group(report, "masculine");
  if (feminine && masculine) {
    lines.push_back(fmt::format("F1 {:.1f} feminine, {:.1f} masculine: a ratio of {:.2f}.", 100 * feminine->F1,
                                100 * masculine->F1, feminine->F1 / masculine->F1));
  }
  return lines;
}

std::string report_view(const Report& report, const Terminal& terminal) {
  std::string head = fmt::format("{}: {}", report.set, counted(report.sentences, "sentence"));
  if (report.pairs > 0) head += ", " + counted(report.pairs, "minimal pair");
  if (report.known > 0) head += fmt::format("; {} left out because the training set has them", report.known);
  if (report.too_long > 0)
    head += fmt::format("; {} left out because they are too long for the model", report.too_long);
  std::string text = paragraph(head, terminal, 2);
  for (const std::string& line : report_verdict(report)) text += paragraph(line, terminal);
  const auto row = [&](const std::string& name, const auto& figure) { text += share_row(name, figure, terminal); };
  text += share_row("", "right", "95 % interval", terminal);
  row("the model", report.model);
  row("  both of a minimal pair", report.both_of_pair);
  if (report.bag) row("a bag of words", *report.bag);
  if (report.without_candidates) row("the model without the candidates' words", *report.without_candidates);
  if (report.after_query) row("the model on the part after the query", *report.after_query);
  row("a coin", report.coin);
  if (report.most_frequent) row("the most frequent answer", *report.most_frequent);
  row("the nearest candidate", report.nearest);
  row("the first candidate", report.first);
  for (const Report::Group& one : report.groups) {
    row(fmt::format("the model, {} ({})", one.name.empty() ? "other" : excerpt(one.name, 20), one.sentences),
        one.right);
  }
  const auto share = [](std::int64_t part, std::int64_t whole) {
    return fmt::format("{:.0f} %", 100 * static_cast<double>(part) / static_cast<double>(whole));
  };
  const UnknownShare& u = report.unknown;
  text += paragraph(fmt::format("The model does not know {} of {} words ({} of {} different words).",
                                share(u.unknown_words, u.words), u.words, share(u.unknown_types, u.types), u.types),
                    terminal);
  if (report.layer < 0) return text;
  text += paragraph(fmt::format("Layer {} head {} puts the most attention of all heads on the correct candidate:",
                                report.layer + 1, report.head + 1),
                    terminal);
  if (terminal.width >= looks_columns) {
    text += fmt::format("  {:<18} {:>12}  {:>10}  {:>25}\n", "answers", "on correct", "on another",
                        "changed without that edge");
  }
  return text + looks_row("right", report.right, terminal) + looks_row("wrong", report.wrong, terminal);
}

Json report_json(const Report& report) {
  Json groups = Json::array();
  for (const Report::Group& one : report.groups) {
    groups.push_back({{"name", one.name},
                      {"sentences", one.sentences},
                      {"right", interval_json(one.right)},
                      {"F1", number_or_null(one.F1)}});
  }
  const auto control = [](const std::optional<Interval>& i) { return i ? interval_json(*i) : Json(); };
  return {{"set", report.set},
          {"sentences", report.sentences},
          {"pairs", report.pairs},
          {"known", report.known},
          {"too_long", report.too_long},
          {"model", interval_json(report.model)},
          {"both_of_pair", interval_json(report.both_of_pair)},
          {"bag_of_words", control(report.bag)},
          {"over_bag_of_words", control(report.over_bag)},
          {"pro_over_anti", control(report.pro_over_anti)},
          {"without_candidates", control(report.without_candidates)},
          {"after_query", control(report.after_query)},
          {"coin", report.coin},
          {"most_frequent", report.most_frequent ? Json(*report.most_frequent) : Json()},
          {"over_most_frequent", control(report.over_most_frequent)},
          {"nearest", report.nearest},
          {"first", report.first},
          {"unknown_words", report.unknown.unknown_words},
          {"words", report.unknown.words},
          {"unknown_types", report.unknown.unknown_types},
          {"types", report.unknown.types},
          {"groups", std::move(groups)},
          {"layer", report.layer < 0 ? Json() : Json(report.layer)},
          {"head", report.head < 0 ? Json() : Json(report.head)},
          {"right", looks_json(report.right)},
          {"wrong", looks_json(report.wrong)},
          {"verdict", report_verdict(report)}};
}

}  // namespace heed
