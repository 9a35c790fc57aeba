#include "views/sentence_text.h"
#include "views/shown_heads.h"
#include "views/view.h"

#include <heed/files/utf8.h>
#include <heed/tokenizers/graphemes.h>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace heed {
namespace {

constexpr int narrowest_word = 4;
constexpr int wide = 56;  // at this width and above, lines include the weight of the other tokens

struct Item {
  int token;
  double weight, before;  // of this model, and of the untrained model
};

struct Line {
  HeadIndex at;
  std::vector<Item> strongest;
  double others, others_before;
};

Line line_of(const SentenceAttention& sentence, const SentenceAttention& before, HeadIndex at, int items) {
  const int T = static_cast<int>(sentence.tokens.size());
  const auto weight = [&](const SentenceAttention& of, int key) {
    return of.layers[static_cast<std::size_t>(at.layer)].at({at.head, of.query, key});
  };
  std::vector<int> keys(static_cast<std::size_t>(T));
  std::iota(keys.begin(), keys.end(), 0);
  std::stable_sort(keys.begin(), keys.end(), [&](int a, int b) { return weight(sentence, a) > weight(sentence, b); });
  Line line{at, {}, 0, 0};
  for (const int key : keys) {
    if (std::ssize(line.strongest) < items) {
      line.strongest.push_back({key, weight(sentence, key), weight(before, key)});
    } else {
      line.others += weight(sentence, key);
      line.others_before += weight(before, key);
    }
  }
  return line;
}

int digits(int number) { return static_cast<int>(std::to_string(number).size()); }

// Returns a line per head, with the untrained figures below it if `view.before` is set:
//   layer L head H  QUERY -> WORD 0.93 BAR  WORD 0.03 BAR  others 0.04
//        untrained                0.09 BAR       0.10 BAR         0.81
// A narrow terminal has shorter bars and no "others".
std::string lines_text(const SentenceAttention& sentence, const std::vector<Line>& lines, const View& view) {
  const bool has_others = view.terminal.width >= wide;
  const int bar_columns = has_others ? 8 : 4;  // columns of a bar for weight 1
  const int widest_query = has_others ? 10 : 6;
  const Span meant = antecedent_span(sentence.antecedent, sentence.candidates);
  const auto is_meant = [&](const Item& item) { return meant.begin <= item.token && item.token < meant.end; };
  const auto bar_of = [&](const Item& item) {
    return bar(item.weight, bar_columns) + (is_meant(item) ? antecedent_sign : "");
  };
  const std::size_t items = lines[0].strongest.size();
  std::vector<int> words(items), bars(items);
  for (const Line& line : lines) {
    for (std::size_t i = 0; i < items; ++i) {
      const Item& item = line.strongest[i];
      words[i] = std::max(words[i], display_width(token_label(sentence.tokens, item.token)));
      bars[i] = std::max(bars[i], display_width(bar_of(item)));
      if (view.before) bars[i] = std::max(bars[i], display_width(bar(item.before, bar_columns)));
    }
  }
  int layer_digits = 1, head_digits = 1;
  for (const Line& line : lines) {
    layer_digits = std::max(layer_digits, digits(line.at.layer + 1));
    head_digits = std::max(head_digits, digits(line.at.head + 1));
  }
  std::string query = token_label(sentence.tokens, sentence.query);
  if (display_width(query) > widest_query) query = fit_width(query, widest_query);
  const int before_items = 14 + layer_digits + head_digits + display_width(query) + 4;
  const auto width = [&] {
    int columns = before_items + (has_others ? 11 : -2);
    for (std::size_t i = 0; i < items; ++i) columns += words[i] + 6 + bars[i] + 2;
    return columns;
  };
  while (width() > view.terminal.width) {
    const auto widest = std::max_element(words.begin(), words.end());
    if (*widest <= narrowest_word) break;
    --*widest;
  }
  std::string text;
  for (const Line& line : lines) {
    std::string now = fmt::format("layer {:<{}} head {:<{}}  {} -> ", line.at.layer + 1, layer_digits, line.at.head + 1,
                                  head_digits, query);
    std::string before = fmt::format("{:>{}}", view.before_name, 12 + layer_digits + head_digits);
    before.resize(static_cast<std::size_t>(before_items), ' ');
    for (std::size_t i = 0; i < items; ++i) {
      const Item& item = line.strongest[i];
      const std::string cell =
          fmt::format("{} {:.2f} {}", fit_width(token_label(sentence.tokens, item.token), words[i]), item.weight,
                      fit_width(bar_of(item), bars[i]));
      now += (is_meant(item) ? highlighted(cell, view.terminal) : cell) + "  ";
      before += fmt::format("{:{}} {:.2f} {}  ", "", words[i], item.before,
                            fit_width(bar(item.before, bar_columns), bars[i]));
    }
    if (has_others) now += fmt::format("others {:.2f}", line.others);
    if (has_others) before += fmt::format("       {:.2f}", line.others_before);
    text += trimmed(now) + "\n";
    if (view.before) text += trimmed(before) + "\n";
  }
  return text;
}

bool is_same_question(const SentenceAttention& sentence, const SentenceAttention& before) {
  return before.tokens == sentence.tokens && before.query == sentence.query &&
         std::ranges::equal(before.layers, sentence.layers,
                            [](const Tensor& a, const Tensor& b) { return a.shape() == b.shape(); });
}

// Returns the parts on one line, two spaces apart, or on more lines if one is too narrow.
std::string on_lines(const std::vector<std::string>& parts, int width) {
  std::string text;
  int column = 0;
  for (const std::string& part : parts) {
    const bool fits = column + 2 + display_width(part) <= width;
    if (column > 0) text += fits ? "  " : "\n";
    column = (column > 0 && fits ? column + 2 : 0) + display_width(part);
    text += part;
  }
  return text;
}

// Returns "✓ right" or "✗ wrong: the answer is street"; "" if the correct answer is unknown.
std::string right_or_wrong(const SentenceAttention& sentence, int width) {
  if (sentence.answer.empty()) return "";
  if (sentence.answer == sentence.predicted) return "✓ right";
  const std::string answer = sentence.likeliest.empty() ? "✗ wrong: the answer is " : "✗ wrong: the text has ";
  return answer + excerpt(token_text(sentence.answer), width - display_width(answer));
}

// Returns "predicts animal with probability 0.998  ✓ right  (untrained: horse, 0.137)". A model that predicts tokens adds
// "most likely: r 0.611  ␣ 0.277  s 0.050  e 0.021  n 0.010".
std::string answer_text(const SentenceAttention& sentence, const SentenceAttention* before, const View& view) {
  if (sentence.predicted.empty()) {
    return wrapped("a model without a head: it gives no answer", view.terminal.width);
  }
  constexpr int around = 32;  // columns of the words around the answer
  const int width = view.terminal.width;
  const std::string predicted = excerpt(token_text(sentence.predicted), std::max(width - around, narrowest_word));
  std::vector<std::string> parts{fmt::format("predicts {} with probability {:.3f}", predicted, sentence.probability)};
  if (const std::string marked = right_or_wrong(sentence, width); !marked.empty()) parts.push_back(marked);
  if (before) {
    parts.push_back(
        fmt::format("({}: {}, {:.3f})", view.before_name, token_text(before->predicted), before->probability));
  }
  std::string text = on_lines(parts, width);
  constexpr std::string_view before_answer{"predicts "};
  text.replace(before_answer.size(), predicted.size(), highlighted(predicted, view.terminal));
  if (sentence.likeliest.empty()) return text;
  parts = {"most likely:"};
  for (const auto& [answer, probability] : sentence.likeliest) {
    parts.push_back(fmt::format("{} {:.3f}", token_text(answer), probability));
  }
  return text + "\n" + on_lines(parts, width);
}

}  // namespace

