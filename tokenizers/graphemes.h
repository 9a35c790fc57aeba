#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

/// A grapheme cluster: one character as a reader sees it.
struct Grapheme {
  std::string_view text;
  std::int32_t first;  ///< its first code point; -1 for a byte that is not UTF-8
  int width;           ///< columns
};
std::vector<Grapheme> graphemes(std::string_view text);  ///< all grapheme clusters of a text

/// Returns the number of terminal columns of `text` (UTF-8): 2 for wide characters, 0 for combining ones, 1 for
/// controls, which fit_width() shows as U+FFFD.
int display_width(std::string_view text);

/// Returns `text`, cut or padded with spaces on the right to exactly `width` columns; a cut ends in "…".
std::string fit_width(std::string_view text, int width);

}  // namespace heed
