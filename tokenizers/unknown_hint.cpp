#include "tokenizers/internal/normal_form.h"

#include <heed/autograd/error.h>
#include <heed/tokenizers/unknown_hint.h>

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace heed {
namespace {

std::vector<std::string> code_points(std::string_view text) {
  std::vector<std::string> points;
  for (const char c : text) {
    if (points.empty() || (static_cast<unsigned char>(c) & 0xc0) != 0x80) points.emplace_back();
    points.back() += c;
  }
  return points;
}

}  // namespace

std::string unknown_hint(const std::vector<std::string>& tokens, std::size_t i, const Vocabulary& vocabulary) {
  const std::string& token = tokens[i];
  const auto other_form = [](const char* form) {
    return fmt::format(" (known in another Unicode normal form: write the text in {})", form);
  };
  const std::string both = (i > 0 ? tokens[i - 1] : "") + token, joined = composed(both), apart = decomposed(token);
  if (const std::string one = composed(token); one != token && vocabulary.contains(one)) return other_form("NFC");
  if (joined != both && vocabulary.contains(joined)) return other_form("NFC");
  const auto is_known = [&](const std::string& point) { return vocabulary.contains(point); };
  if (apart != token && (vocabulary.contains(apart) || std::ranges::all_of(code_points(apart), is_known)))
    return other_form("NFD");
  if (i > 0 && vocabulary.contains(both)) return fmt::format(" (known as '{}', which is read as two tokens)", both);
  if (token.starts_with(' ') && vocabulary.contains(token.substr(1))) {
    return fmt::format(" (known as '{}'; tokens behind the first carry the space before them)", token.substr(1));
  }
  if (vocabulary.contains(" " + token)) return fmt::format(" (known as ' {}', with the space before it)", token);
  return did_you_mean(token, vocabulary.words());
}

const char* name_of_entries(const Vocabulary& vocabulary, Split split) {
  const auto is_one = [&](const std::string& word) {
    return code_points(word).size() == 1 || (word.starts_with('<') && word.ends_with('>'));
  };
  return split != Split::words && std::ranges::all_of(vocabulary.words(), is_one) ? "characters" : "words";
}

}  // namespace heed
