#include "tokenizers/pipeline/unicode.h"

#include "tokenizers/pipeline/regex.h"

#include <utf8proc.h>

#include <array>

namespace heed::tokenizers {

std::string utf8(std::int32_t point) {
  utf8proc_uint8_t bytes[4];
  const utf8proc_ssize_t size = utf8proc_encode_char(point, bytes);
  return {reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size)};
}

std::size_t count_code_points(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;
  return count;
}

bool is_white_space(std::int32_t c) {
  return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) ||
         c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

bool is_numeric(std::int32_t point) {
  const auto category = utf8proc_category(point);
  return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}

bool is_word(std::int32_t point) {
  static const Regex word("[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200c}\\x{200d}]", Regex::Syntax::pcre2);
  const std::string text = utf8(point);
  return !word.matches(text).empty();
}

std::string lower(std::int32_t point) { return point == 0x130 ? "i\u0307" : utf8(utf8proc_tolower(point)); }

namespace {

bool is_printable_latin(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

// The code points of bytes 0 to 255.
const std::array<std::int32_t, 256>& byte_alphabet() {
  static const std::array<std::int32_t, 256> alphabet = [] {
    std::array<std::int32_t, 256> points{};
    std::int32_t next = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
      points[static_cast<std::size_t>(byte)] = is_printable_latin(byte) ? byte : next++;
    }
    return points;
  }();
  return alphabet;
}

}  // namespace

std::int32_t code_point_of_byte(unsigned char byte) { return byte_alphabet()[byte]; }

int byte_of_code_point(std::int32_t point) {
  static const std::array<int, 0x180> bytes = [] {
    std::array<int, 0x180> result;
    result.fill(-1);
    for (int byte = 0; byte < 256; ++byte) {
      result[static_cast<std::size_t>(code_point_of_byte(static_cast<unsigned char>(byte)))] = byte;
    }
    return result;
  }();
  return point >= 0 && point < 0x180 ? bytes[static_cast<std::size_t>(point)] : -1;
}

}  // namespace heed::tokenizers
