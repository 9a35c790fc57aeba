#include "views/sentence_text.h"

#include <heed/files/utf8.h>
#include <heed/tokenizers/graphemes.h>

#include <fmt/format.h>

#include <algorithm>

namespace heed {

std::string token_text(const std::string& token) {
  if (token == "<0x0A>") return "↵";  // a byte of learned subwords
  if (token.find_first_not_of(" \n\r\t") != token.npos) return visible(token[0] == ' ' ? token.substr(1) : token);
  std::string text;
  for (const char c : token) text += c == ' ' ? "␣" : c == '\n' ? "↵" : c == '\r' ? "␍" : "⇥";
  return text;
}

std::string token_label(const std::vector<std::string>& tokens, int token) {
  const std::string& raw = tokens[static_cast<std::size_t>(token)];
  const std::string word = raw.empty() ? "…" : token_text(raw);  // "": a later part of a character
  if (std::count(tokens.begin(), tokens.end(), raw) == 1) return word;
  std::string position;
  for (const char digit : std::to_string(token + 1)) {
    position += "\xe2\x82";  // UTF-8 of U+2080, subscript zero, is e2 82 80
    position += static_cast<char>(digit - '0' + '\x80');
  }
  return word + position;
}

std::string part_name(const ResidualPart& part) {
  if (part.what == "head") return fmt::format("layer {} head {}", part.layer + 1, part.head + 1);
  return part.layer < 0 ? part.what : fmt::format("layer {} {}", part.layer + 1, part.what);
}

std::string sentence_text(const std::vector<std::string>& tokens, int query, Span antecedent, const Terminal& terminal,
                          bool is_text) {
  const auto begins_word = [&](std::size_t i) {
    return i >= tokens.size() || tokens[i][0] == ' ' || tokens[i][0] == '\n';
  };
  for (std::size_t i = 0; i < tokens.size(); ++i) is_text = is_text || begins_word(i);
  const auto shown = [&](std::size_t i, bool begins_line) {
    const bool has_space = tokens[i].starts_with(' '), is_space = tokens[i] == " ";
    std::string token = is_space || tokens[i].empty() ? "" : token_text(tokens[i]);
    const int at = static_cast<int>(i);
    if (antecedent.begin == at && at < antecedent.end) token = "[" + token;
    if (has_space && !begins_line) token = " " + token;
    return at == antecedent.end - 1 ? token + "]" : token;
  };
  std::string text;
  int column = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (column > 0 && !is_text) text += ' ', ++column;
    // In a text a word may have several tokens, and keeps them on one line.
    int width = display_width(shown(i, false));
    for (std::size_t next = i + 1; is_text && begins_word(i) && !begins_word(next) && width <= terminal.width; ++next) {
      width += display_width(shown(next, false));
    }
    const bool is_whole = width <= terminal.width;
    if (!is_whole) width = display_width(shown(i, false));
    if (column > 0 && column + width > terminal.width) {
      text.resize(trimmed(text).size());
      text += '\n';
      column = 0;
    }
    std::string word = shown(i, column == 0 && !text.empty());
    if (display_width(word) > terminal.width) word = fit_width(word, terminal.width);
    const int at = static_cast<int>(i);
    const bool is_marked = at == query || (antecedent.begin <= at && at < antecedent.end);
    text += is_marked ? highlighted(word, terminal) : word;
    column += display_width(word);
  }
  return text;
}

std::string antecedent_legend(bool bars, const Terminal& terminal) {
  const std::string marks = bars ? fmt::format("[brackets] and {} mark", antecedent_sign) : "[brackets] mark";
  return wrapped(marks + " the antecedent: what the query refers to.", terminal.width) + "\n";
}

}  // namespace heed
