#pragma once
#include <string>
#include <string_view>

// Text in SVG pictures.
namespace heed {

/// Returns at least the width of a text in pixels. Viewers choose the font: DejaVu Sans, Debian's default, is wider than most.
double svg_text_width(std::string_view text, double size, bool is_bold = false);

/// Returns the text with the characters that XML reserves as entities, and control characters made visible.
std::string svg_escaped(const std::string& text);

}  // namespace heed
