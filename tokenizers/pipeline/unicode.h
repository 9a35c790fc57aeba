#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace heed::tokenizers {

/// Returns the code point at byte `at` of valid UTF-8 and sets `at` to the byte behind it.
inline std::int32_t next_code_point(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const auto tail = [&](std::size_t i) { return static_cast<std::int32_t>(byte(i) & 0x3fU); };
  const unsigned first = byte(0);
  std::int32_t point = static_cast<std::int32_t>(first);
  std::size_t bytes = 1;
  if (first >= 0xf0) {
    point = (static_cast<std::int32_t>(first & 7U) << 18) | (tail(1) << 12) | (tail(2) << 6) | tail(3);
    bytes = 4;
  } else if (first >= 0xe0) {
    point = (static_cast<std::int32_t>(first & 15U) << 12) | (tail(1) << 6) | tail(2);
    bytes = 3;
  } else if (first >= 0xc0) {
    point = (static_cast<std::int32_t>(first & 31U) << 6) | tail(1);
    bytes = 2;
  }
  at += bytes;
  return point;
}

/// Calls f(code point, begin, end) for each code point of valid UTF-8.
template <class F>
void each_code_point(std::string_view text, F f) {
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    const std::int32_t point = next_code_point(text, end);
    f(point, begin, end);
  }
}

std::string utf8(std::int32_t point);
std::size_t count_code_points(std::string_view text);

bool is_white_space(std::int32_t point);      // Unicode's White_Space
bool is_numeric(std::int32_t point);          // Nd, Nl, No
bool is_punctuation(std::int32_t point);      // P*, and ASCII's symbols
bool is_control(std::int32_t point);          // Cc, Cf, Co, but tab and line ends
bool is_mark(std::int32_t point);             // Mn, Mc, Me
bool is_nonspacing_mark(std::int32_t point);  // Mn
bool is_word(std::int32_t point);             // Alphabetic, M*, Nd, Pc, and the joiners
bool has_decomposition(std::int32_t point);   // that the package knows
int combining_class(std::int32_t point);
std::string lower(std::int32_t point);  // one code point, or two for U+0130

/// Returns the code point that byte-level BPE writes for a byte: itself for printable Latin-1, one from U+0100 on for others.
std::int32_t code_point_of_byte(unsigned char byte);
/// Returns the byte of such a code point; -1 for others.
int byte_of_code_point(std::int32_t point);

}  // namespace heed::tokenizers
