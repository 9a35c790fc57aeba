#include "autograd/cpu/blocks.h"

#include "autograd/cpu/vector_bytes.h"
#include "autograd/half.h"

#include <algorithm>
#include <cstring>
#if defined(__AVX2__) || defined(__F16C__)
#include <immintrin.h>
#endif

// The layout of blocks is that of ggml-quants.h of llama.cpp. A product of a scale and a number of few bits is exact in
// float, so the results do not depend on what the compiler fuses.
namespace heed::cpu {
namespace {

using Byte = unsigned char;
typedef Byte Bytes __attribute__((vector_size(16)));
typedef signed char Numbers __attribute__((vector_size(16)));
constexpr std::int64_t small = 32, large = 256;  // numbers in a block

[[gnu::always_inline]] inline Bytes load(const Byte* from) {
  Bytes bytes;
  std::memcpy(&bytes, from, sizeof bytes);
  return bytes;
}

std::uint16_t two_bytes(const Byte* from) { return static_cast<std::uint16_t>(from[0] | from[1] << 8); }
[[gnu::always_inline]] inline float half(const Byte* from) {
#if defined(__F16C__)
  return _cvtsh_ss(two_bytes(from));
#else
  return from_f16(two_bytes(from));
#endif
}

// Writes scale * number + least for 16 numbers.
[[gnu::always_inline]] inline void write(Bytes bytes, float scale, float least, float* to) {
  const auto numbers = reinterpret_cast<Numbers>(bytes);
#if defined(__AVX512F__)
  const __m512i wide = _mm512_maskz_cvtepi8_epi32(0xffff, reinterpret_cast<__m128i>(numbers));
  _mm512_storeu_ps(to, _mm512_maskz_cvtepi32_ps(0xffff, wide) * scale + least);
#elif defined(__AVX2__)
  const auto lower = reinterpret_cast<__m128i>(numbers);
  const __m128i upper = _mm_unpackhi_epi64(lower, lower);
  _mm256_storeu_ps(to, _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(lower)) * scale + least);
  _mm256_storeu_ps(to + 8, _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(upper)) * scale + least);
#else
  for (int i = 0; i < 16; ++i) to[i] = scale * static_cast<float>(numbers[i]) + least;
#endif
}

// Returns 16 where a bit is set, else 0.
Bytes fifth_bits(std::uint16_t bits) {
  const Byte lower = bits & 255U, upper = static_cast<Byte>(bits >> 8U);
  const Bytes all = {lower, lower, lower, lower, lower, lower, lower, lower,
                     upper, upper, upper, upper, upper, upper, upper, upper};
  const Bytes each = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  return reinterpret_cast<Bytes>((all & each) != 0) & 16;
}

// Writes 32 numbers of 4 bits: scale * (number - zero) + least.
[[gnu::always_inline]] inline void write_q4(const Byte* numbers, Byte zero, float scale, float least, float* to) {
  const Bytes bytes = load(numbers);
  write((bytes & 15) - zero, scale, least, to);
  write((bytes >> 4) - zero, scale, least, to + 16);
}

// As write_q4(), with the fifth bits of all numbers in four bytes.
[[gnu::always_inline]] inline void write_q5(const Byte* numbers, const Byte* high, Byte zero, float scale, float least,
                                            float* to) {
  const Bytes bytes = load(numbers);
  write(((bytes & 15) | fifth_bits(two_bytes(high))) - zero, scale, least, to);
  write(((bytes >> 4) | fifth_bits(two_bytes(high + 2))) - zero, scale, least, to + 16);
}

[[gnu::always_inline]] inline void write_q8(const Byte* numbers, float scale, float* to) {
  write(load(numbers), scale, 0, to);
  write(load(numbers + 16), scale, 0, to + 16);
}

// Writes Q4_K, or Q5_K with the fifth bits in `high`, which is null without.
[[gnu::always_inline]] inline void write_k(const Byte* block, const Byte* numbers, const Byte* high, float* to) {
  const float scale = half(block), least = half(block + 2);
  for (int part = 0; part < 8; ++part) {
    const PackedScale packed = packed_scale(block + 4, part);
    const float d = scale * static_cast<float>(packed.scale), m = least * static_cast<float>(packed.least);
    for (int begin = 0; begin < small; begin += 16) {
      Bytes bytes = load(numbers + part / 2 * small + begin) >> (part % 2 * 4) & 15;
      if (high) bytes |= (load(high + begin) >> part & 1) << 4;
      write(bytes, d, -m, to + part * small + begin);
    }
  }
}

[[gnu::always_inline]] inline void write_q6_k(const Byte* block, float* to) {
  const Byte *low = block, *high = block + 128, *scales = block + 192;
  const float d = half(block + 208);
  for (int part = 0; part < 16; ++part) {  // of 16 numbers with one scale
    const int row = part / 2 % 4, begin = part % 2 * 16;
    const Bytes low_bits = load(low + part / 8 * 64 + row % 2 * 32 + begin) >> (row / 2 * 4) & 15;
    const Bytes high_bits = load(high + part / 8 * 32 + begin) >> (2 * row) & 3;
    write((low_bits | high_bits << 4) - 32, d * static_cast<float>(static_cast<signed char>(scales[part])), 0,
          to + part * 16);
  }
}

void write_q2_k(const Byte* block, float* to) {
  const Byte *scales = block, *numbers = block + 16;
  const float scale = half(block + 80), least = half(block + 82);
  for (int part = 0; part < 16; ++part) {  // of 16 numbers with one scale and one least number
    const Bytes bits = load(numbers + part / 8 * 32 + part % 2 * 16) >> (part % 8 / 2 * 2) & 3;
    write(bits, scale * static_cast<float>(scales[part] & 15), -least * static_cast<float>(scales[part] >> 4),
          to + part * 16);
  }
}

