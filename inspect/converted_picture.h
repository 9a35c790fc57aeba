#pragma once
#include <string>

namespace heed {

/// Returns an SVG picture as a PDF or PNG file ("pdf", "png"; a PNG has two dots per unit), made by the program rsvg-convert.
/// Throws Error when it is missing or fails.
std::string converted_picture(const std::string& svg, const char* format);

}  // namespace heed
