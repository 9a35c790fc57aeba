#pragma once
#include "tokenizers/internal/json.h"

#include <heed/autograd/tensor.h>

#include <span>
#include <string>
#include <string_view>

// Encodes bytes as text for the page.
namespace heed {

/// Encodes bytes in base64 (RFC 4648, section 4).
std::string base64(std::string_view bytes);

/// Decodes hexadecimal digits: "00ff" -> "\0\xff".
std::string from_hex(std::string_view digits);

/// Returns numbers as bytes, little-endian. In float16 they are rounded to the nearest; values from 65520 on become infinity.
std::string float32_bytes(std::span<const float> numbers);
std::string float16_bytes(std::span<const float> numbers);

/// Encodes attention weights in [0, 1] as n = floor(10,000 w). A reader decodes (n + 1/2) / 10,000; rounded to one, two or
/// three decimals, it has the same digits as w: n is one less for a w in the middle of two that rounds down to an even digit. Most
/// weights take one byte:
///   n < 215            n
///   215 <= n < 10,000  215 + (n - 215) / 256, (n - 215) % 256
///   3 to 258 times 0   254, times - 3
std::string pack_weights(const Tensor& weights);

/// Returns a text for an HTML element or attribute.
std::string html_text(std::string_view text);

/// Returns JSON that cannot close a script element, whatever its strings contain.
std::string script_json(const Json& value);

}  // namespace heed
