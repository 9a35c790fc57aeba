#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

/// Returns `text` without a leading byte-order mark. Throws Error with `source`, the byte offset and the line where `text`
/// stops being UTF-8 (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF); for UTF-16 and UTF-32 it says
/// how to convert them.
std::string_view checked_utf8(std::string_view text, const std::string& source);

/// Returns checked_utf8(text, source). Throws Error for a NUL byte, too, which no text file holds: UTF-16 without a
/// byte-order mark is valid UTF-8 with a NUL byte for each Latin letter.
std::string_view checked_text(std::string_view text, const std::string& source);

// A grapheme cluster: what a reader takes for one character.
struct Grapheme {
  std::string_view text;
  std::int32_t first;  // its first code point; -1 for a byte that is not UTF-8
  int width;           // columns
};
std::vector<Grapheme> graphemes(std::string_view text);

// Columns that `text` (UTF-8) takes in a terminal: 2 for wide characters, 0 for combining ones, 1 for
// controls, for which fit_width() puts U+FFFD.
int display_width(std::string_view text);

// `text` cut or padded with spaces on the right to exactly `width` columns; a cut ends in "…".
std::string fit_width(std::string_view text, int width);

// `text` (UTF-8) with a sign for what would not be seen or would move other text: control characters become
// pictures of them (U+2400, ...), marks of direction and the like ⟨U+202E⟩.
std::string visible(std::string_view text);

// visible(), for a message: cut to at most `columns` at a character, with "…".
std::string excerpt(std::string_view text, int columns = 60);

}  // namespace heed
