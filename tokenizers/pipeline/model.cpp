#include "tokenizers/pipeline/model.h"

namespace heed::tokenizers {
namespace {

// The object {"TOKEN": ID, ...} of BPE, WordPiece and WordLevel.
std::unique_ptr<TokenTable> tokens_by_name(const Part& part) {
  const LargeJson& vocabulary = part.object("vocab");
  auto tokens = std::make_unique<TokenTable>(vocabulary.size());
  for (const auto& [name, id] : vocabulary.items()) {
    if (!id.is_number_integer())
      part.wrong("token '{}': expected a whole number as id, got {}", excerpt(name), shown(id));
    try {
      tokens->add(name, id.get<std::int64_t>());
    } catch (const Error& error) {
      part.wrong("{}", error.what());
    }
  }
  return tokens;
}

// The list [["TOKEN", SCORE], ...] of Unigram.
std::unique_ptr<TokenTable> tokens_in_order(const Part& part) {
  const LargeJson& vocabulary = part.array("vocab");
  auto tokens = std::make_unique<TokenTable>(vocabulary.size());
  for (const LargeJson& entry : vocabulary) {
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number()) {
      part.wrong("vocab[{}]: expected a token and its score", tokens->size());
    }
    tokens->append(entry[0].get_ref<const std::string&>());
  }
  return tokens;
}

// Files before version 0.9 of the package have no type.
std::string type_of(const Part& part) {
  if (const std::string type = part.type(); !type.empty()) return type;
  if (part.find("merges")) return "BPE";
  if (part.find("vocab") && part.find("vocab")->is_array()) return "Unigram";
  return part.find("continuing_subword_prefix") ? "WordPiece" : "WordLevel";
}

}  // namespace

ModelAndTokens make_model(const Part& part) {
  const std::string type = type_of(part);
  ModelAndTokens result;
  if (type == "Unigram") {
    result.tokens = tokens_in_order(part);
    result.model = make_unigram(part, *result.tokens);
  } else if (type == "BPE" || type == "WordPiece" || type == "WordLevel") {
    result.tokens = tokens_by_name(part);
    const auto make = type == "BPE" ? make_bpe : type == "WordPiece" ? make_word_piece : make_word_level;
    result.model = make(part, *result.tokens);
  } else {
    part.wrong("unknown type '{}'; known: BPE, WordPiece, WordLevel, Unigram", excerpt(type));
  }
  return result;
}

}  // namespace heed::tokenizers
