#pragma once
#include "tokenizers/pipeline/part.h"
#include "tokenizers/pipeline/token_table.h"

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

namespace heed::tokenizers {

/// A token of a piece.
struct PieceToken {
  int id;
  std::size_t begin, end;  // bytes of the piece
};

/// Cuts pieces into the tokens of a vocabulary.
class Model {
 public:
  virtual ~Model() = default;
  /// Appends the tokens of a piece, which is not empty. Throws Error when a character has no token and the model an
  /// unknown token.
  virtual void encode(std::string_view piece, std::vector<PieceToken>& tokens) const = 0;
  /// Returns the id of the unknown token; -1 without one.
  virtual int unknown() const = 0;
};

/// A model with its vocabulary, to which it keeps a reference.
struct ModelAndTokens {
  std::unique_ptr<TokenTable> tokens;
  std::unique_ptr<Model> model;
};

/// Returns the model that `part` describes. Throws Error that says what is wrong with it.
ModelAndTokens make_model(const Part& part);

std::unique_ptr<Model> make_bpe(const Part& part, const TokenTable& tokens);
std::unique_ptr<Model> make_word_piece(const Part& part, const TokenTable& tokens);
std::unique_ptr<Model> make_word_level(const Part& part, const TokenTable& tokens);
std::unique_ptr<Model> make_unigram(const Part& part, const TokenTable& tokens);

}  // namespace heed::tokenizers
