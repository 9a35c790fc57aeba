#pragma once
#include <heed/data/vocabulary.h>
#include <heed/tokenizers/tokenize.h>

#include <cstddef>
#include <string>
#include <vector>

namespace heed {

/// Returns the hint for token `i` of a text that `vocabulary` does not have: the most similar word, or the Unicode normal form in which the
/// text would be known, such as a composed "é" for "e" with an accent, or the word with or without the space before it. "" without one.
std::string unknown_hint(const std::vector<std::string>& tokens, std::size_t i, const Vocabulary& vocabulary);

/// Returns what messages call the entries of a vocabulary of texts split so: "words", or "characters" when each is one.
const char* name_of_entries(const Vocabulary& vocabulary, Split split);

}  // namespace heed
