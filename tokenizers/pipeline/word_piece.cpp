#include "tokenizers/pipeline/model.h"
#include "tokenizers/pipeline/trie.h"
#include "tokenizers/pipeline/unicode.h"

namespace heed::tokenizers {
namespace {

int checked_unknown(const std::string& token, const TokenTable& tokens, std::string_view text) {
  const int id = tokens.find(token);
  if (id < 0)
    fail("'{}' is not in the vocabulary, and the unknown token '{}' is missing there, too", excerpt(text),
         excerpt(token));
  return id;
}

// WordPiece (Schuster & Nakajima 2012): the longest token from the left, again and again. A word that does not end with one
// is unknown as a whole.
class WordPiece : public Model {
 public:
  WordPiece(const Part& part, const TokenTable& tokens) : tokens_(tokens) {
    part.expect_keys({"unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab"});
    unknown_ = part.text("unk_token", "[UNK]");
    const std::string prefix = part.text("continuing_subword_prefix", "##");
    longest_word_ = static_cast<std::size_t>(part.given_count("max_input_chars_per_word").value_or(100));
    std::vector<std::pair<std::string_view, int>> entries;
    for (int id = 0; id < tokens.size(); ++id) {
      const std::string* name = tokens.name(id);
      if (name && !name->empty()) entries.emplace_back(*name, id);
    }
    trie_ = Trie(std::move(entries));
    for (const char byte : prefix) {
      if (inside_ != Trie::none) inside_ = trie_.next(inside_, static_cast<unsigned char>(byte));
    }
  }

  int unknown() const override { return tokens_.find(unknown_); }

  void encode(std::string_view piece, std::vector<PieceToken>& tokens) const override {
    const std::size_t first = tokens.size();
    bool is_known = count_code_points(piece) <= longest_word_;
    for (std::size_t begin = 0; is_known && begin < piece.size();) {
      std::uint32_t node = begin == 0 ? Trie::root : inside_;
      std::size_t end = begin;
      int id = -1;
      for (std::size_t at = begin; node != Trie::none && at < piece.size();) {
        node = trie_.next(node, static_cast<unsigned char>(piece[at++]));
        if (node == Trie::none || trie_.value(node) < 0) continue;
        id = trie_.value(node);
        end = at;
      }
      is_known = id >= 0;
      if (is_known) tokens.push_back({id, begin, end});
      begin = end;
    }
    if (is_known) return;
    tokens.resize(first);
    tokens.push_back({checked_unknown(unknown_, tokens_, piece), 0, piece.size()});
  }

 private:
  const TokenTable& tokens_;
  std::string unknown_;
  std::size_t longest_word_ = 0;  // code points
  Trie trie_;
  std::uint32_t inside_ = Trie::root;  // node of the prefix of pieces within a word
};

// A token for each piece.
class WordLevel : public Model {
 public:
  WordLevel(const Part& part, const TokenTable& tokens) : tokens_(tokens), unknown_(part.text("unk_token", "<unk>")) {
    part.expect_keys({"unk_token", "vocab"});
  }
  int unknown() const override { return tokens_.find(unknown_); }
  void encode(std::string_view piece, std::vector<PieceToken>& tokens) const override {
    const int id = tokens_.find(piece);
    tokens.push_back({id >= 0 ? id : checked_unknown(unknown_, tokens_, piece), 0, piece.size()});
  }

 private:
  const TokenTable& tokens_;
  std::string unknown_;
};

}  // namespace

std::unique_ptr<Model> make_word_piece(const Part& part, const TokenTable& tokens) {
  return std::make_unique<WordPiece>(part, tokens);
}

std::unique_ptr<Model> make_word_level(const Part& part, const TokenTable& tokens) {
  return std::make_unique<WordLevel>(part, tokens);
}

}  // namespace heed::tokenizers
