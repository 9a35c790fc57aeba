#pragma once
#include "tests/catch.h"
#include "tests/inspect/sample.h"
#include "views/view.h"

#include <heed/tokenizers/graphemes.h>

#include <algorithm>

namespace heed {

inline const Dump english{400, {english_sentence()}};
inline const Dump chinese{400, {chinese_sentence()}};

inline View at_width(int width) { return {.terminal = {width, false}, .layer = {}, .head = {}, .before = nullptr}; }

inline View choosing(std::optional<int> layer, std::optional<int> head) {
  return {.terminal = {}, .layer = layer, .head = head, .before = nullptr};
}

inline void check_width(const std::string& text, int width) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    INFO(text.substr(begin, end - begin));
    CHECK(display_width(text.substr(begin, end - begin)) <= width);
    begin = end + 1;
  }
}

// A sentence of T words, each attending to itself.
inline Dump long_dump(int T, int query) {
  SentenceAttention sentence{
      .tokens = {}, .query = query, .antecedent = -1, .predicted = "w1", .probability = 1, .layers = {}};
  for (int i = 0; i < T; ++i) sentence.tokens.push_back("w" + std::to_string(i + 1));
  std::vector<double> row(static_cast<std::size_t>(T), 0.0);
  row[static_cast<std::size_t>(query)] = 1;
  sentence.layers = {weights_of(query, {row})};
  return {0, {sentence}};
}

// Two sentences and 6 layers of 8 heads: head h of layer l (from 0) has the weight (8 l + h) / 100 on the antecedent,
// the rest on the query itself.
inline Dump large_dump() {
  SentenceAttention sentence = english_sentence();
  sentence.layers.clear();
  for (int layer = 0; layer < 6; ++layer) {
    std::vector<std::vector<double>> rows;
    for (int head = 0; head < 8; ++head) {
      rows.emplace_back(11, 0.0);
      rows.back()[1] = (8 * layer + head) / 100.0;
      rows.back()[7] = 1 - rows.back()[1];
    }
    sentence.layers.push_back(weights_of(7, rows));
  }
  return {60, {sentence, sentence}};
}

inline int count_of(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

inline SentenceAttention hostile_sentence() {
  SentenceAttention sentence = chinese_sentence();
  sentence.tokens = {"</script><script>alert(1)</script>", "<!--", "a\"b,\n\xe2\x80\xae"};
  sentence.predicted = sentence.tokens[0];
  return sentence;
}

}  // namespace heed
