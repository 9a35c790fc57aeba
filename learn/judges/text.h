#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace learn {

/// Columns of a terminal that the judge's lines fit in.
inline constexpr std::size_t line_width = 80;

/// Returns the number of columns that UTF-8 text takes in a terminal: two for each Chinese character.
std::size_t text_width(std::string_view text);

/// Returns `lead` and the text in lines of at most 80 columns, each with its end. The second and later lines begin with `indent` spaces.
/// Lines break at spaces and between Chinese characters, but not before a closing mark such as "，"; a longer word stays whole.
///
///     wrapped("  ✗ ", "a sentence of many words ...", 4)
std::string wrapped(const std::string& lead, const std::string& text, std::size_t indent);

}  // namespace learn
