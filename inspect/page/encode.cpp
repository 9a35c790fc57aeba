#include "inspect/page/encode.h"

#include "autograd/half.h"

#include <heed/autograd/ops.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

namespace heed {

std::string base64(std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t at) {
      return at < bytes.size() ? static_cast<unsigned>(static_cast<unsigned char>(bytes[at])) : 0U;
    };
    const unsigned three = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    for (unsigned place = 0; place < 4; ++place) {
      const bool filled = i + place <= bytes.size();
      text += filled ? digits[three >> (18 - 6 * place) & 63] : '=';
    }
  }
  return text;
}

std::string from_hex(std::string_view digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    unsigned char byte = 0;
    const auto [end, error] = std::from_chars(digits.data() + i, digits.data() + i + 2, byte, 16);
    if (error != std::errc() || end != digits.data() + i + 2) fail("from_hex: '{}' is not hexadecimal", digits);
    bytes += static_cast<char>(byte);
  }
  if (digits.size() % 2 != 0) fail("from_hex: '{}' has an odd number of digits", digits);
  return bytes;
}

std::string html_text(std::string_view text) {
  std::string safe;
  for (const char c : text) safe += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '"' ? "&quot;" : std::string(1, c);
  return safe;
}

std::string script_json(const Json& value) {
  std::string safe;
  const std::string text = format_json(value);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = std::string_view(text).substr(i, 3);
    if (text[i] == '<' || text[i] == '>' || text[i] == '&') {
      safe += fmt::format("\\u{:04x}", text[i]);
    } else if (rest == "\u2028" || rest == "\u2029") {
      safe += rest == "\u2028" ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      safe += text[i];
    }
  }
  return safe;
}

std::string float32_bytes(std::span<const float> numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()};
}

std::string float16_bytes(std::span<const float> numbers) {
  std::string bytes;
  for (const float number : numbers) {
    const std::uint16_t half = to_f16(number);
    bytes += static_cast<char>(half & 255U);
    bytes += static_cast<char>(half >> 8U);
  }
  return bytes;
}

namespace {

// Returns whether w lies in the middle of two numbers of one to three decimals, of which the lower one is even.
bool rounds_down_to_even(double w) {
  if (std::fmod(16 * w, 1) != 0) return false;
  return std::fmod(20 * w, 4) == 1 || std::fmod(200 * w, 4) == 1 || std::fmod(2'000 * w, 4) == 1;
}

}  // namespace

std::string pack_weights(const Tensor& weights) {
  constexpr int one_byte = 215, zeros = 254, fewest = 3, most = 258;
  const Tensor rows = contiguous(weights);
  const float* w = rows.data<float>();
  const auto part = [&](std::int64_t i) {
    const double weight = w[i];
    return std::clamp(static_cast<int>(weight * 10'000) - (rounds_down_to_even(weight) ? 1 : 0), 0, 9'999);
  };
  std::string bytes;
  for (std::int64_t i = 0; i < rows.numel();) {
    int run = 0;
    while (run < most && i + run < rows.numel() && part(i + run) == 0) ++run;
    if (run >= fewest) {
      bytes += static_cast<char>(zeros);
      bytes += static_cast<char>(run - fewest);
      i += run;
      continue;
    }
    const int n = part(i++);
    if (n < one_byte) {
      bytes += static_cast<char>(n);
    } else {
      bytes += static_cast<char>(one_byte + (n - one_byte) / 256);
      bytes += static_cast<char>((n - one_byte) % 256);
    }
  }
  return bytes;
}

}  // namespace heed
