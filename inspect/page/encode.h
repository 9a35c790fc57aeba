#pragma once
#include <heed/autograd/tensor.h>

#include <string>
#include <string_view>

// Bytes as text that a page can hold.
namespace heed {

// RFC 4648, section 4.
std::string base64(std::string_view bytes);

// The bytes that hexadecimal digits mean: "00ff" -> "\0\xff".
std::string from_hex(std::string_view digits);

// Attention weights in [0, 1], each cut to ten thousandths, n = floor(10,000 w); a reader takes (n + 1/2) / 10,000, which
// printed with up to three decimals gives the digits of w itself (halves go up). Most weights take one byte:
//   n < 215            n
//   215 <= n < 10,000  215 + (n - 215) / 256, (n - 215) % 256
//   3 to 258 times 0   254, times - 3
std::string pack_weights(const Tensor& weights);

}  // namespace heed
