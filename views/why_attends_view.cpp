#include "views/sentence_text.h"
#include "views/view.h"

#include <heed/explain/score_parts.h>
#include <heed/files/utf8.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

constexpr std::int64_t shown_parts = 6;

// "layer 1 head 2 from tired"
std::string part_name(const ScoreParts& of, const ScoreParts::Part& part) {
  const std::string name = part_name(ResidualPart{part.what, part.layer, part.head});
  return part.what == "head" ? name + " from " + token_label(of.tokens, part.token) : name;
}

std::string figure_of(double value) { return std::abs(value) < 0.005 ? " 0.00" : fmt::format("{:+.2f}", value); }

// Returns the line by which a list adds up.
std::string others_text(std::int64_t count, double sum) {
  return count > 0 ? fmt::format("  {:>7}  {} others\n", figure_of(sum), count) : "";
}

// Returns the parts with the largest absolute lead, and the sum of the rest.
std::string parts_text(const ScoreParts& of, const std::vector<ScoreParts::Part>& parts) {
  std::vector<const ScoreParts::Part*> order;
  for (const ScoreParts::Part& part : parts) {
    if (part.ahead != 0) order.push_back(&part);  // without biases their part is 0
  }
  std::ranges::stable_sort(order, std::greater(), [](const auto* part) { return std::abs(part->ahead); });
  std::string text;
  double rest = 0;
  for (std::int64_t i = 0; i < std::ssize(order); ++i) {
    const ScoreParts::Part& part = *order[static_cast<std::size_t>(i)];
    if (i < shown_parts) {
      text += fmt::format("  {:>7}  {}\n", figure_of(part.ahead), part_name(of, part));
    } else {
      rest += part.ahead;
    }
  }
  return text + others_text(std::ssize(order) - shown_parts, rest);
}

// Returns the products with the largest absolute lead, and the sum of the rest.
std::string products_text(const ScoreParts& of, const Terminal& terminal) {
  const auto name = [&](const std::vector<ScoreParts::Part>& side, int part) {
    return part_name(of, side[static_cast<std::size_t>(part)]);
  };
  const auto present = [](const std::vector<ScoreParts::Part>& side) {  // without biases their part is 0
    return std::ranges::count_if(side, [](const auto& one) { return one.score != 0 || one.ahead != 0; });
  };
  std::string text;
  double rest = of.score - of.reference;
  std::int64_t shown = 0;
  for (const auto& [query, key, score, ahead] : of.products) {
    if (shown == shown_parts || ahead == 0) break;  // in order of their size
    text += paragraph(fmt::format("  {:>7}  {} x {}", figure_of(ahead), name(of.query, query), name(of.key, key)),
                      terminal, 11);
    rest -= ahead;
    ++shown;
  }
  return text + others_text(present(of.query) * present(of.key) - shown, rest);
}

std::string one_text(const ScoreParts& of, int antecedent, bool is_text, const View& view) {
  const std::string from = token_label(of.tokens, of.from), to = token_label(of.tokens, of.to);
  std::string text = sentence_text(of.tokens, of.from, antecedent_span(antecedent), view.terminal, is_text) + "\n";
  text += paragraph(
      fmt::format("layer {} head {}: {} -> {} has weight {:.2f}. Its score {:.2f} is {:.2f} ahead of {}, {:.2f}. "
                  "Each list adds up to this difference.",
                  of.layer + 1, of.head + 1, from, to, of.weight, of.score, of.score - of.reference,
                  of.rather >= 0 ? "that of " + token_label(of.tokens, of.rather) : "the mean over all tokens",
                  of.reference),
      view.terminal);
  text += fmt::format("query contributions: {}\n", from) + parts_text(of, of.query);
  text += fmt::format("key contributions: {}\n", to) + parts_text(of, of.key);
  text += "query x key terms\n" + products_text(of, view.terminal);
  text += paragraph(fmt::format("removed from the input of layer {}:", of.layer + 1), view.terminal);
  for (const auto& [of_query, part, weight, probability] : of.cuts) {
    const ScoreParts::Part& taken = (of_query ? of.query : of.key)[static_cast<std::size_t>(part)];
    const std::string answer = of.answer.empty() ? ""
                                                 : fmt::format(", {} {:.3f} instead of {:.3f}", token_text(of.answer),
                                                               probability, of.probability);
    text += paragraph(fmt::format("  at {}, {}: weight {:.2f} instead of {:.2f}{}", of_query ? from : to,
                                  part_name(of, taken), weight, of.weight, answer),
                      view.terminal, 4);
  }
  return text + "\n";
}

// Returns the antecedent of a minimal pair: a watched sentence that differs in one token. Returns -1 if it is not found.
int antecedent_of_counterpart(const std::vector<SentenceAttention>& watched, const SentenceAttention& sentence) {
  for (const SentenceAttention& other : watched) {
    if (other.tokens.size() != sentence.tokens.size() || other.query != sentence.query) continue;
    int differ = 0;
    for (std::size_t i = 0; i < other.tokens.size(); ++i) differ += other.tokens[i] != sentence.tokens[i];
    if (differ == 1 && other.antecedent != sentence.antecedent) return other.antecedent;
  }
  return -1;
}

}  // namespace

std::vector<ScoreParts> why_attends(const Model& model, const Dump& dump, const std::vector<SentenceAttention>& watched,
                                    const View& view) {
  std::vector<ScoreParts> all;
  for (const SentenceAttention& sentence : dump.sentences) {
    const auto [best_layer, best_head] = pointing_head(sentence);
    const int layers = static_cast<int>(sentence.layers.size());
    const int layer = view.layer ? chosen_range("layer", view.layer, layers).begin : best_layer;
    const auto heads = static_cast<int>(sentence.layers[static_cast<std::size_t>(layer)].size(0));
    const int head = view.head ? chosen_range("head", view.head, heads).begin : best_head;
    Example example = question(sentence);
    example.distractor = sentence.antecedent >= 0 ? antecedent_of_counterpart(watched, sentence) : -1;
    all.push_back(score_parts(model, example, layer, head));
  }
  return all;
}

std::string why_attends_view(const std::vector<ScoreParts>& all, const Dump& dump, const View& view) {
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i) {
    text += one_text(all[i], dump.sentences[i].antecedent, dump.is_text, view);
  }
  return text +
         paragraph(
             "+ raises the weight, - lowers it. Norms are those of the sentence; after a removal all that follows is "
             "computed anew.",
             view.terminal);
}

}  // namespace heed
