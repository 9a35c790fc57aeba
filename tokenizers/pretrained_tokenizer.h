#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

/// A token of an encoded text.
struct EncodedToken {
  int id = 0;
  std::size_t begin = 0, end = 0;  ///< bytes of the text that it stands for; empty for a token that a template adds
  /// Index of the word that the token belongs to. Tokens of one word have the same index, which never decreases. Special
  /// tokens and white space are words of their own. Words are those of tokenize(text, Split::words).
  int word = 0;
};

/// The tokenizer of a pretrained model, read from the text of a tokenizer.json as the Hugging Face `tokenizers` package
/// writes it: byte-level BPE, BPE with a metaspace, WordPiece, WordLevel and Unigram, with their normalizers,
/// pre-tokenizers, added tokens, templates and decoders. Its ids are those of that package. Truncation and padding that the
/// file asks for are not applied.
///
///     const PretrainedTokenizer tokenizer(read_file(directory / "tokenizer.json"));
///     for (const EncodedToken& token : tokenizer.encode("a cat")) fmt::print("{} ", tokenizer.token(token.id));
///
/// A handle: copies share one tokenizer. Threads may use one at the same time.
class PretrainedTokenizer {
 public:
  /// Throws Error that names what is wrong, or which part of `json` is unknown.
  explicit PretrainedTokenizer(std::string json);

  /// Returns the tokens of `text`; with `add_special`, those of the template, too ([CLS] ... [SEP]). Special tokens that the
  /// text itself holds are always found. Throws Error when `text` is not UTF-8.
  std::vector<EncodedToken> encode(std::string_view text, bool add_special = true) const;

  /// Returns the text of tokens, without special ones unless `keep_special`. Ids without a token are left out, and each
  /// byte of a run of byte tokens that is not UTF-8 is U+FFFD, as in that package. Throws Error for ids outside size().
  std::string decode(const std::vector<int>& ids, bool keep_special = false) const;

  /// Returns the text that one token adds behind other text, special tokens included: " cat" for "Ġcat" and for "▁cat",
  /// "ing" for "##ing". Parts of a character are its bytes. The text of an id without a token is "".
  std::string written(int id) const;

  /// Returns the token as the vocabulary names it: "Ġcat". An id below size() without a token in the file is named
  /// "<unused ID>". Throws Error for other ids.
  const std::string& token(int id) const;
  std::optional<int> id(std::string_view token) const;  ///< the id of this name, if there is one
  int size() const;                                     ///< largest id, plus 1
  /// Returns the same without the added tokens, which a model may have no embeddings for.
  int size_without_added() const;

  /// Returns whether the file marks this token as special.
  bool is_special(int id) const;
  /// Returns the names of all tokens by id.
  std::vector<std::string> tokens() const;
  /// Returns the names of the ids from 0 to `rows` - 1, of a model with so many embeddings. Ids from size() on are named
  /// "<unused ID>".
  std::vector<std::string> tokens(int rows) const;

  /// Ids of tokens with a meaning, as far as the file tells. A generated text ends with Model::end_tokens, which can
  /// differ from `eos`.
  struct Special {
    std::optional<int> cls, sep, mask, pad, unk, bos, eos;
  };
  const Special& special() const;  ///< those of this tokenizer

  /// Return the ids that the template adds before a text ([CLS], `<s>`) and behind it ([SEP]); often none.
  const std::vector<int>& before() const;
  const std::vector<int>& behind() const;  ///< those behind it

  const std::string& json() const;  ///< the file

 private:
  struct Parts;
  std::shared_ptr<const Parts> parts_;
};

}  // namespace heed
