#include "explain/internal/text_reader.h"

#include "explain/internal/added_token.h"

#include <algorithm>

namespace heed {

TextReader::TextReader(const Model& model, PairLanguage language)
    : model_(model), space_(language == PairLanguage::english ? " " : "") {
  if (!model.head().fills_masks()) return;
  mask_ = model.vocabulary.contains("<mask>") && !model.vocabulary.contains("[MASK]") ? "<mask>" : "[MASK]";
}

std::string TextReader::asked(const std::string& text, const std::string& space, const std::string& tail) const {
  return has_mask() ? text + space + mask_ + tail : text;
}

std::optional<int> TextReader::added_token(const std::string& text, const std::string& more) const {
  return heed::added_token(model_, text, more);
}

std::vector<std::string> TextReader::tokens_of(const std::string& text) const {
  try {
    const Example example = question(model_, text);
    (void)batch_of(model_, example);
    return std::ranges::all_of(example.tokens, [&](const std::string& token) { return is_known_token(model_, token); })
               ? example.tokens
               : std::vector<std::string>();
  } catch (const Error&) {
    return {};
  }
}

bool TextReader::is_answer(const std::string& text, const std::string& space, const std::string& tail,
                           const std::string& answer) const {
  const std::optional<int> token = added_token(text, space + answer);
  if (!token) return false;
  try {
    const std::string whole = asked(text, space, tail);
    return answer_index(model_, whole, question(model_, whole), answer) == *token;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace heed
