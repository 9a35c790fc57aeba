#include "views/written_tokens.h"

#include <heed/models/reading.h>
#include <heed/tokenizers/graphemes.h>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

namespace heed {
namespace {

// Returns UTF-8: the name <0xC3> in place of each byte that is a part of a character.
std::string whole_characters(const std::string& bytes) {
  std::string text;
  for (const Grapheme& one : graphemes(bytes)) {
    if (one.first >= 0) text += one.text;
    for (const char byte : one.first < 0 ? one.text : "")
      text += fmt::format("<0x{:02X}>", static_cast<unsigned char>(byte));
  }
  return text;
}

// Returns the tokens as show(token) writes them. Where several hold the bytes of one character, the first has it, others are "".
template <class Show>
std::vector<std::string> in_characters(const Tokenizer& tokenizer, const std::vector<std::string>& tokens, Show show) {
  const auto is_whole = [](const std::string& bytes) { return whole_characters(bytes) == bytes; };
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    shown.push_back(show(tokens[i]));
    std::string bytes = tokenizer.written(tokens[i]);
    if (is_whole(bytes)) continue;
    std::size_t end = i + 1;  // of the tokens that complete the character
    for (; end < tokens.size() && end < i + 4 && !is_whole(bytes); ++end) bytes += tokenizer.written(tokens[end]);
    if (!is_whole(bytes)) continue;
    const bool keeps_space = shown.back().starts_with(' ');
    shown.back() = bytes.starts_with(' ') && !keeps_space ? bytes.substr(1) : bytes;
    shown.resize(end);
    i = end - 1;
  }
  return shown;
}

// Returns the text of a token, with its space if the name holds it. The names of WordPiece ("animal", "##ing") stay.
std::string spaced_token(const Tokenizer& tokenizer, const std::string& token) {
  if (!tokenizer.pretrained() || token.starts_with("##")) return token;
  const std::string text = whole_characters(tokenizer.written(token));
  return text.empty() || text == " " + token ? token : text;  // empty for "<unused 17>"
}

std::string without_space(const std::string& text) { return text.size() > 1 && text[0] == ' ' ? text.substr(1) : text; }

// Returns the text of the candidate that an answer names; nothing for other answers.
std::optional<std::string> candidate_text(const Example& example, const std::string& answer,
                                          const std::vector<std::string>& shown) {
  const auto is_named = [&](Span span) { return text_of(example, span) == answer; };
  const auto span = std::ranges::find_if(example.candidates, is_named);
  if (span == example.candidates.end()) return std::nullopt;
  return text_of(Example{.tokens = shown}, *span);
}

}  // namespace

std::string shown_token(const Tokenizer& tokenizer, const std::string& token) {
  return tokenizer.pretrained() ? without_space(spaced_token(tokenizer, token)) : token;
}

std::vector<std::string> shown_tokens(const Tokenizer& tokenizer, const std::vector<std::string>& tokens) {
  return in_characters(tokenizer, tokens, [&](const std::string& token) { return spaced_token(tokenizer, token); });
}

std::string shown_answer(const Tokenizer& tokenizer, const Example& example, const std::string& answer) {
  if (!tokenizer.pretrained()) return answer;
  const auto candidate = candidate_text(example, answer, shown_tokens(tokenizer, example.tokens));
  return candidate ? *candidate : shown_token(tokenizer, answer);
}

void write_out_candidates(Dump& dump, const Tokenizer& tokenizer) {
  for (SentenceAttention& sentence : dump.sentences) {
    if (sentence.candidates.empty()) continue;
    const Example example = question(sentence);
    for (std::string* answer : {&sentence.predicted, &sentence.answer})
      *answer = shown_answer(tokenizer, example, *answer);
  }
}

void write_out(Dump& dump, const Tokenizer& tokenizer) {
  write_out_candidates(dump, tokenizer);
  for (SentenceAttention& sentence : dump.sentences) {
    sentence.tokens = shown_tokens(tokenizer, sentence.tokens);
    for (Prediction& one : sentence.likeliest) one.answer = shown_token(tokenizer, one.answer);
    if (!sentence.candidates.empty()) continue;
    const std::string predicted = shown_token(tokenizer, sentence.predicted);
    const std::string answer = shown_token(tokenizer, sentence.answer);
    if (predicted == answer && sentence.predicted != sentence.answer) continue;  // they differ in a space
    sentence.predicted = predicted;
    sentence.answer = answer;
  }
}

void join_words(Dump& dump, const Dump& named, const std::optional<Model>& model) {
  if (!model) fail("--words: expected a run whose model can be read");
  if (reads_pieces(*model)) return;  // their words are joined when they are read
  const bool is_pretrained = model->tokenizer.pretrained().has_value();
  if (!is_pretrained && !holds_spaces(*model)) fail("--words: the tokens of this model are words already");
  for (std::size_t i = 0; i < dump.sentences.size(); ++i) {
    std::vector<std::string> pieces;
    for (const std::string& name : named.sentences[i].tokens) {
      const std::string text = is_pretrained ? model->tokenizer.written(name) : name;
      pieces.push_back(text.empty() ? " " + name : text);  // empty for special tokens
    }
    dump.sentences[i].tokens = pieces;
    dump.sentences[i] = of_whole_words(dump.sentences[i]);
  }
  dump.is_text = false;
}

std::string page_token(const Model& model, const std::string& token) {
  const bool is_written = model.tokenizer.pretrained() && model.head().generates();
  const std::string text = is_written ? whole_characters(model.tokenizer.written(token)) : "";
  return text.empty() ? whole_characters(spaced_token(model.tokenizer, token)) : text;
}

std::vector<std::string> page_tokens(const Model& model, const std::vector<std::string>& tokens) {
  const auto shown = [&](const std::string& token) { return page_token(model, token); };
  if (model.tokenizer.pretrained()) return in_characters(model.tokenizer, tokens, shown);
  std::vector<std::string> names;  // the page itself knows the names of bytes
  std::ranges::transform(tokens, std::back_inserter(names), shown);
  return names;
}

std::string page_answer(const Model& model, const Example& example, const std::string& answer) {
  return candidate_text(example, answer, page_tokens(model, example.tokens)).value_or(page_token(model, answer));
}

}  // namespace heed
