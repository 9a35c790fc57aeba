#include "views/sentence_text.h"
#include "views/shown_heads.h"
#include "views/view.h"

#include <heed/files/utf8.h>
#include <heed/tokenizers/graphemes.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

constexpr int label_columns = 34, word_columns = 8;

// Column widths of the figures of one side. On a narrow terminal the label is on its own line above them.
struct Columns {
  bool narrow;
  int figure, bar;
  explicit Columns(const Terminal& terminal)
      : narrow(terminal.width < 78), figure(narrow ? 20 : 22), bar(narrow ? 4 : 6) {}
};

// Returns the name, right-aligned. A long name keeps its end, where the names of two runs differ.
std::string heading(const Side& side, const Columns& layout) {
  std::string name = visible(side.name);
  while (display_width(name) > layout.figure - 2) {
    do name.erase(0, 1);
    while (!name.empty() && (name[0] & 0xc0) == 0x80);  // the continuation bytes of the character
  }
  return std::string(static_cast<std::size_t>(layout.figure - display_width(name)), ' ') + name;
}

std::string metrics_text(const Side& a, const Side& b, const Columns& layout) {
  const auto row = [&](const char* name, const auto& figure) {
    return (layout.narrow ? fmt::format("{}\n", name) : fmt::format("{:<{}}", name, label_columns)) +
           fmt::format("{:>{}}{:>{}}\n", figure(a), layout.figure, figure(b), layout.figure);
  };
  const auto known = [](const auto& text_of) {
    return [text_of](const Side& side) { return side.metrics ? text_of(*side.metrics) : std::string("-"); };
  };
  const auto loss = [&](const auto& of) {
    return known([of](const Metrics& m) { return std::isnan(of(m)) ? "-" : fmt::format("{:.4f}", of(m)); });
  };
  const auto share = [&](const auto& of) { return known([of](const Metrics& m) { return percent(of(m)); }); };
  return std::string(layout.narrow ? 0 : label_columns, ' ') + heading(a, layout) + heading(b, layout) + "\n" +
         row("step", [](const Side& side) { return fmt::format("{}", side.dump.step); }) +
         row("loss in training", loss([](const Metrics& m) { return m.train_loss; })) +
         row("loss on held-out examples", loss([](const Metrics& m) { return m.held_out.loss; })) +
         row("accuracy", share([](const Metrics& m) { return m.held_out.accuracy; })) +
         row("both of a pair", share([](const Metrics& m) { return m.held_out.counterpart_accuracy; })) +
         row("weight on antecedent, best head", known([](const Metrics& m) { return best_head_text(m.held_out); }));
}

double weight(const SentenceAttention& sentence, std::size_t layer, int head, int key) {
  return sentence.layers[layer].at({head, sentence.query, key});
}

int strongest(const SentenceAttention& sentence, std::size_t layer, int head) {
  int best = 0;
  for (int key = 1; key < std::ssize(sentence.tokens); ++key) {
    if (weight(sentence, layer, head, key) > weight(sentence, layer, head, best)) best = key;
  }
  return best;
}

// "tired 1.00 ██████ "
std::string strongest_text(const SentenceAttention& sentence, HeadIndex at, const Columns& layout) {
  const auto layer = static_cast<std::size_t>(at.layer);
  const int key = strongest(sentence, layer, at.head);
  const double w = weight(sentence, layer, at.head, key);
  const std::string text =
      fit_width(token_label(sentence.tokens, key), word_columns) + fmt::format(" {:.2f} ", w) +
      fit_width(bar(w, layout.bar) + (key == sentence.antecedent ? antecedent_sign : ""), layout.bar + 1);
  return fit_width(text, layout.figure - 1) + " ";
}

// Returns the number of heads per layer that exist in both.
std::vector<int> shared_heads(const SentenceAttention& a, const SentenceAttention& b) {
  std::vector<int> heads;
  for (std::size_t l = 0; l < std::min(a.layers.size(), b.layers.size()); ++l) {
    heads.push_back(static_cast<int>(std::min(a.layers[l].size(0), b.layers[l].size(0))));
  }
  return heads;
}

struct Change {
  int key;
  double weight;  // b - a
};

// Returns the change of the token whose weight differs most.
Change most_apart(const SentenceAttention& a, const SentenceAttention& b, HeadIndex at) {
  const auto layer = static_cast<std::size_t>(at.layer);
  Change most{0, 0};
  for (int key = 0; key < std::ssize(a.tokens); ++key) {
    const double change = weight(b, layer, at.head, key) - weight(a, layer, at.head, key);
    if (std::abs(change) > std::abs(most.weight)) most = {key, change};
  }
  return most;
}

std::string sentence_lines(const SentenceAttention& a, const SentenceAttention& b, const ShownHeads& shown,
                           const Columns& layout, const Terminal& terminal) {
  std::string text =
      fmt::format("\n{}\n", sentence_text(a.tokens, a.query, antecedent_span(a.antecedent, a.candidates), terminal));
  // Formats a label, the figures of both sides, and the third column.
  const auto line = [&](const std::string& label, const std::string& of_a, const std::string& of_b,
                        const std::string& third) {
    return layout.narrow ? fmt::format("{:<18}{}\n{}\n", label, third, trimmed(" " + of_a + of_b))
                         : trimmed(fmt::format("{:<20}{}{}{}", label, of_a, of_b, third)) + "\n";
  };
  const auto answer = [&](const SentenceAttention& s) {
    return fit_width(fmt::format("{} {:.3f}", fit_width(token_text(s.predicted), word_columns), s.probability),
                     layout.figure);
  };
  text += line("predicts", answer(a), answer(b), "most apart");
  for (const HeadIndex at : shown.heads) {
    const Change most = most_apart(a, b, at);
    text += line(fmt::format("layer {} head {}", at.layer + 1, at.head + 1), strongest_text(a, at, layout),
                 strongest_text(b, at, layout),
                 fmt::format("{} {:+.2f}", fit_width(token_label(a.tokens, most.key), word_columns), most.weight));
  }
  return text;
}

