#pragma once
#include <heed/autograd/enum_names.h>
#include <heed/data/subwords.h>
#include <heed/data/tokenizers/pretrained_tokenizer.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

// How a text is cut into tokens.
//   words       at white space (Unicode's, U+3000 among it), with punctuation (ASCII and full-width) as tokens of its own,
//               except apostrophes and hyphens inside a word ("didn't")
//   characters  each grapheme cluster, except that runs of ASCII letters and digits stay together
//   bytes       each byte, of texts alone
//   subwords    as they were learned from a text, of texts alone
enum class Split { words, characters, bytes, subwords };
template <>
inline constexpr EnumName<Split> enum_names<Split>[] = {
    {Split::words, "words"}, {Split::characters, "characters"}, {Split::bytes, "bytes"}, {Split::subwords, "subwords"}};
constexpr bool is_of_texts_alone(Split split) { return split == Split::bytes || split == Split::subwords; }

// A sentence by words or characters, without its white space. Error where `text` is not UTF-8.
std::vector<std::string> tokenize(std::string_view text, Split split);

// Cuts texts into tokens, and puts them together again.
class Tokenizer {
 public:
  // For sentences: tokenize().
  explicit Tokenizer(Split split = Split::words);
  // For texts that are to be written again: join() of its tokens is the text, byte for byte.
  //   words       as above, each with the space before it, and all other characters alone: "a cat, \n" -> "a", " cat",
  //               ",", " ", "\n"
  //   characters  each code point
  //   bytes       each byte; those from 128 on are the tokens <0x80> to <0xFF>
  static Tokenizer of_text(Split split);
  static Tokenizer of_text(Subwords subwords);
  /// Returns the tokenizer of a pretrained model. Its tokens are the names that PretrainedTokenizer::token() gives, those of
  /// the template included, and join() is decode(). A Vocabulary of PretrainedTokenizer::tokens() gives them the ids that
  /// encode() gives.
  static Tokenizer of_text(PretrainedTokenizer pretrained);

  /// Calls `visit` for each token in order, or returns all. Throws Error when `text` is not UTF-8; bytes and learned subwords
  /// take any text.
  void each(std::string_view text, const std::function<void(std::string_view token)>& visit) const;
  std::vector<std::string> operator()(std::string_view text) const;

  /// Returns the text of a token, or of several.
  std::string written(std::string_view token) const;
  std::string join(const std::vector<std::string>& tokens) const;

  /// Parts of the tokenizer. A pretrained one has Split::subwords.
  Split split() const { return split_; }
  bool is_of_text() const { return is_of_text_; }
  const std::optional<Subwords>& subwords() const { return subwords_; }
  const std::optional<PretrainedTokenizer>& pretrained() const { return pretrained_; }

 private:
  Split split_;
  bool is_of_text_ = false;
  std::optional<Subwords> subwords_;
  std::optional<PretrainedTokenizer> pretrained_;
};

}  // namespace heed
