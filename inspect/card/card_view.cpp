#include "inspect/card/card.h"
#include "inspect/views/view.h"

#include <heed/files/utf8.h>

#include <cmath>

namespace heed {
namespace {

std::string counted(std::int64_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string looks_row(const char* name, const Card::Looks& looks) {
  if (looks.sentences == 0) return "";
  return fmt::format("  {:<18} {:>12.2f} {:>12.2f} {:>24}\n", fmt::format("{} ({})", name, looks.sentences),
                     looks.meant, looks.other, percent(looks.moved));
}

const Card::Group* group(const Card& card, const char* name) {
  for (const Card::Group& one : card.groups) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

// The difference of two shares of different sentences; their errors add in squares.
std::string difference_text(const Interval& a, const Interval& b) {
  const double difference = a.share - b.share, error = std::hypot(a.error(), b.error());
  return fmt::format("a difference of {:.1f} ± {:.1f} points{}", 100 * difference, 100 * error,
                     std::abs(difference) > error ? "" : ", which is not shown to differ from 0");
}

Json looks_json(const Card::Looks& looks) {
  return {{"sentences", looks.sentences},
          {"meant", number_or_null(looks.meant)},
          {"other", number_or_null(looks.other)},
          {"moved", number_or_null(looks.moved)}};
}

}  // namespace

std::vector<std::string> card_verdict(const Card& card) {
  std::vector<std::string> lines;
  const std::string interval = fmt::format("{:.1f} to {:.1f} %", 100 * card.model.low, 100 * card.model.high);
  const bool beats_coin = card.model.low > card.coin, beats_bag = card.model.low > card.bag.share;
  if (!beats_coin) {
    lines.push_back(fmt::format("Not shown to be better than a coin: {} is in, or above, the interval {}.",
                                percent(card.coin), interval));
  }
  if (beats_bag) {
    lines.push_back(fmt::format("Better than a bag of words, {}: that is below the interval {}.",
                                percent(card.bag.share), interval));
  } else {
    lines.push_back(fmt::format("Not shown to be better than a bag of words: {} is in, or above, the interval {}.",
                                percent(card.bag.share), interval));
  }
  for (const auto& [what, control] : {std::pair("without the candidates' words", card.without_candidates),
                                      std::pair("on the part after the query", card.after_query)}) {
    if (control && control->low > card.coin) {
      lines.push_back(
          fmt::format("{} it is still right in {} ({:.1f} to {:.1f}), above a coin's {}: annotation artifacts "
                      "of the set reveal the answer.",
                      std::string(1, static_cast<char>(what[0] - 32)) + (what + 1), percent(control->share),
                      100 * control->low, 100 * control->high, percent(card.coin)));
    }
  }
  if (const Card::Group* pro = group(card, "pro"), *anti = group(card, "anti"); pro && anti) {
    lines.push_back(fmt::format("Pro-stereotypical {}, anti-stereotypical {}: {}.", percent(pro->right.share),
                                percent(anti->right.share), difference_text(pro->right, anti->right)));
  }
  const Card::Group *feminine = group(card, "feminine"), *masculine = group(card, "masculine");
  if (feminine && masculine) {
    lines.push_back(fmt::format("F1 {:.1f} feminine, {:.1f} masculine: a ratio of {:.2f}.", 100 * feminine->F1,
                                100 * masculine->F1, feminine->F1 / masculine->F1));
  }
  return lines;
}

std::string card_view(const Card& card, const Terminal& terminal) {
  std::string head = fmt::format("{}: {}", card.set, counted(card.sentences, "sentence", "sentences"));
  if (card.pairs > 0) head += ", " + counted(card.pairs, "minimal pair", "minimal pairs");
  if (card.known > 0) head += fmt::format("; {} left out that training knows", card.known);
  if (card.too_long > 0) head += fmt::format("; {} left out that are too long for the model", card.too_long);
  std::string text = wrapped(head, terminal.width, 2) + "\n";
  for (const std::string& line : card_verdict(card)) text += wrapped(line, terminal.width) + "\n";
  text += fmt::format("  {:<40} {:>9}   {}\n", "", "right", "95 % interval");
  text += share_row("the model", card.model) + share_row("  both of a minimal pair", card.both_of_pair) +
          share_row("a bag of words", card.bag);
  if (card.without_candidates) text += share_row("the model without the candidates' words", *card.without_candidates);
  if (card.after_query) text += share_row("the model on the part after the query", *card.after_query);
  text += share_row("a coin", card.coin) + share_row("the nearest candidate", card.nearest) +
          share_row("the first candidate", card.first);
  for (const Card::Group& one : card.groups) {
    text +=
        share_row(fmt::format("the model, {} ({})", one.name.empty() ? "other" : excerpt(one.name, 20), one.sentences),
                  one.right);
  }
  const auto share = [](std::int64_t part, std::int64_t whole) {
    return fmt::format("{:.0f} %", 100 * static_cast<double>(part) / static_cast<double>(whole));
  };
  const UnknownShare& u = card.unknown;
  text += wrapped(fmt::format("Unknown to the model: {} of {} words, {} of the {} different ones.",
                              share(u.unknown_words, u.words), u.words, share(u.unknown_types, u.types), u.types),
                  terminal.width) +
          "\n";
  if (card.layer < 0) return text;
  text += wrapped(fmt::format("Of all heads, layer {} head {} puts the most attention on the meant candidate:",
                              card.layer + 1, card.head + 1),
                  terminal.width) +
          "\n";
  text += fmt::format("  {:<18} {:>12} {:>12} {:>24}\n", "answers", "on the meant", "on another",
                      "changed without that edge");
  return text + looks_row("right", card.right) + looks_row("wrong", card.wrong);
}

Json card_json(const Card& card) {
  Json groups = Json::array();
  for (const Card::Group& one : card.groups) {
    groups.push_back({{"name", one.name},
                      {"sentences", one.sentences},
                      {"right", interval_json(one.right)},
                      {"F1", number_or_null(one.F1)}});
  }
  const auto control = [](const std::optional<Interval>& i) { return i ? interval_json(*i) : Json(); };
  return {{"set", card.set},
          {"sentences", card.sentences},
          {"pairs", card.pairs},
          {"known", card.known},
          {"too_long", card.too_long},
          {"model", interval_json(card.model)},
          {"both_of_pair", interval_json(card.both_of_pair)},
          {"bag_of_words", interval_json(card.bag)},
          {"without_candidates", control(card.without_candidates)},
          {"after_query", control(card.after_query)},
          {"coin", card.coin},
          {"nearest", card.nearest},
          {"first", card.first},
          {"unknown_words", card.unknown.unknown_words},
          {"words", card.unknown.words},
          {"unknown_types", card.unknown.unknown_types},
          {"types", card.unknown.types},
          {"groups", std::move(groups)},
          {"layer", card.layer < 0 ? Json() : Json(card.layer)},
          {"head", card.head < 0 ? Json() : Json(card.head)},
          {"right", looks_json(card.right)},
          {"wrong", looks_json(card.wrong)},
          {"verdict", card_verdict(card)}};
}

}  // namespace heed