using SharedSentence = std::pair<const SentenceAttention*, const SentenceAttention*>;

// Returns the sentences that both sides watched.
std::vector<SharedSentence> shared_sentences(const Side& a, const Side& b) {
  std::vector<SharedSentence> shared;
  for (const SentenceAttention& of_a : a.dump.sentences) {
    const auto of_b = std::ranges::find_if(
        b.dump.sentences, [&](const SentenceAttention& s) { return s.tokens == of_a.tokens && s.query == of_a.query; });
    if (of_b != b.dump.sentences.end()) shared.emplace_back(&of_a, &*of_b);
  }
  return shared;
}

std::size_t left_out(const Side& a, const Side& b, const std::vector<SharedSentence>& shared) {
  return a.dump.sentences.size() + b.dump.sentences.size() - 2 * shared.size();
}

Json side_json(const Side& side) {
  Json json = {{"run", side.run}, {"name", side.name}, {"step", side.dump.step}};
  const auto figure = [&](const auto& of) { return side.metrics ? number_or_null(of(*side.metrics)) : Json(); };
  json["loss"] = figure([](const Metrics& m) { return m.train_loss; });
  json["held_out_loss"] = figure([](const Metrics& m) { return m.held_out.loss; });
  json["accuracy"] = figure([](const Metrics& m) { return m.held_out.accuracy; });
  json["twin_accuracy"] = figure([](const Metrics& m) { return m.held_out.counterpart_accuracy; });
  return json;
}

Json head_json(const SentenceAttention& a, const SentenceAttention& b, HeadIndex at) {
  Json both = Json::array();
  for (const SentenceAttention* of : {&a, &b}) {
    const auto layer = static_cast<std::size_t>(at.layer);
    const int key = strongest(*of, layer, at.head);
    both.push_back({{"token", key}, {"weight", weight(*of, layer, at.head, key)}});
  }
  const Change most = most_apart(a, b, at);
  return {{"layer", at.layer},
          {"head", at.head},
          {"strongest", std::move(both)},
          {"most_apart", {{"token", most.key}, {"change", most.weight}}}};
}

}  // namespace

std::string best_head_text(const Evaluation& evaluation) {
  const auto best = evaluation.best_head();
  return best ? fmt::format("{:.2f} layer {} head {}", best->weight, best->layer + 1, best->head + 1) : "-";
}

std::string compare_view(const Side& a, const Side& b, const View& view) {
  const Columns layout(view.terminal);
  std::string text = metrics_text(a, b, layout);
  const std::vector<SharedSentence> shared = shared_sentences(a, b);
  const int most = heads_that_fit(view.terminal, shared.size(), layout.narrow ? 2 : 1);
  bool marked = false;
  ShownHeads shown;
  for (const auto& pair : shared) {
    const SentenceAttention *of_a = pair.first, *of_b = pair.second;  // clang 14 cannot capture structured bindings
    shown = shown_heads(shared_heads(*of_a, *of_b), view, most,
                        [&](HeadIndex at) { return std::abs(most_apart(*of_a, *of_b, at).weight); });
    text += sentence_lines(*of_a, *of_b, shown, layout, view.terminal);
    marked = marked || of_a->antecedent >= 0;
  }
  const auto note = [&](const std::string& line) { text += "\n" + paragraph(line, view.terminal); };
  if (marked) text += "\n" + antecedent_legend(true, view.terminal);
  if (const std::string left_out = left_out_text(shown, "those that differ most", view.terminal); !left_out.empty()) {
    text += (marked ? "" : "\n") + left_out;
  }
  const std::size_t alone = left_out(a, b, shared);
  if (alone > 0) {
    note(fmt::format("Left out: {} that only one of them watched.",
                     counted(static_cast<std::int64_t>(alone), "sentence")));
  }
  if (a.run != b.run && !shared.empty()) {
    note("Heads are compared by number; in two runs the same number need not do the same.");
  }
  return text;
}

Json compare_json(const Side& a, const Side& b, const View& view) {
  const std::vector<SharedSentence> shared = shared_sentences(a, b);
  Json sentences = Json::array();
  for (const auto& pair : shared) {
    const SentenceAttention &of_a = *pair.first, &of_b = *pair.second;
    Json heads = Json::array();
    for (const HeadIndex at : chosen_heads(shared_heads(of_a, of_b), view)) heads.push_back(head_json(of_a, of_b, at));
    sentences.push_back({{"tokens", of_a.tokens},
                         {"query", of_a.query},
                         {"antecedent", of_a.antecedent},
                         {"predicted", {of_a.predicted, of_b.predicted}},
                         {"probability", {of_a.probability, of_b.probability}},
                         {"heads", std::move(heads)}});
  }
  return {{"sides", {side_json(a), side_json(b)}},
          {"sentences", std::move(sentences)},
          {"left_out", left_out(a, b, shared)}};
}

}  // namespace heed
