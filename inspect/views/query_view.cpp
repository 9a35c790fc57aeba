#include "inspect/views/sentence_text.h"
#include "inspect/views/view.h"

#include <heed/files/utf8.h>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace heed {
namespace {

constexpr int bar_columns = 8;  // of weight 1
constexpr int narrowest_word = 4, widest_query = 10;

struct Item {
  int token;
  double weight, before;  // now, and of the untrained model
};

struct Line {
  int layer, head;  // from 0
  std::vector<Item> strongest;
  double others, others_before;
};

Line line_of(const SentenceAttention& sentence, const SentenceAttention& before, int layer, int head, int items) {
  const int T = static_cast<int>(sentence.tokens.size());
  const auto weight = [&](const SentenceAttention& of, int key) {
    return of.layers[static_cast<std::size_t>(layer)].at({head, of.query, key});
  };
  std::vector<int> keys(static_cast<std::size_t>(T));
  std::iota(keys.begin(), keys.end(), 0);
  std::stable_sort(keys.begin(), keys.end(), [&](int a, int b) { return weight(sentence, a) > weight(sentence, b); });
  Line line{layer, head, {}, 0, 0};
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

// A line for each head, and with view.before the untrained figures below it, in columns:
//   layer L head H  QUERY -> WORD 0.93 BAR  WORD 0.03 BAR  others 0.04
//        untrained                0.09 BAR       0.10 BAR         0.81
std::string lines_text(const SentenceAttention& sentence, const std::vector<Line>& lines, const View& view) {
  const auto bar_of = [&](const Item& item) {
    return bar(item.weight, bar_columns) + (item.token == sentence.antecedent ? antecedent_sign : "");
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
  const int layer_digits = digits(lines.back().layer + 1), head_digits = digits(lines.back().head + 1);
  std::string query = token_label(sentence.tokens, sentence.query);
  if (display_width(query) > widest_query) query = fit_width(query, widest_query);
  const int before_items = 14 + layer_digits + head_digits + display_width(query) + 4;
  const auto width = [&] {
    int columns = before_items + 11;
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
    std::string now = fmt::format("layer {:<{}} head {:<{}}  {} -> ", line.layer + 1, layer_digits, line.head + 1,
                                  head_digits, query);
    std::string before = fmt::format("{:>{}}", view.before_name, 12 + layer_digits + head_digits);
    before.resize(static_cast<std::size_t>(before_items), ' ');
    for (std::size_t i = 0; i < items; ++i) {
      const Item& item = line.strongest[i];
      const std::string cell =
          fmt::format("{} {:.2f} {}", fit_width(token_label(sentence.tokens, item.token), words[i]), item.weight,
                      fit_width(bar_of(item), bars[i]));
      now += (item.token == sentence.antecedent ? highlighted(cell, view.terminal) : cell) + "  ";
      before += fmt::format("{:{}} {:.2f} {}  ", "", words[i], item.before,
                            fit_width(bar(item.before, bar_columns), bars[i]));
    }
    text += fmt::format("{}others {:.2f}\n", now, line.others);
    if (view.before) text += fmt::format("{}       {:.2f}\n", before, line.others_before);
  }
  return text;
}

}  // namespace

Range chosen_range(const char* what, std::optional<int> chosen, int count) {
  if (!chosen) return {0, count};
  if (*chosen < 1 || *chosen > count)
    fail("there is no {} {}: {}s are numbered from 1 to {}", what, *chosen, what, count);
  return {*chosen - 1, *chosen};
}

std::string query_view(const Dump& dump, const View& view) {
  const int width = view.terminal.width;
  const int items = width < 72 ? 1 : 2 + std::max(0, width - 80) / 24;
  const Dump& untrained = view.before ? *view.before : dump;
  std::string text = fmt::format("step {}\n", dump.step);
  bool marked = false;
  for (std::size_t i = 0; i < dump.sentences.size(); ++i) {
    const SentenceAttention& sentence = dump.sentences[i];
    if (untrained.sentences.size() != dump.sentences.size() || untrained.sentences[i].tokens != sentence.tokens) {
      fail("the dumps of steps {} and {} hold different sentences", untrained.step, dump.step);
    }
    const SentenceAttention& before = untrained.sentences[i];
    text += fmt::format("\n{}\npredicts {} with probability {:.3f}",
                        sentence_text(sentence.tokens, sentence.query, sentence.antecedent, view.terminal),
                        highlighted(sentence.predicted, view.terminal), sentence.probability);
    if (view.before) text += fmt::format("  ({}: {}, {:.3f})", view.before_name, before.predicted, before.probability);
    text += '\n';
    std::vector<Line> lines;
    const Range layers = chosen_range("layer", view.layer, static_cast<int>(sentence.layers.size()));
    for (int layer = layers.begin; layer < layers.end; ++layer) {
      const auto count = sentence.layers[static_cast<std::size_t>(layer)].size(0);
      const Range heads = chosen_range("head", view.head, static_cast<int>(count));
      for (int head = heads.begin; head < heads.end; ++head) {
        lines.push_back(line_of(sentence, before, layer, head, items));
      }
    }
    text += lines_text(sentence, lines, view);
    marked = marked || sentence.antecedent >= 0;
  }
  return marked ? text + "\n" + antecedent_legend(true, view.terminal) : text;
}

}  // namespace heed
