#include "explain/internal/added_token.h"

#include <algorithm>
#include <vector>

namespace heed {

bool is_known_token(const Model& model, const std::string& token) {
  if (!model.vocabulary.contains(token)) return false;
  const int index = model.vocabulary[token];
  const auto& pretrained = model.tokenizer.pretrained();
  return index != model.vocabulary.unknown() && !(pretrained && index == pretrained->special().unk);
}

std::optional<int> added_token(const Model& model, const std::string& text, const std::string& more) {
  const std::vector<std::string> before = model.tokenizer(text), after = model.tokenizer(text + more);
  if (after.size() != before.size() + 1) return {};
  const auto [token, other] = std::mismatch(after.begin(), after.end(), before.begin(), before.end());
  if (token == after.end() || !std::equal(token + 1, after.end(), other, before.end())) return {};
  return is_known_token(model, *token) ? std::optional(model.vocabulary[*token]) : std::nullopt;
}

}  // namespace heed
