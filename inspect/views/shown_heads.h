#pragma once
#include "inspect/views/view.h"

#include <functional>
#include <string>
#include <vector>

namespace heed {

struct HeadIndex {
  int layer, head;  // from 0
};

// The heads that a view prints, and how many there are.
struct ShownHeads {
  std::vector<HeadIndex> heads;
  int of = 0;
};

// A model of no more heads is shown whole even where each takes many lines.
constexpr int always_shown = 4;

// All heads of the chosen layer or the chosen number; of a whole model with more than `most` heads those `most` of the
// largest importance(layer, head), the most important first. heads_of[layer]: how many it has.
ShownHeads shown_heads(const std::vector<int>& heads_of, const View& view, int most,
                       const std::function<double(HeadIndex)>& importance);

// The same of a sentence's heads: the weight from the query to the antecedent, or where that is unknown its largest one.
ShownHeads shown_heads(const SentenceAttention& sentence, const View& view, int most);

// How many lines of a screen each of `sentences` has for its heads: at least always_shown.
int lines_for_heads(const Terminal& terminal, std::size_t sentences);
// The same in heads of `lines_each` lines: at least always_shown of them.
int heads_that_fit(const Terminal& terminal, std::size_t sentences, int lines_each);

// "Shown: 8 of 48 heads, those with the most weight on the antecedent. --layer 4 shows all of layer 4.", wrapped; empty
// when all are shown.
std::string left_out_text(const ShownHeads& shown, const std::string& which, const Terminal& terminal);

// "those with the most weight on the antecedent", of the heads that are shown of these sentences.
std::string importance_text(const std::vector<SentenceAttention>& sentences);

}  // namespace heed
