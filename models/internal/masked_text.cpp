#include "models/internal/masked_text.h"

#include <heed/data/corpus.h>

namespace heed {
namespace {

// Returns the tokens of a text in which mask_token stands for hidden ones. Tokens include the space before them, and so
// does a mask.
std::vector<std::string> tokens_with_masks(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<std::string> tokens;
  while (true) {
    const std::size_t at = text.find(mask_token);
    std::string_view part = text.substr(0, at);
    const bool has_spaces = tokenizer.split() == Split::words || tokenizer.split() == Split::subwords;
    if (at != text.npos && has_spaces && part.ends_with(' ')) part.remove_suffix(1);
    for (std::string& token : tokenizer(part)) tokens.push_back(std::move(token));
    if (at == text.npos) return tokens;
    tokens.emplace_back(mask_token);
    text.remove_prefix(at + std::string_view(mask_token).size());
  }
}

// Returns the name of the mask among the model's tokens: <mask>, or the name that its own tokenizer has for it.
std::string mask_of(const Model& model) {
  const auto& pretrained = model.tokenizer.pretrained();
  if (!pretrained) return mask_token;
  if (!pretrained->special().mask) {
    fail(
        "the model's tokenizer.json has no mask token, so the text has no token to predict; choose a word with "
        "--query");
  }
  return pretrained->token(*pretrained->special().mask);
}

}  // namespace

std::string with_own_masks(const Model& model, std::string_view read, std::string& query) {
  std::string text(read);
  if (!model.head().fills_masks()) return text;
  const auto& pretrained = model.tokenizer.pretrained();
  for (const std::string_view other : {std::string_view(mask_token), std::string_view("[MASK]")}) {
    const bool is_token =
        pretrained ? pretrained->id(other).has_value() : model.vocabulary.contains(std::string(other));
    if (is_token || text.find(other) == text.npos) continue;
    const std::string mask = mask_of(model);
    for (std::size_t at = 0; (at = text.find(other, at)) != text.npos; at += mask.size()) {
      text.replace(at, other.size(), mask);
    }
    if (query == other) query = mask;
  }
  return text;
}

std::vector<std::string> tokens_of(const Model& model, std::string_view text) {
  const bool is_masked = model.head().fills_masks();
  return is_masked && !model.tokenizer.pretrained() ? tokens_with_masks(model.tokenizer, text) : model.tokenizer(text);
}

}  // namespace heed
