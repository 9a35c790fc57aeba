#include "explain/internal/token_repeater.h"

#include <heed/models/reading.h>

#include <algorithm>
#include <utility>

namespace heed {
namespace {

constexpr std::size_t induction_tokens = 12;  // that are repeated
constexpr std::size_t min_repeated = 3;       // tokens of the second copy

using Words = std::vector<std::string>;

bool is_lower_case(const std::string& word) {
  return word.size() > 2 && std::ranges::all_of(word, [](char c) { return c >= 'a' && c <= 'z'; });
}
// Whether it is one character from U+4E00 to U+9FFF.
bool is_ideograph(const std::string& word) { return word.size() == 3 && word >= "\u4e00" && word <= "\u9fff"; }

}  // namespace

TokenRepeater::TokenRepeater(const Model& model, const TextReader& reader, PairLanguage language)
    : reader_(reader), space_(reader.space()), before_(language == PairLanguage::english ? "the" : "的") {
  const bool is_english = language == PairLanguage::english;
  // Models of a generated task or of sentences know no other words than those of their vocabulary.
  const bool has_own_words = !model.tokenizer.is_of_text() && model.tokenizer.split() == Split::words;
  if (has_own_words && model.vocabulary.size() > 0) before_ = model.vocabulary.words().back();
  for (const std::string& token : model.vocabulary.words()) {
    std::string word = model.tokenizer.written(token);
    if (word.empty()) word = token;
    if (word.starts_with(" ")) word.erase(0, 1);
    const bool is_word = has_own_words ? !word.starts_with("<") : is_english ? is_lower_case(word) : is_ideograph(word);
    if (is_word && reader.added_token(before_, space_ + word)) words_.push_back(word);
  }
  std::ranges::sort(words_);
  words_.erase(std::unique(words_.begin(), words_.end()), words_.end());
  if (words_.size() <= induction_tokens) {
    fail("induction: expected more than {} {} that are single tokens of the model, got {} (--language {})",
         induction_tokens,
         has_own_words ? "words"
         : is_english  ? "words in lower-case letters"
                       : "Chinese characters",
         words_.size(), name_of(language));
  }
  try {  // the shortest text
    const Words first(words_.begin(), words_.begin() + induction_tokens);
    const Words second(first.begin(), first.begin() + min_repeated);
    (void)batch_of(model, question(model, reader.asked(repeated(first, second), space_, "")));
  } catch (const Error& error) {
    fail("induction: {}", error.what());
  }
}

PairDraft TokenRepeater::draw(Random& random) const {
  Words words = words_;
  for (std::size_t i = 0; i <= induction_tokens; ++i) {
    std::swap(words[i],
              words[i + static_cast<std::size_t>(random.below(std::ssize(words) - static_cast<std::int64_t>(i)))]);
  }
  // The second copy ends before word `next`, whose place word `other` takes in the first copy of the corrupted text.
  const auto next = min_repeated + static_cast<std::size_t>(random.below(induction_tokens - 4));
  const std::string other = words[induction_tokens];
  words.resize(induction_tokens);
  PairDraft draft{.clean = {},
                  .corrupted = {},
                  .tail = {},
                  .space = space_,
                  .group = "",
                  .answer = {words[next]},
                  .wrong = {other}};
  const Words second(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(next));
  draft.clean = repeated(words, second);
  words[next] = other;
  draft.corrupted = repeated(words, second);
  return draft;
}

std::string TokenRepeater::counts() const { return fmt::format("{} words", words_.size()); }

std::string TokenRepeater::repeated(Words words, const Words& second) const {
  // A space makes the first word the token that it is later, if the tokenizer keeps it.
  const std::string first = space_ + words[0];
  const bool keeps_space = reader_.added_token("", first) == reader_.added_token(before_, first);
  words.insert(words.end(), second.begin(), second.end());
  return fmt::format("{}{}", keeps_space ? space_ : "", fmt::join(words, space_));
}

}  // namespace heed
