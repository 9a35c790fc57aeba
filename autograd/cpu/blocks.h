#pragma once
#include "autograd/half.h"

#include <heed/autograd/tensor.h>

#include <cstdint>
#include <type_traits>

// Numbers of few bits that lie in blocks and share the block's scales. Internal.
namespace heed::cpu {

// The blocks of a type. Types that are not in blocks have one number in each.
struct BlockLayout {
  std::int64_t numbers, bytes;            // of a block
  std::int64_t scale = -1, minimum = -1;  // where the float16 factors of the block begin; -1: it has none
};
constexpr BlockLayout block_layout(DType type) {
  constexpr BlockLayout layouts[] = {{1, 4},
                                     {1, 8},
                                     {1, 2},
                                     {1, 2},
                                     {32, 18, 0},        // q4_0
                                     {32, 20, 0, 2},     // q4_1
                                     {32, 22, 0},        // q5_0
                                     {32, 24, 0, 2},     // q5_1
                                     {32, 34, 0},        // q8_0
                                     {32, 18, 0},        // iq4_nl
                                     {256, 84, 80, 82},  // q2_k
                                     {256, 110, 108},    // q3_k
                                     {256, 144, 0, 2},   // q4_k
                                     {256, 176, 0, 2},   // q5_k
                                     {256, 210, 208},    // q6_k
                                     {256, 136, 0}};     // iq4_xs
  return layouts[static_cast<std::size_t>(type)];
}

// A position in numbers that lie in blocks. Like a pointer, it moves by numbers.
struct Blocks {
  DType type;
  const unsigned char* bytes;  // of block 0
  std::int64_t number;         // from the first of block 0 on

  Blocks operator+(std::int64_t numbers) const { return {type, bytes, number + numbers}; }
  Blocks& operator+=(std::int64_t numbers) { return *this = *this + numbers; }
};

// Returns the first number of a tensor.
Blocks blocks_of(const Tensor& x);

// Returns a tensor that lies in blocks as a contiguous one in float32.
Tensor without_blocks(const Tensor& x);

// Returns the place of x's first number: a pointer to S, or Blocks.
template <class S>
auto first_number(const Tensor& x) {
  if constexpr (std::is_same_v<S, Blocks>) {
    return blocks_of(x);
  } else {
    return x.data<S>();
  }
}

// Calls `function` as dispatch() does, for a type that only holds weights: with BFloat16, Float16 or Blocks.
decltype(auto) dispatch_stored_only(DType dtype, auto&& function) {
  if (dtype == DType::bfloat16) return function.template operator()<BFloat16>();
  if (dtype == DType::float16) return function.template operator()<Float16>();
  return function.template operator()<Blocks>();
}

// The scale and the least number of part `part` of 8, of 6 bits each, as Q4_K and Q5_K pack them in 12 bytes.
struct PackedScale {
  int scale, least;
};
inline PackedScale packed_scale(const unsigned char* packed, int part) {
  if (part < 4) return {packed[part] & 63, packed[part + 4] & 63};
  return {(packed[part + 4] & 15) | (packed[part - 4] >> 6) << 4, (packed[part + 4] >> 4) | (packed[part] >> 6) << 4};
}

// The scale of part `part` of 16 in Q3_K, and of 8 in a block of IQ4_XS.
inline int packed_q3_scale(const unsigned char* packed, int part) {
  const int low = packed[part % 8] >> (part / 8 * 4) & 15, high = packed[8 + part % 4] >> (part / 4 * 2) & 3;
  return (low | high << 4) - 32;
}
inline int packed_iq4_scale(const unsigned char* block, int part) {
  const int low = block[4 + part / 2] >> (part % 2 * 4) & 15, high = (block[2] | block[3] << 8) >> (2 * part) & 3;
  return (low | high << 4) - 32;
}

// The numbers of IQ4_NL and IQ4_XS.
constexpr signed char iq4_numbers[] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

// Writes n numbers, each of which is the same wherever the range begins.
void widen(Blocks from, float* to, std::int64_t n);
void widen(Blocks from, double* to, std::int64_t n);

// Returns whether the scales of the blocks that hold n numbers are finite.
bool has_finite_scales(Blocks from, std::int64_t n);

}  // namespace heed::cpu
