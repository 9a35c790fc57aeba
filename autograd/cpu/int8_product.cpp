#include "autograd/cpu/int8_product.h"

#include "autograd/cpu/kernels.h"
#include "autograd/cpu/subnormals.h"
#include "autograd/cpu/units.h"
#include "autograd/cpu/vector_bytes.h"
#include "autograd/half.h"

#include <heed/autograd/profile.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace heed::cpu {
namespace {

using Byte = unsigned char;
constexpr std::int64_t columns_at_a_time = 16, small = 32;  // numbers in a block of x

// The rows of x in blocks of 32: scale * number. What blocks have lies at block * m + row.
struct Rounded {
  const signed char* numbers;  // row by row
  const float* scales;
  const float* totals;                 // scale * sum of the numbers
  const int *lower_sums, *upper_sums;  // of the halves of a block
};

struct Product {
  std::int64_t m, blocks;  // rows; blocks of 32 in a row of x
  Rounded x;
  const Byte* W;
  std::int64_t stride;  // bytes from column to column
  const float* bias;
  float* y;
  std::int64_t ldy;
};

// The integer that stands for zero when a block's numbers are read as unsigned.
constexpr int zero_of(DType type) {
  switch (type) {
    case DType::q8_0:
    case DType::iq4_nl:
    case DType::iq4_xs:
      return 128;
    case DType::q6_k:
      return 32;
    case DType::q5_0:
      return 16;
    case DType::q4_0:
      return 8;
    case DType::q3_k:
      return 4;
    default:
      return 0;
  }
}
// Whether there is a scale for each 16 numbers, not 32.
constexpr bool has_halves(DType type) { return type == DType::q2_k || type == DType::q3_k || type == DType::q6_k; }

float half(const Byte* from) { return from_f16(static_cast<std::uint16_t>(from[0] | from[1] << 8)); }

// Returns the factors of scale and least number `part` of a block of 256.
template <DType type>
PackedScale scale_of(const Byte* block, int part) {
  if constexpr (type == DType::q2_k) return {block[part] & 15, block[part] >> 4};
  if constexpr (type == DType::q3_k) return {packed_q3_scale(block + 96, part), 0};
  if constexpr (type == DType::q6_k) return {static_cast<signed char>(block[192 + part]), 0};
  if constexpr (type == DType::iq4_xs) return {packed_iq4_scale(block, part), 0};
  return packed_scale(block + 4, part);
}

// Constants of Q5_0 and Q5_1: which bytes of their fifth bits belong to 16 numbers, and the bit of each number.
constexpr signed char first_two[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1};
constexpr signed char last_two[] = {2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3};
constexpr signed char each_bit[] = {1, 2, 4, 8, 16, 32, 64, -128, 1, 2, 4, 8, 16, 32, 64, -128};

namespace plain {

typedef Byte Bytes __attribute__((vector_size(16)));
typedef int Ints __attribute__((vector_size(16)));
typedef float Floats __attribute__((vector_size(16)));
constexpr bool subtracts = false;

inline Bytes repeat(const signed char* from) {
  Bytes bytes;
  std::memcpy(&bytes, from, sizeof bytes);
  return bytes;
}
inline Bytes gather(const Byte* from, std::int64_t) { return repeat(reinterpret_cast<const signed char*>(from)); }
inline Bytes lookup(Bytes table, Bytes index) {
  for (int i = 0; i < 16; ++i) index[i] = table[index[i]];
  return index;
}
// Returns the sums of pairs of eight products, which fit into 16 bits.
template <int first>
inline Ints pairs(Bytes w, Bytes x) {
  typedef signed char EightNumbers __attribute__((vector_size(8)));
  typedef short Shorts __attribute__((vector_size(16)));
  const auto eight = [](auto bytes) {
    return __builtin_shufflevector(bytes, bytes, first, first + 1, first + 2, first + 3, first + 4, first + 5,
                                   first + 6, first + 7);
  };
  const Shorts products = __builtin_convertvector(eight(w), Shorts) *
                          __builtin_convertvector(reinterpret_cast<EightNumbers>(eight(x)), Shorts);
  const auto both = reinterpret_cast<Ints>(products);
  return (both << 16 >> 16) + (both >> 16);
}
template <int zero>
inline Ints dot(Ints sum, Bytes w, Bytes x) {
  const Ints a = pairs<0>(w, x), b = pairs<8>(w, x);
  return sum + __builtin_shufflevector(a, b, 0, 2, 4, 6) + __builtin_shufflevector(a, b, 1, 3, 5, 7);
}
inline Floats multiply_add(Floats a, Floats b, Floats c) {
  for (int i = 0; i < 4; ++i) c[i] = std::fma(a[i], b[i], c[i]);
  return c;
}
inline Floats halves(const std::uint16_t* from) {
  return Floats{from_f16(from[0]), from_f16(from[1]), from_f16(from[2]), from_f16(from[3])};
}

#include "autograd/cpu/int8_kernel.h"

}  // namespace plain

#if defined(__x86_64__)

HEED_TARGET("avx2,fma,f16c")
namespace avx2 {

typedef Byte Bytes __attribute__((vector_size(32)));
typedef int Ints __attribute__((vector_size(32)));
typedef float Floats __attribute__((vector_size(32)));
constexpr bool subtracts = true;  // products of pairs must fit into 16 bits

inline __m128i load(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }
inline Bytes repeat(const signed char* from) {
  return reinterpret_cast<Bytes>(_mm256_broadcastsi128_si256(load(from)));
}
inline Bytes gather(const Byte* from, std::int64_t stride) {
  return reinterpret_cast<Bytes>(_mm256_inserti128_si256(_mm256_castsi128_si256(load(from)), load(from + stride), 1));
}
inline Bytes lookup(Bytes table, Bytes index) {
  return reinterpret_cast<Bytes>(
      _mm256_shuffle_epi8(reinterpret_cast<__m256i>(table), reinterpret_cast<__m256i>(index)));
}
template <int zero>
inline Ints dot(Ints sum, Bytes w, Bytes x) {
  auto left = reinterpret_cast<__m256i>(w - static_cast<Byte>(zero)), right = reinterpret_cast<__m256i>(x);
  if constexpr (zero != 0) {
    right = _mm256_sign_epi8(right, left);
    left = _mm256_abs_epi8(left);
  }
  const __m256i pairs = _mm256_maddubs_epi16(left, right);
  return sum + reinterpret_cast<Ints>(_mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}
inline Floats multiply_add(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
inline Floats halves(const std::uint16_t* from) { return _mm256_cvtph_ps(load(from)); }

#include "autograd/cpu/int8_kernel.h"

}  // namespace avx2
HEED_END_TARGET

HEED_TARGET("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")
namespace vnni {

typedef Byte Bytes __attribute__((vector_size(64)));
typedef int Ints __attribute__((vector_size(64)));
typedef float Floats __attribute__((vector_size(64)));
constexpr bool subtracts = false;

inline __m128i load(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }
inline Bytes repeat(const signed char* from) {
  return reinterpret_cast<Bytes>(_mm512_maskz_broadcast_i32x4(0xffff, load(from)));
}
inline Bytes gather(const Byte* from, std::int64_t stride) {
  __m512i bytes = _mm512_castsi128_si512(load(from));
  bytes = _mm512_maskz_inserti32x4(0xffff, bytes, load(from + stride), 1);
  bytes = _mm512_maskz_inserti32x4(0xffff, bytes, load(from + 2 * stride), 2);
  return reinterpret_cast<Bytes>(_mm512_maskz_inserti32x4(0xffff, bytes, load(from + 3 * stride), 3));
}
inline Bytes lookup(Bytes table, Bytes index) {
  return reinterpret_cast<Bytes>(
      _mm512_shuffle_epi8(reinterpret_cast<__m512i>(table), reinterpret_cast<__m512i>(index)));
}
template <int zero>
inline Ints dot(Ints sum, Bytes w, Bytes x) {
  return reinterpret_cast<Ints>(
      _mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sum), reinterpret_cast<__m512i>(w), reinterpret_cast<__m512i>(x)));
}
inline Floats multiply_add(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
inline Floats halves(const std::uint16_t* from) {
  return _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}

#include "autograd/cpu/int8_kernel.h"

}  // namespace vnni
HEED_END_TARGET

#endif

// Rounds 32 numbers and returns their scale. NaN stands for blocks with an infinity or NaN, and 0 for those whose scale would
// be subnormal.
float round_block(const float* from, signed char* to, int& lower_sum, int& upper_sum) {
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < small; ++i) {
    largest = std::max(largest, std::bit_cast<std::uint32_t>(from[i]) & 0x7fffffffU);
  }
  const float most = std::bit_cast<float>(largest), scale = most / 127, inverse = 127 / most;
  lower_sum = upper_sum = 0;
  const bool is_finite = largest < 0x7f800000U;
  if (!is_finite || scale < std::numeric_limits<float>::min()) {
    std::fill_n(to, small, static_cast<signed char>(0));
    return is_finite ? 0.0F : std::numeric_limits<float>::quiet_NaN();
  }
  for (std::int64_t i = 0; i < small; ++i) to[i] = static_cast<signed char>(std::nearbyint(from[i] * inverse));
  for (std::int64_t i = 0; i < small / 2; ++i) lower_sum += to[i];
  for (std::int64_t i = small / 2; i < small; ++i) upper_sum += to[i];
  return scale;
}

struct Workspace {
  std::vector<signed char> numbers;
  std::vector<float> scales, totals;
  std::vector<int> lower_sums, upper_sums;

