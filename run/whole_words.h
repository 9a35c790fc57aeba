#pragma once
#include "run/dump.h"

namespace heed {

// What a model of pieces of words did, told of whole words: a piece that begins with a space or is no letter or digit begins a
// word. A word's weight is the sum over its pieces; as a query it is its last piece. Rows still sum to 1.
SentenceAttention of_whole_words(const SentenceAttention& pieces);

}  // namespace heed
