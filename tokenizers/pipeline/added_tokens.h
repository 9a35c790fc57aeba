#pragma once
#include "tokenizers/pipeline/aligned_text.h"
#include "tokenizers/pipeline/steps.h"
#include "tokenizers/pipeline/token_table.h"
#include "tokenizers/pipeline/trie.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace heed::tokenizers {

/// A token that is found in the text before the model sees it.
struct AddedToken {
  int id;
  std::string content;
  std::string normalized;  // what it looks like behind the normalizer
  bool is_special, is_single_word, strips_left, strips_right, is_normalized;
};

class AddedTokens {
 public:
  AddedTokens() = default;
  /// Reads the list "added_tokens" of a file. Throws Error when an id is another token's.
  AddedTokens(const Part& file, const TokenTable& tokens, const Normalizer& normalizer);

  /// Returns the pieces of a text: added tokens, and normalised text between them.
  Pieces divide(std::string_view text, const Normalizer& normalizer) const;

  const AddedToken* find(int id) const;  // nullptr for other ids
  const AddedToken* find(std::string_view content) const;
  int size() const { return by_id_.empty() ? 0 : by_id_.rbegin()->first + 1; }  // largest id, plus 1

 private:
  std::vector<Piece> pieces(std::string_view text, const Trie& trie) const;

  std::map<int, AddedToken> by_id_;
  Trie raw_, normalized_;  // tokens to find before and behind the normalizer
};

}  // namespace heed::tokenizers