  Rounded round(std::int64_t m, std::int64_t k, const Matrix<float>& x) {
    const std::int64_t blocks = k / small;
    const auto make_room = [](auto& memory, std::int64_t size) {
      if (memory.size() < static_cast<std::size_t>(size)) memory.resize(static_cast<std::size_t>(size));
    };
    make_room(numbers, m * k);
    make_room(scales, m * blocks);
    make_room(totals, m * blocks);
    make_room(lower_sums, m * blocks);
    make_room(upper_sums, m * blocks);
    parallel_for(m, std::max<std::int64_t>(1, 16384 / k), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        for (std::int64_t b = 0; b < blocks; ++b) {
          float copy[small];
          const float* from = x.data + i * x.row_stride + b * small * x.column_stride;
          for (std::int64_t p = 0; x.column_stride != 1 && p < small; ++p) copy[p] = from[p * x.column_stride];
          if (x.column_stride != 1) from = copy;
          const auto place = static_cast<std::size_t>(b * m + i);
          scales[place] = round_block(from, numbers.data() + i * k + b * small, lower_sums[place], upper_sums[place]);
          totals[place] = scales[place] * static_cast<float>(lower_sums[place] + upper_sums[place]);
        }
      }
    });
    return {numbers.data(), scales.data(), totals.data(), lower_sums.data(), upper_sums.data()};
  }
};

}  // namespace

