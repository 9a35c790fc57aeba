#include "views/terminal_text.h"

#include <heed/files/utf8.h>

#include <algorithm>
#include <utility>

namespace heed {

// Returns the number of bytes at the end of `text` that form an incomplete UTF-8 character.
static std::size_t begun_character(std::string_view text) {
  for (std::size_t bytes = 1; bytes <= std::min<std::size_t>(3, text.size()); ++bytes) {
    const auto byte = static_cast<unsigned char>(text[text.size() - bytes]);
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return bytes < (byte >= 0xf0 ? 4U : byte >= 0xe0 ? 3U : 2U) ? bytes : 0;
  }
  return 0;
}

std::string TerminalText::add(std::string_view piece) {
  held_ += piece;
  const std::size_t whole = held_.size() - begun_character(held_);
  std::string shown;
  for (std::size_t begin = 0; begin < whole;) {
    const std::size_t end = std::min(held_.find_first_of("\n\t", begin), whole);
    shown += visible(std::string_view(held_).substr(begin, end - begin));
    if (end < whole) shown += held_[end];
    begin = end + 1;
  }
  held_.erase(0, whole);
  return shown;
}

std::string TerminalText::finish() { return visible(std::exchange(held_, {})); }

}  // namespace heed
