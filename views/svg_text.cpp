#include "views/svg_text.h"

#include <heed/files/utf8.h>
#include <heed/tokenizers/graphemes.h>

#include <array>

namespace heed {

double svg_text_width(std::string_view text, double size, bool is_bold) {
  double width = 0;  // in font sizes
  std::string others;
  for (const char c : text) {
    const auto is_in = [&](std::string_view list) { return list.find(c) != list.npos; };
    const bool is_capital = (c >= 'A' && c <= 'Z') || is_in("&+<=>~#"), is_ascii = static_cast<unsigned char>(c) < 128;
    if (is_ascii) width += is_in("ijlftrI.,:;'!|()[] ") ? 0.42 : is_in("mwMW@%") ? 1 : is_capital ? 0.84 : 0.65;
    if (!is_ascii) others += c;
  }
  return (width + 0.65 * display_width(others)) * size * (is_bold ? 1.13 : 1);
}

std::string svg_escaped(const std::string& text) {
  constexpr std::string_view special = "&<>\"";
  constexpr std::array names{"&amp;", "&lt;", "&gt;", "&quot;"};
  std::string result;
  for (const char c : visible(text)) {
    const std::size_t at = special.find(c);
    result += at == special.npos ? std::string(1, c) : names[at];
  }
  return result;
}

}  // namespace heed
