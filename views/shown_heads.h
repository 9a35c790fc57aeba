#pragma once
#include "views/view.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

struct HeadIndex {
  int layer, head;  // from 0
};

/// The heads that a view prints, and the total number of heads.
struct ShownHeads {
  std::vector<HeadIndex> heads;
  int of = 0;
};

/// A model with at most this many heads is shown whole, even if each head takes many lines.
constexpr int always_shown = 4;

/// Returns the heads that `view` chooses, layer by layer: all heads of the chosen layer, or the chosen head of each layer.
/// `heads_of[layer]` is the number of heads of a layer.
std::vector<HeadIndex> chosen_heads(const std::vector<int>& heads_of, const View& view);

/// Returns chosen_heads(). For a whole model with more than `most` heads, returns the `most` heads with the largest
/// `importance(layer, head)`, in descending order.
ShownHeads shown_heads(const std::vector<int>& heads_of, const View& view, int most,
                       const std::function<double(HeadIndex)>& importance);

/// Returns the shown heads of a sentence. Importance is the weight from the query to the antecedent, or telling_weight() if
/// the antecedent is unknown.
ShownHeads shown_heads(const SentenceAttention& sentence, const View& view, int most);

/// Names of tokens that separate texts or begin them.
inline constexpr std::string_view separators[] = {"[SEP]", "[CLS]", "<s>", "</s>", "<|endoftext|>"};

/// Returns whether heads attend to a token when they find nothing to attend to: the first token and separators.
bool is_sink(const std::vector<std::string>& tokens, int at);

/// Returns how much a head's weights from the query tell: the largest weight to a token that is not a sink or the query. A weight
/// to a neighbour counts as far as it exceeds the mean weight of the head's other tokens on theirs at that side: a head that
/// always attends to the previous token tells nothing, one that does so here alone tells all.
double telling_weight(const SentenceAttention& sentence, HeadIndex at);

/// Returns the number of screen lines for the heads of each of `sentences`: at least `always_shown`.
int lines_for_heads(const Terminal& terminal, std::size_t sentences);
/// Returns the number of heads of `lines_each` lines that fit: at least `always_shown`.
int heads_that_fit(const Terminal& terminal, std::size_t sentences, int lines_each);

/// Returns "Shown: 8 of 48 heads, those with the most weight on the antecedent. --layer 4 shows all of layer 4.", wrapped.
/// Returns "" if all heads are shown.
std::string left_out_text(const ShownHeads& shown, const std::string& which, const Terminal& terminal);

/// Returns "those with the most weight on the antecedent", or the importance used for these sentences.
std::string importance_text(const std::vector<SentenceAttention>& sentences);

}  // namespace heed
