#include "text.h"

#include <algorithm>

namespace learn {
namespace {

// Returns the bytes of the UTF-8 character at `text[i]`.
std::size_t bytes_at(std::string_view text, std::size_t i) {
  const auto first = static_cast<unsigned char>(text[i]);
  const std::size_t bytes = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  return std::min(bytes, text.size() - i);
}

bool is_wide(std::string_view character) { return static_cast<unsigned char>(character[0]) >= 0xE3; }

bool is_one_of(std::string_view character, std::string_view marks) {
  return character.size() > 1 && marks.find(character) != std::string_view::npos;
}

}  // namespace

std::size_t text_width(std::string_view text) {
  std::size_t result = 0;
  for (std::size_t i = 0; i < text.size(); i += bytes_at(text, i)) result += is_wide(text.substr(i)) ? 2 : 1;
  return result;
}

std::string wrapped(const std::string& lead, const std::string& text, std::size_t indent) {
  std::string result, line = lead, word;
  std::string_view before = " ";
  const auto add_word = [&] {
    if (text_width(line) + text_width(word.substr(0, word.find_last_not_of(' ') + 1)) > line_width &&
        line.size() > indent) {
      line.erase(line.find_last_not_of(' ') + 1);
      result += line + "\n";
      line.assign(indent, ' ');
    }
    line += word;
    word.clear();
  };
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view character = std::string_view(text).substr(i, bytes_at(text, i));
    const bool is_break = (before == " " && character != " ") ||
                          ((is_wide(before) || is_wide(character)) && !is_one_of(character, "，。：；、）”！？") &&
                           !is_one_of(before, "（“"));
    if (is_break && character != " ") add_word();
    word += character;
    before = character;
    i += character.size();
  }
  add_word();
  line.erase(line.find_last_not_of(' ') + 1);
  return result + line + "\n";
}

}  // namespace learn
