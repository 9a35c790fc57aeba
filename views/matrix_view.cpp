#include "views/sentence_text.h"
#include "views/shown_heads.h"
#include "views/view.h"

#include <heed/tokenizers/graphemes.h>

#include <fmt/format.h>

#include <algorithm>

namespace heed {
namespace {

constexpr int widest_label = 12, widest_cell = 9;
constexpr int narrowest_cell = 5;    // columns of a cell with a figure, a shade and the beginning of a word
constexpr int narrowest_number = 2;  // columns of a cell with only a shade

std::string word_of(const SentenceAttention& sentence, int token) {
  return token_text(sentence.tokens[static_cast<std::size_t>(token)]);
}

// Placement of a sentence's matrix on the screen: tokens [begin, end) are rows and columns.
struct Layout {
  int label, cell, begin, end;
  bool words;  // column headings are words; otherwise numbers
};

Layout layout_of(const SentenceAttention& sentence, int width) {
  const int T = static_cast<int>(sentence.tokens.size());
  int widest = 0;
  for (int token = 0; token < T; ++token) widest = std::max(widest, display_width(word_of(sentence, token)));
  Layout layout{std::min(widest, widest_label) + 1, 0, 0, T, true};
  layout.cell = std::min((width - layout.label) / T, widest_cell);
  if (layout.cell >= narrowest_cell) return layout;

  layout.words = false;
  layout.label += static_cast<int>(std::to_string(T).size()) + 1;
  layout.cell = std::clamp((width - layout.label) / T, narrowest_number, 3);
  const int shown = std::min(T, (width - layout.label) / layout.cell);
  layout.begin = std::clamp(sentence.query - shown / 2, 0, T - shown);
  layout.end = layout.begin + shown;
  return layout;
}

std::string heading(const SentenceAttention& sentence, const Layout& layout) {
  std::string text(static_cast<std::size_t>(layout.label), ' ');
  for (int key = layout.begin; key < layout.end; ++key) {
    if (layout.words) {
      text += fit_width(word_of(sentence, key), layout.cell - 1) + " ";
    } else {
      const std::string number = (key + 1) % 5 == 0 || key == layout.begin ? std::to_string(key + 1) : "";
      text += number.size() <= static_cast<std::size_t>(layout.cell) ? fit_width(number, layout.cell)
                                                                     : fit_width("·", layout.cell);
    }
  }
  return trimmed(text) + "\n";
}

std::string row(const SentenceAttention& sentence, const Tensor& weights, int head, int query, const Layout& layout,
                const View& view) {
  const std::string token = word_of(sentence, query);
  const std::string label = layout.words ? token : fmt::format("{} {}", query + 1, token);
  const std::string fitted = fit_width(label, layout.label - 1);
  std::string text = (query == sentence.query ? highlighted(fitted, view.terminal) : fitted) + " ";
  for (int key = layout.begin; key < layout.end; ++key) {
    const double weight = weights.at({head, query, key});
    const std::string figure = layout.words ? fmt::format("{:3.0f}", 100 * weight) : "";
    text += heat_cell(weight, figure, layout.cell, view.terminal);
  }
  return trimmed(text) + "\n";
}

}  // namespace

std::string matrix_view(const Dump& dump, const View& view) {
  const int width = view.terminal.width;
  std::string text =
      paragraph(fmt::format("{}each row is a query, each column a key", step_text(dump.step, view)), view.terminal);
  const int lines = lines_for_heads(view.terminal, dump.sentences.size());
  ShownHeads shown;
  for (const SentenceAttention& sentence : dump.sentences) {
    const int T = static_cast<int>(sentence.tokens.size());
    const Layout layout = layout_of(sentence, width);
    shown = shown_heads(sentence, view, always_shown);
    if (dump.sentences.size() > 1) {
      text += "\n" + sentence_text(sentence.tokens, sentence.query, {}, view.terminal, dump.is_text) + "\n";
    }
    if (shown.of > always_shown) shown = shown_heads(sentence, view, std::max(1, lines / (T + 2)));
    for (const auto [layer, head] : shown.heads) {
      std::string heading_line = fmt::format("layer {} head {}", layer + 1, head + 1);
      if (layout.words) heading_line += ", in hundredths";
      if (layout.end - layout.begin < T) {
        heading_line +=
            fmt::format(": only tokens {} to {} of {} fit in {} columns", layout.begin + 1, layout.end, T, width);
      }
      text += "\n" + paragraph(heading_line, view.terminal) + heading(sentence, layout);
      for (int query = layout.begin; query < layout.end; ++query) {
        text += row(sentence, sentence.layers[static_cast<std::size_t>(layer)], head, query, layout, view);
      }
    }
  }
  const std::string left_out = left_out_text(shown, importance_text(dump.sentences), view.terminal);
  return left_out.empty() ? text : text + "\n" + left_out;
}

}  // namespace heed
