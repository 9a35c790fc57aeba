#include "models/formats/gguf/dequantize.h"

#include "autograd/half.h"

#include <algorithm>
#include <cstring>

// The layout of blocks is that of ggml-quants.h of llama.cpp.
namespace heed {
namespace {

using Byte = unsigned char;
constexpr std::size_t small = 32, large = 256;  // numbers in a block

constexpr BlockType block_types[] = {{"F32", 0, 1, 4},         {"F16", 1, 1, 2},        {"BF16", 30, 1, 2},
                                     {"Q4_0", 2, small, 18},   {"Q4_1", 3, small, 20},  {"Q5_0", 6, small, 22},
                                     {"Q5_1", 7, small, 24},   {"Q8_0", 8, small, 34},  {"Q4_K", 12, large, 144},
                                     {"Q5_K", 13, large, 176}, {"Q6_K", 14, large, 210}};

std::uint16_t two_bytes(const Byte* from) { return static_cast<std::uint16_t>(from[0] | from[1] << 8); }
float half(const Byte* from) { return from_f16(two_bytes(from)); }
float of(int number) { return static_cast<float>(number); }
int signed_byte(Byte byte) { return byte < 128 ? byte : byte - 256; }

// 32 numbers of 4 bits, or of 5 with the highest ones in `high`: scale * number + least.
void small_block(const Byte* numbers, std::uint32_t high, int zero, float scale, float least, float* to) {
  for (std::size_t i = 0; i < small / 2; ++i) {
    const int low_half = (numbers[i] & 15) | static_cast<int>((high >> i) & 1U) << 4;
    const int high_half = (numbers[i] >> 4) | static_cast<int>((high >> (i + 16)) & 1U) << 4;
    to[i] = scale * of(low_half - zero) + least;
    to[i + small / 2] = scale * of(high_half - zero) + least;
  }
}

std::uint32_t four_bytes(const Byte* from) {
  return two_bytes(from) | static_cast<std::uint32_t>(two_bytes(from + 2)) << 16U;
}

// Scale and least of part `i` of 8, 6 bits each, packed in 12 bytes.
struct ScaleAndLeast {
  int scale, least;
};
ScaleAndLeast packed_scale(const Byte* packed, std::size_t i) {
  if (i < 4) return {packed[i] & 63, packed[i + 4] & 63};
  return {(packed[i + 4] & 15) | (packed[i - 4] >> 6) << 4, (packed[i + 4] >> 4) | (packed[i] >> 6) << 4};
}

// Q4_K, or Q5_K with the highest bits in `high`, which is null without.
void k_block(const Byte* block, const Byte* numbers, const Byte* high, float* to) {
  const float scale = half(block), least = half(block + 2);
  for (std::size_t part = 0; part < 8; ++part) {
    const ScaleAndLeast packed = packed_scale(block + 4, part);
    const float d = scale * of(packed.scale), m = least * of(packed.least);
    const Byte* of_part = numbers + part / 2 * small;
    for (std::size_t i = 0; i < small; ++i) {
      int number = part % 2 ? of_part[i] >> 4 : of_part[i] & 15;
      if (high && (high[i] >> part & 1)) number += 16;
      to[part * small + i] = d * of(number) - m;
    }
  }
}

void q6_k_block(const Byte* block, float* to) {
  const Byte *low = block, *high = block + 128, *scales = block + 192;
  const float d = half(block + 208);
  for (std::size_t n = 0; n < large; ++n) {
    const std::size_t part = n / 128, in_part = n % 128, row = in_part / 32, i = in_part % 32;
    const Byte low_byte = low[part * 64 + row % 2 * 32 + i];
    const int low_bits = row < 2 ? low_byte & 15 : low_byte >> 4;
    const int high_bits = high[part * 32 + i] >> (2 * row) & 3;
    to[n] = d * of(signed_byte(scales[n / 16])) * of((low_bits | high_bits << 4) - 32);
  }
}

void one_block(std::uint32_t code, const Byte* from, float* to) {
  switch (code) {
    case 0:
      std::memcpy(to, from, sizeof *to);
      return;
    case 1:
      *to = half(from);
      return;
    case 30:
      *to = from_bf16(two_bytes(from));
      return;
    case 2:
      return small_block(from + 2, 0, 8, half(from), 0, to);
    case 3:
      return small_block(from + 4, 0, 0, half(from), half(from + 2), to);
    case 6:
      return small_block(from + 6, four_bytes(from + 2), 16, half(from), 0, to);
    case 7:
      return small_block(from + 8, four_bytes(from + 4), 0, half(from), half(from + 2), to);
    case 8:
      for (std::size_t i = 0; i < small; ++i) to[i] = half(from) * of(signed_byte(from[2 + i]));
      return;
    case 12:
      return k_block(from, from + 16, nullptr, to);
    case 13:
      return k_block(from, from + 48, from + 16, to);
    default:
      return q6_k_block(from, to);
  }
}

}  // namespace

std::optional<BlockType> block_type(std::uint32_t code) {
  const auto* found = std::ranges::find(block_types, code, &BlockType::code);
  return found == std::end(block_types) ? std::nullopt : std::optional(*found);
}

void dequantize(const BlockType& type, const char* from, std::size_t blocks, float* to) {
  for (std::size_t block = 0; block < blocks; ++block) {
    one_block(type.code, reinterpret_cast<const Byte*>(from) + block * type.bytes, to + block * type.numbers);
  }
}

}  // namespace heed
