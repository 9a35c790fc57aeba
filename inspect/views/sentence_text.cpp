#include "inspect/views/sentence_text.h"

#include <heed/files/utf8.h>

#include <fmt/format.h>

#include <algorithm>

namespace heed {

std::string token_text(const std::string& token) {
  if (token.find_first_not_of(' ') != token.npos) return visible(token);
  std::string text;
  for (std::size_t i = 0; i < token.size(); ++i) text += "␣";
  return text;
}

std::string token_label(const std::vector<std::string>& tokens, int token) {
  const std::string& raw = tokens[static_cast<std::size_t>(token)];
  const std::string word = token_text(raw);
  if (std::count(tokens.begin(), tokens.end(), raw) == 1) return word;
  std::string position;
  for (const char digit : std::to_string(token + 1)) {
    position += "\xe2\x82";  // UTF-8 of U+2080, subscript zero, is e2 82 80
    position += static_cast<char>(digit - '0' + '\x80');
  }
  return word + position;
}

std::string sentence_text(const std::vector<std::string>& tokens, int query, int antecedent, const Terminal& terminal) {
  const bool have_spaces =
      std::ranges::any_of(tokens, [](const std::string& t) { return t[0] == ' ' || t[0] == '\n'; });
  const int gap = have_spaces ? 0 : 1;
  std::string text;
  int column = 0;
  for (int i = 0; i < static_cast<int>(tokens.size()); ++i) {
    const std::string token = visible(tokens[static_cast<std::size_t>(i)]);
    const std::string word = i == antecedent ? "[" + token + "]" : token;
    const int width = display_width(word);
    if (column > 0) {
      const bool breaks = column + gap + width > terminal.width;
      text += breaks ? "\n" : have_spaces ? "" : " ";
      column = breaks ? 0 : column + gap;
    }
    text += i == antecedent || i == query ? highlighted(word, terminal) : word;
    column += width;
  }
  return text;
}

std::string antecedent_legend(bool bars, const Terminal& terminal) {
  const std::string marks = bars ? fmt::format("[brackets] and {} mark", antecedent_sign) : "[brackets] mark";
  return wrapped(marks + " the antecedent: the token that the query refers to.", terminal.width) + "\n";
}

}  // namespace heed