void write_q3_k(const Byte* block, float* to) {
  const Byte *high = block, *low = block + 32, *packed = block + 96;
  const float d = half(block + 108);
  for (int part = 0; part < 16; ++part) {  // of 16 numbers with one scale of 6 bits
    const Bytes low_bits = load(low + part / 8 * 32 + part % 2 * 16) >> (part % 8 / 2 * 2) & 3;
    const Bytes high_bit = load(high + part % 2 * 16) >> (part / 2) & 1;
    write((low_bits | high_bit << 2) - 4, d * static_cast<float>(packed_q3_scale(packed, part)), 0, to + part * 16);
  }
}

// Returns for each number of 4 bits the one that it stands for in IQ4_NL and IQ4_XS.
Bytes from_table(Bytes bits) {
  Numbers table;
  std::memcpy(&table, iq4_numbers, sizeof table);
#if defined(__AVX2__)
  return reinterpret_cast<Bytes>(_mm_shuffle_epi8(reinterpret_cast<__m128i>(table), reinterpret_cast<__m128i>(bits)));
#else
  Numbers numbers{};
  for (int i = 0; i < 16; ++i) numbers[i] = table[bits[i]];
  return reinterpret_cast<Bytes>(numbers);
#endif
}

// Writes 32 numbers of 4 bits by their table.
void write_iq4(const Byte* numbers, float scale, float* to) {
  const Bytes bytes = load(numbers);
  write(from_table(bytes & 15), scale, 0, to);
  write(from_table(bytes >> 4), scale, 0, to + 16);
}

void write_iq4_xs(const Byte* block, float* to) {
  const Byte* const numbers = block + 8;
  const float d = half(block);
  for (int part = 0; part < 8; ++part) {  // of 32 numbers with one scale of 6 bits
    write_iq4(numbers + part * 16, d * static_cast<float>(packed_iq4_scale(block, part)), to + part * small);
  }
}

template <DType type>
[[gnu::always_inline]] inline void write_block(const Byte* block, float* to) {
  if constexpr (type == DType::q4_0) write_q4(block + 2, 8, half(block), 0, to);
  if constexpr (type == DType::q4_1) write_q4(block + 4, 0, half(block), half(block + 2), to);
  if constexpr (type == DType::q5_0) write_q5(block + 6, block + 2, 16, half(block), 0, to);
  if constexpr (type == DType::q5_1) write_q5(block + 8, block + 4, 0, half(block), half(block + 2), to);
  if constexpr (type == DType::q8_0) write_q8(block + 2, half(block), to);
  if constexpr (type == DType::iq4_nl) write_iq4(block + 2, half(block), to);
  if constexpr (type == DType::q2_k) write_q2_k(block, to);
  if constexpr (type == DType::q3_k) write_q3_k(block, to);
  if constexpr (type == DType::q4_k) write_k(block, block + 16, nullptr, to);
  if constexpr (type == DType::q5_k) write_k(block, block + 48, block + 16, to);
  if constexpr (type == DType::q6_k) write_q6_k(block, to);
  if constexpr (type == DType::iq4_xs) write_iq4_xs(block, to);
}

template <DType type>
void widen_as(Blocks from, float* to, std::int64_t n) {
  constexpr BlockLayout layout = block_layout(type);
  const Byte* block = from.bytes + from.number / layout.numbers * layout.bytes;
  for (std::int64_t skipped = from.number % layout.numbers; n > 0; skipped = 0, block += layout.bytes) {
    const std::int64_t count = std::min(n, layout.numbers - skipped);
    for (std::int64_t i = 0; i < layout.bytes; i += line_bytes) __builtin_prefetch(block + bytes_ahead + i);
    if (count == layout.numbers) {
      write_block<type>(block, to);
    } else {
      float all[layout.numbers];
      write_block<type>(block, all);
      std::copy_n(all + skipped, count, to);
    }
    to += count;
    n -= count;
  }
}

bool is_finite_half(const Byte* from) { return (two_bytes(from) & 0x7c00U) != 0x7c00U; }

}  // namespace

void widen(Blocks from, float* to, std::int64_t n) {
  using enum DType;
  static constexpr void (*functions[])(Blocks, float*, std::int64_t) = {
      widen_as<q4_0>, widen_as<q4_1>, widen_as<q5_0>, widen_as<q5_1>, widen_as<q8_0>, widen_as<iq4_nl>,
      widen_as<q2_k>, widen_as<q3_k>, widen_as<q4_k>, widen_as<q5_k>, widen_as<q6_k>, widen_as<iq4_xs>};
  functions[static_cast<std::size_t>(from.type) - static_cast<std::size_t>(q4_0)](from, to, n);
}

void widen(Blocks from, double* to, std::int64_t n) {
  float some[large];
  for (std::int64_t i = 0; i < n; i += large) {
    const std::int64_t count = std::min(large, n - i);
    widen(from + i, some, count);
    std::copy_n(some, count, to + i);
  }
}

bool has_finite_scales(Blocks from, std::int64_t n) {
  const BlockLayout layout = block_layout(from.type);
  bool finite = true;
  const std::int64_t end = (from.number + n + layout.numbers - 1) / layout.numbers;
  for (std::int64_t i = from.number / layout.numbers; i < end; ++i) {
    const Byte* const block = from.bytes + i * layout.bytes;
    finite = finite && is_finite_half(block + layout.scale) &&
             (layout.minimum < 0 || is_finite_half(block + layout.minimum));
  }
  return finite;
}

}  // namespace heed::cpu
