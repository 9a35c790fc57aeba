#pragma once
#include <heed/data/task.h>
#include <heed/data/tokenize.h>

#include <cstddef>
#include <string>
#include <vector>

namespace heed {

// A text before it is cut into tokens, with places in it that are counted in bytes: what published sets give.
struct MarkedText {
  // Bytes from `begin` to before `end`.
  struct Place {
    std::size_t begin = 0, end = 0;
    bool operator==(const Place&) const = default;
  };
  std::string text{};
  Place query{};
  std::vector<Place> candidates{};
  int chosen = -1;         // of the candidates; -1: none of them
  std::string relation{};  // as in Example
  int twin = -1;           // of the same set
  // Of a sentence that came as tokens, as in Example; these are kept where it is not cut into subwords.
  std::vector<std::string> tokens{};
  std::vector<int> sentences{};
  std::string decider{};
  SourceLine source{};
};

// Cut into tokens, each place a span of all tokens that it touches; the query is the last of its tokens. Error where a
// place is without a token, or the query a whole candidate.
Example cut(const MarkedText& marked, const Tokenizer& tokenizer);

// Twins are neighbours that ask about the same candidates and have different answers.
void pair_neighbours(std::vector<MarkedText>& texts);

// An annotated sentence as a text: its tokens with spaces between.
MarkedText marked_text(const Example& example);

// The place of `word` in `text` at or after `from`, neither letters nor digits beside it; its end is 0 where there is none.
// A, a, ... Z, z are one.
MarkedText::Place find_word(std::string_view text, std::string_view word, std::size_t from = 0);

// A text in which square brackets mark the candidates: "The [trophy] doesn't fit in [the suitcase] because it is too big";
// without them. The query is not set. Error for brackets that do not close, or mark nothing.
MarkedText without_brackets(std::string_view text);

}  // namespace heed
