#pragma once
#include <heed/data/task.h>
#include <heed/tokenizers/tokenize.h>

#include <cstddef>
#include <string>
#include <vector>

namespace heed {

/// A text before tokenization, with marked spans in bytes, as published data sets have them.
struct MarkedText {
  /// The bytes [begin, end).
  struct Place {
    std::size_t begin = 0, end = 0;
    bool operator==(const Place&) const = default;  ///< compares both ends
  };
  std::string text{};
  Place query{};
  std::vector<Place> candidates{};
  int chosen = -1;         ///< index of the correct candidate; -1: none of them
  std::string relation{};  ///< as in Example
  int counterpart = -1;    ///< index of the counterpart in the same set
  /// For a sentence that came as tokens, as in Example; tokens and sentences are kept unless it is split into subwords.
  std::vector<std::string> tokens{};
  std::vector<int> sentences{};
  std::string cue{};
  SourceLine source{};

  /// Returns the text of a span.
  std::string words(const Place& place) const { return text.substr(place.begin, place.end - place.begin); }
};

/// Tokenizes the text. Each span becomes all tokens that it overlaps; the query and the cue word become the last of their
/// tokens. Where that token also occurs before the cue word, its first token stands for it, or none does. Throws
/// Error when a span contains no token, or the query is a whole candidate.
Example cut(const MarkedText& marked, const Tokenizer& tokenizer);

/// Pairs adjacent texts that ask about the same candidates and have different answers as counterparts.
void pair_adjacent(std::vector<MarkedText>& texts);

/// Returns an annotated sentence as a text, its tokens joined by spaces.
MarkedText marked_text(const Example& example);

/// Returns the first occurrence of `word` in `text` at or after `from` without adjacent letters or digits; its end is 0
/// if it is missing. Ignores the case of A to Z.
MarkedText::Place find_word(std::string_view text, std::string_view word, std::size_t from = 0);

/// Parses a text with candidates in square brackets: "The [trophy] doesn't fit in [the suitcase] because it is too big".
/// The query stays unset. Throws Error for unbalanced or empty brackets.
MarkedText without_brackets(std::string_view text);

}  // namespace heed
