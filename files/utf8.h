#pragma once
#include <string>
#include <string_view>

namespace heed {

/// Returns `text` without a leading byte-order mark. Throws Error with `source`, byte offset and line of the first
/// invalid UTF-8 (RFC 3629: no overlong forms, no surrogates, at most U+10FFFF). For UTF-16 and UTF-32 the message
/// tells how to convert the file.
std::string_view checked_utf8(std::string_view text, const std::string& source);

/// Returns checked_utf8(text, source). Also throws Error for a NUL byte: UTF-16 without a byte-order mark is valid
/// UTF-8 with a NUL for each Latin letter.
std::string_view checked_text(std::string_view text, const std::string& source);

/// Returns `text` (UTF-8) with visible signs for invisible or disruptive characters: control characters become control
/// pictures (U+2400, ...), direction marks and similar become ⟨U+202E⟩.
std::string visible(std::string_view text);

/// Returns visible(text) for a message, cut with "…" to at most `columns` of a terminal, never inside a character with its marks.
std::string excerpt(std::string_view text, int columns = 60);

}  // namespace heed
