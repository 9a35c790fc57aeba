#include "tokenizers/pipeline/charsmap.h"

#include <heed/autograd/error.h>
#include <heed/files/utf8.h>

#include <cstring>

namespace heed::tokenizers {

Charsmap::Charsmap(std::string blob) {
  std::uint32_t bytes = 0;
  if (blob.size() < sizeof bytes) fail("the table of characters has {} bytes, too few for its length", blob.size());
  std::memcpy(&bytes, blob.data(), sizeof bytes);
  if (bytes > blob.size() - sizeof bytes || bytes % sizeof(std::uint32_t) != 0 || bytes == 0) {
    fail("the table of characters says that its trie has {} bytes, but {} follow", bytes, blob.size() - sizeof bytes);
  }
  units_.resize(bytes / sizeof(std::uint32_t));
  std::memcpy(units_.data(), blob.data() + sizeof bytes, bytes);
  replacements_ = blob.substr(sizeof bytes + bytes);
  checked_utf8(replacements_, "replacements");
}

// A unit holds an offset to the children, a label and whether a value follows (darts-clone).
std::optional<std::string_view> Charsmap::find(std::string_view text) const {
  const auto offset = [](std::uint32_t unit) { return (unit >> 10U) << ((unit & (1U << 9U)) >> 6U); };
  const auto label = [](std::uint32_t unit) { return unit & ((1U << 31U) | 0xffU); };
  std::uint32_t at = offset(units_[0]);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == 0) break;
    at ^= byte;
    if (at >= units_.size()) break;
    const std::uint32_t unit = units_[at];
    if (label(unit) != byte) break;
    at ^= offset(unit);
    const bool has_value = (unit >> 8U) & 1U;
    if (!has_value) continue;
    if (at >= units_.size()) break;
    const std::uint32_t place = units_[at] & 0x7fffffffU;
    const bool is_inside = place < replacements_.size();
    if (!is_inside || (static_cast<unsigned char>(replacements_[place]) & 0xc0U) == 0x80U) break;
    const std::string_view rest = std::string_view(replacements_).substr(place);
    return rest.substr(0, rest.find('\0'));
  }
  return {};
}

std::string from_base64(std::string_view text) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string result;
  std::uint32_t bits = 0;
  int held = 0;
  while (text.ends_with('=')) text.remove_suffix(1);
  for (const char c : text) {
    const std::size_t value = digits.find(c);
    if (value == digits.npos) fail("not base64: byte 0x{:02x}", static_cast<unsigned char>(c));
    bits = (bits << 6U) | static_cast<std::uint32_t>(value);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    result += static_cast<char>((bits >> static_cast<unsigned>(held)) & 0xffU);
  }
  return result;
}

}  // namespace heed::tokenizers
