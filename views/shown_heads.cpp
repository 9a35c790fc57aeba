#include "views/shown_heads.h"

#include <heed/explain/score_parts.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace heed {

std::vector<HeadIndex> chosen_heads(const std::vector<int>& heads_of, const View& view) {
  std::vector<HeadIndex> chosen;
  const Range layers = chosen_range("layer", view.layer, static_cast<int>(heads_of.size()));
  for (int layer = layers.begin; layer < layers.end; ++layer) {
    const Range heads = chosen_range("head", view.head, heads_of[static_cast<std::size_t>(layer)]);
    for (int head = heads.begin; head < heads.end; ++head) chosen.push_back({layer, head});
  }
  return chosen;
}

ShownHeads shown_heads(const std::vector<int>& heads_of, const View& view, int most,
                       const std::function<double(HeadIndex)>& importance) {
  ShownHeads shown{chosen_heads(heads_of, view)};
  shown.of = static_cast<int>(shown.heads.size());
  if (shown.of <= most || view.layer || view.head) return shown;
  std::ranges::stable_sort(shown.heads, std::greater(), importance);
  shown.heads.resize(static_cast<std::size_t>(most));
  return shown;
}

ShownHeads shown_heads(const SentenceAttention& sentence, const View& view, int most) {
  std::vector<int> heads_of;
  for (const Tensor& weights : sentence.layers) heads_of.push_back(static_cast<int>(weights.size(0)));
  return shown_heads(heads_of, view, most, [&](HeadIndex at) {
    return sentence.antecedent < 0 ? telling_weight(sentence, at) : weight_on_antecedent(sentence, at.layer, at.head);
  });
}

bool is_sink(const std::vector<std::string>& tokens, int at) {
  return at == 0 || std::ranges::find(separators, tokens[static_cast<std::size_t>(at)]) != std::end(separators);
}

double telling_weight(const SentenceAttention& sentence, HeadIndex at) {
  const Tensor& weights = sentence.layers[static_cast<std::size_t>(at.layer)];  // (H, T, T)
  const int T = static_cast<int>(weights.size(2));
  const auto usual = [&](int by) {  // the mean weight of the other tokens on the one `by` places further
    double sum = 0;
    int count = 0;
    for (int i = std::max(0, -by); i < std::min(T, T - by); ++i) {
      if (i == sentence.query || is_sink(sentence.tokens, i + by)) continue;
      sum += weights.at({at.head, i, i + by});
      ++count;
    }
    return count > 0 ? sum / count : 0.0;
  };
  double most = 0;
  for (int key = 0; key < T; ++key) {
    const int by = key - sentence.query;
    if (by == 0 || is_sink(sentence.tokens, key)) continue;
    most = std::max(most, weights.at({at.head, sentence.query, key}) - (std::abs(by) == 1 ? usual(by) : 0.0));
  }
  return most;
}

int lines_for_heads(const Terminal& terminal, std::size_t sentences) {
  // Lines around all sentences: the step, a blank line, the legend, two lines about omitted heads, the prompt. Lines above
  // each sentence's heads: a blank line, the sentence, the answer.
  constexpr int around_all = 6, above_each = 3;
  return std::max(always_shown, (terminal.height - around_all) / std::max(1, static_cast<int>(sentences)) - above_each);
}

int heads_that_fit(const Terminal& terminal, std::size_t sentences, int lines_each) {
  return std::max(always_shown, lines_for_heads(terminal, sentences) / lines_each);
}

std::string left_out_text(const ShownHeads& shown, const std::string& which, const Terminal& terminal) {
  const auto count = std::ssize(shown.heads);
  if (count == shown.of) return "";
  const int layer = shown.heads[0].layer + 1;
  return paragraph(
      fmt::format("Shown: {} of {} heads, {}. --layer {} shows all of layer {}.", count, shown.of, which, layer, layer),
      terminal);
}

std::string importance_text(const std::vector<SentenceAttention>& sentences) {
  const bool known = std::ranges::all_of(sentences, [](const SentenceAttention& s) { return s.antecedent >= 0; });
  return known ? "those with the most weight on the antecedent"
               : "those with the largest weight on a token that is not the first, special or a neighbour they always "
                 "attend to";
}

}  // namespace heed
