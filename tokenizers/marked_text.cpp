#include "files/internal/ascii.h"

#include <heed/tokenizers/marked_text.h>

#include <set>

namespace heed {
namespace {

using Place = MarkedText::Place;

// Returns the byte spans of tokens that follow each other in `text`, separated only by white space.
std::vector<Place> places_of(const std::vector<std::string>& tokens, const Tokenizer& tokenizer,
                             const std::string& text) {
  std::vector<Place> places;
  if (tokenizer.pretrained()) {  // it may change the text
    for (const EncodedToken& token : tokenizer.pretrained()->encode(text)) places.push_back({token.begin, token.end});
    return places;
  }
  std::size_t at = 0;
  for (const std::string& token : tokens) {
    const std::string written = tokenizer.written(token);
    const std::size_t begin = text.find(written, at);
    if (begin == text.npos) fail("'{}' is not where it was cut from", token);  // cannot happen with heed's tokenizers
    at = begin + written.size();
    places.push_back({begin, at});
  }
  return places;
}

// A subword may start with a space, which is outside the marked word.
Span span_of(const Place& place, const std::vector<Place>& tokens) {
  Span span{-1, -1};
  for (int i = 0; i < std::ssize(tokens); ++i) {
    const Place& token = tokens[static_cast<std::size_t>(i)];
    if (token.end <= place.begin || token.begin >= place.end) continue;
    if (span.begin < 0) span.begin = i;
    span.end = i + 1;
  }
  return span;
}

// Returns the place of the cue word of a sentence that came as tokens.
Place place_of_cue(const MarkedText& marked) {
  std::size_t begin = 0;
  for (const std::string& token : marked.tokens) {
    if (token == marked.cue) return {begin, begin + token.size()};
    begin += token.size() + 1;
  }
  return {};
}

// Returns the last token of the cue word, or the first one if the last occurs before it, too; "" if both do.
std::string cue_of(const MarkedText& marked, const std::vector<std::string>& tokens, const std::vector<Place>& places) {
  const Span span = marked.cue.empty() ? Span{} : span_of(place_of_cue(marked), places);
  for (const int i : {span.end - 1, span.begin}) {
    if (span.begin < span.end && index_of(tokens[static_cast<std::size_t>(i)], tokens) == i)
      return tokens[static_cast<std::size_t>(i)];
  }
  return "";
}

// For text in lower case.
bool is_letter_or_digit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'); }

// Returns whether a word that ends in `edge` continues with `next`. Words of scripts without spaces may end anywhere.
bool continues(char edge, char next) { return is_letter_or_digit(edge) && (next < 0 || is_letter_or_digit(next)); }

}  // namespace

Example cut(const MarkedText& marked, const Tokenizer& tokenizer) {
  Example example;
  const bool is_tokenized = !marked.tokens.empty() && tokenizer.split() != Split::subwords;
  example.tokens = is_tokenized ? marked.tokens : tokenizer(marked.text);
  if (is_tokenized) example.sentences = marked.sentences;
  const std::vector<Place> tokens = places_of(example.tokens, tokenizer, marked.text);
  const Span query = span_of(marked.query, tokens);
  if (query.begin < 0) fail("the query '{}' contains no token", marked.words(marked.query));
  example.query = query.end - 1;
  example.cue = is_tokenized ? marked.cue : cue_of(marked, example.tokens, tokens);
  for (const Place& place : marked.candidates) {
    const Span span = span_of(place, tokens);
    if (span.begin < 0) fail("the candidate '{}' contains no token", marked.words(place));
    if (span.begin == example.query && span.end == example.query + 1) {
      fail("the query '{}' is a candidate, too", marked.words(marked.query));
    }
    example.candidates.push_back(span);
  }
  example.source = marked.source;
  if (query.end - query.begin > 1) example.source.query = marked.words(marked.query);
  choose(example, marked.chosen);
  example.relation = marked.relation;
  example.counterpart = marked.counterpart;
  return example;
}

void pair_adjacent(std::vector<MarkedText>& texts) {
  const auto candidates = [&](const MarkedText& t) {
    std::set<std::string> words;
    for (const Place& place : t.candidates) words.insert(t.words(place));
    return words;
  };
  const auto answer = [](const MarkedText& t) { return t.words(t.candidates[static_cast<std::size_t>(t.chosen)]); };
  for (std::size_t i = 0; i + 1 < texts.size(); ++i) {
    MarkedText &a = texts[i], &b = texts[i + 1];
    if (a.counterpart >= 0 || a.chosen < 0 || b.chosen < 0) continue;
    if (candidates(a) != candidates(b) || answer(a) == answer(b)) continue;
    a.counterpart = static_cast<int>(i + 1);
    b.counterpart = static_cast<int>(i);
  }
}

MarkedText marked_text(const Example& example) {
  MarkedText result;
  std::vector<Place> places;
  for (const std::string& token : example.tokens) {
    if (!result.text.empty()) result.text += ' ';
    places.push_back({result.text.size(), result.text.size() + token.size()});
    result.text += token;
  }
  const auto at = [&](int token) { return places[static_cast<std::size_t>(token)]; };
  result.query = at(example.query);
  for (const Span& span : example.candidates) {
    result.candidates.push_back({at(span.begin).begin, at(span.end - 1).end});
  }
  result.chosen = example.chosen;
  result.relation = example.relation;
  result.counterpart = example.counterpart;
  result.tokens = example.tokens;
  result.sentences = example.sentences;
  result.cue = example.cue;
  result.source = example.source;
  return result;
}

Place find_word(std::string_view given, std::string_view sought, std::size_t from) {
  const std::string text = lower_case(given), word = lower_case(sought);
  while (!word.empty()) {
    const std::size_t begin = text.find(word, from);
    if (begin == text.npos) break;
    const std::size_t end = begin + word.size();
    const bool grows_left = begin > 0 && continues(text[begin], text[begin - 1]);
    const bool grows_right = end < text.size() && continues(text[end - 1], text[end]);
    if (!grows_left && !grows_right) return {begin, end};
    from = begin + 1;
  }
  return {};
}

MarkedText without_brackets(std::string_view text) {
  MarkedText result;
  bool open = false;
  for (const char c : text) {
    if (c == '[' || c == ']') {
      if (open == (c == '[')) fail("'{}' without '{}' before it", c, c == '[' ? ']' : '[');
      if (open && result.candidates.back().begin == result.text.size()) fail("'[]' is empty");
      if (open) result.candidates.back().end = result.text.size();
      if (!open) result.candidates.push_back({result.text.size(), 0});
      open = !open;
    } else {
      result.text += c;
    }
  }
  if (open) fail("'[' without ']' after it");
  return result;
}

}  // namespace heed
