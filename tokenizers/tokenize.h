#pragma once
#include <heed/autograd/enum_names.h>
#include <heed/tokenizers/pretrained_tokenizer.h>
#include <heed/tokenizers/subwords.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

/// How a text is split into tokens.
///
///     words       at white space (Unicode's, including U+3000); punctuation (ASCII and full-width) becomes separate tokens,
///                 except apostrophes and hyphens inside a word ("didn't")
///     characters  each grapheme cluster, except that runs of ASCII letters and digits stay together
///     bytes       each byte; for texts only
///     subwords    learned from a text; for texts only
enum class Split { words, characters, bytes, subwords };
template <>
inline constexpr EnumName<Split> enum_names<Split>[] = {
    {Split::words, "words"}, {Split::characters, "characters"}, {Split::bytes, "bytes"}, {Split::subwords, "subwords"}};
/// Returns whether the split is for texts only.
constexpr bool is_of_texts_alone(Split split) { return split == Split::bytes || split == Split::subwords; }

/// Returns the words or characters of a sentence, without white space. Throws Error when `text` is not UTF-8.
std::vector<std::string> tokenize(std::string_view text, Split split);

/// Splits texts into tokens and joins tokens to text.
///
///     const Tokenizer tokenizer;
///     tokenizer("It didn't.");   // "It", "didn't", "."
class Tokenizer {
 public:
  /// For sentences: tokens as from tokenize().
  explicit Tokenizer(Split split = Split::words);
  /// For texts to be generated: join() of the tokens gives the text, byte for byte.
  ///
  ///     words       as above, with the space before each word; all other characters are tokens: "a cat, \n" -> "a", " cat",
  ///                 ",", " ", "\n"
  ///     characters  each code point
  ///     bytes       each byte; those from 128 on are the tokens <0x80> to <0xFF>
  static Tokenizer of_text(Split split);
  static Tokenizer of_text(Subwords subwords);  ///< learned subwords
  /// Returns the tokenizer of a pretrained model. Its tokens are the names that PretrainedTokenizer::token() gives, those of
  /// the template included, and join() is decode(). A Vocabulary of PretrainedTokenizer::tokens() gives them the ids that
  /// encode() gives.
  static Tokenizer of_text(PretrainedTokenizer pretrained);

  /// Calls `visit` for each token in order, or returns all. Throws Error when `text` is not UTF-8; bytes and learned subwords
  /// take any text.
  void each(std::string_view text, const std::function<void(std::string_view token)>& visit) const;
  std::vector<std::string> operator()(std::string_view text) const;  ///< all tokens

  /// Returns the text of a token, or of several. The text of a name that a pretrained tokenizer does not have is "".
  std::string written(std::string_view token) const;
  std::string join(const std::vector<std::string>& tokens) const;  ///< the text of several tokens

  /// Returns the tokens by id of a tokenizer that knows them in advance, of subwords or of a pretrained model; else none.
  std::vector<std::string> known_tokens() const;

  /// Parts of the tokenizer. A pretrained one has Split::subwords.
  Split split() const { return split_; }
  bool is_of_text() const { return is_of_text_; }                        ///< whether it was made by of_text()
  const std::optional<Subwords>& subwords() const { return subwords_; }  ///< the learned subwords, if it has them
  /// The pretrained tokenizer, if it is one.
  const std::optional<PretrainedTokenizer>& pretrained() const { return pretrained_; }

 private:
  Split split_;
  bool is_of_text_ = false;
  std::optional<Subwords> subwords_;
  std::optional<PretrainedTokenizer> pretrained_;
};

}  // namespace heed