bool is_int8_product(std::int64_t k, std::int64_t n, const Matrix<Blocks>& W) {
  const std::int64_t numbers = block_layout(W.data.type).numbers;
  return n >= columns_at_a_time && k > 0 && W.row_stride == 1 && k % numbers == 0 && W.column_stride % numbers == 0 &&
         W.data.number % numbers == 0;
}

void int8_product(std::int64_t m, std::int64_t n, std::int64_t k, const Matrix<float>& x, const Matrix<Blocks>& W,
                  const float* bias, float* y) {
  count_flops(2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k));
  static thread_local Workspace workspace;
  const BlockLayout layout = block_layout(W.data.type);
  const Product product{m,
                        k / small,
                        workspace.round(m, k, x),
                        W.data.bytes + W.data.number / layout.numbers * layout.bytes,
                        W.column_stride / layout.numbers * layout.bytes,
                        bias,
                        y,
                        n};
  auto multiply = plain::multiply;
#if defined(__x86_64__)
  if (has_unit(Unit::avx2)) multiply = avx2::multiply;
  if (has_unit(Unit::avx512_vnni)) multiply = vnni::multiply;
#endif
  // The last columns overlap those before them, which are computed by the same thread.
  const std::int64_t groups = n / columns_at_a_time;
  const std::int64_t wanted = std::max<std::int64_t>(1, (std::int64_t{1} << 16) / (k * columns_at_a_time));
  parallel_for(groups, wanted, [&](std::int64_t begin, std::int64_t end) {
    const DenormalsAreZero all_normal;
    for (std::int64_t group = begin; group < end; ++group) {
      multiply(W.data.type, product, group * columns_at_a_time);
    }
    if (end == groups && n % columns_at_a_time != 0) multiply(W.data.type, product, n - columns_at_a_time);
  });
}

}  // namespace heed::cpu
