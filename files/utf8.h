#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

/// Returns `text` without a leading byte-order mark. Throws Error with `source`, byte offset and line of the first
/// invalid UTF-8 (RFC 3629: no overlong forms, no surrogates, at most U+10FFFF). For UTF-16 and UTF-32 the message
/// tells how to convert the file.
std::string_view checked_utf8(std::string_view text, const std::string& source);

/// Returns checked_utf8(text, source). Also throws Error for a NUL byte: UTF-16 without a byte-order mark is valid
/// UTF-8 with a NUL for each Latin letter.
std::string_view checked_text(std::string_view text, const std::string& source);

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

/// Returns `text` (UTF-8) with visible signs for invisible or disruptive characters: control characters become control
/// pictures (U+2400, ...), direction marks and similar become ⟨U+202E⟩.
std::string visible(std::string_view text);

/// Returns visible(text) for a message, cut to at most `columns` at a character, with "…".
std::string excerpt(std::string_view text, int columns = 60);

}  // namespace heed