std::string step_text(std::int64_t step, const View& view) {
  return view.has_steps ? fmt::format("step {}: ", step) : "";
}

Range chosen_range(const char* option, std::optional<int> chosen, int count) {
  if (!chosen) return {0, count};
  if (*chosen < 1 || *chosen > count) fail("--{}: expected a number from 1 to {}, got {}", option, count, *chosen);
  return {*chosen - 1, *chosen};
}

std::string query_view(const Dump& dump, const View& view) {
  const int width = view.terminal.width;
  const int items = width < 72 ? 1 : 2 + std::max(0, width - 80) / 24;
  const Dump& untrained = view.before ? *view.before : dump;
  std::string text = view.has_steps ? fmt::format("step {}\n\n", dump.step) : "";
  const int most = heads_that_fit(view.terminal, dump.sentences.size(), view.before ? 2 : 1);
  bool marked = false;
  ShownHeads shown;
  for (std::size_t i = 0; i < dump.sentences.size(); ++i) {
    const SentenceAttention& sentence = dump.sentences[i];
    if (untrained.sentences.size() != dump.sentences.size() || !is_same_question(sentence, untrained.sentences[i])) {
      fail("the snapshots of steps {} and {} hold different sentences", untrained.step, dump.step);
    }
    const SentenceAttention& before = untrained.sentences[i];
    if (i > 0) text += '\n';
    text += fmt::format(
        "{}\n{}\n",
        sentence_text(sentence.tokens, sentence.query, antecedent_span(sentence.antecedent, sentence.candidates),
                      view.terminal, dump.is_text),
        answer_text(sentence, view.before ? &before : nullptr, view));
    shown = shown_heads(sentence, view, most);
    std::vector<Line> lines;
    for (const HeadIndex at : shown.heads) lines.push_back(line_of(sentence, before, at, items));
    text += lines_text(sentence, lines, view);
    marked = marked || sentence.antecedent >= 0;
  }
  const std::string left_out = left_out_text(shown, importance_text(dump.sentences), view.terminal);
  if (marked || !left_out.empty()) text += '\n';
  if (marked) text += antecedent_legend(true, view.terminal);
  return text + left_out;
}

}  // namespace heed
