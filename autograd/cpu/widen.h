#pragma once
#include "autograd/cpu/blocks.h"
#include "autograd/cpu/lanes.h"
#include "autograd/cpu/matrix.h"
#include "autograd/half.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>
#if defined(__AVX2__) || defined(__F16C__)
#include <immintrin.h>
#endif

// Reads numbers that may be stored in 16 bits or in blocks. Internal.
namespace heed::cpu {

template <>
struct Matrix<Blocks> {
  Blocks data;
  std::int64_t row_stride, column_stride;
};

// Returns the vector of the numbers from from[0] on.
template <class Vector, class S>
[[gnu::always_inline]] inline Vector load(const S* from) {
  Vector values;
  if constexpr (std::is_same_v<S, BFloat16>) {
    // g++ widens twice half a vector, and joins the halves
#if defined(__AVX512F__)
    if constexpr (sizeof(Vector) == 64) {
      const __m512i bits =
          _mm512_maskz_cvtepu16_epi32(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
      return reinterpret_cast<Vector>(_mm512_maskz_slli_epi32(0xffff, bits, 16));
    }
#endif
#if defined(__AVX2__)
    if constexpr (sizeof(Vector) == 32) {
      const __m256i bits = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
      return reinterpret_cast<Vector>(_mm256_slli_epi32(bits, 16));
    }
#endif
    typename LanesOf<std::uint16_t, sizeof(Vector) / 2>::type halves;
    std::memcpy(&halves, from, sizeof halves);
    using Bits = typename LanesOf<std::uint32_t, sizeof(Vector)>::type;
    const Bits bits = __builtin_convertvector(halves, Bits) << 16;
    std::memcpy(&values, &bits, sizeof values);
  } else if constexpr (std::is_same_v<S, Float16>) {
#if defined(__AVX512F__)
    if constexpr (sizeof(Vector) == 64) {
      return reinterpret_cast<Vector>(
          _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))));
    }
#endif
#if defined(__F16C__)
    if constexpr (sizeof(Vector) == 32) {
      return reinterpret_cast<Vector>(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
    }
#endif
    for (std::size_t i = 0; i < sizeof values / sizeof(float); ++i) values[i] = from[i];
  } else {
    std::memcpy(&values, from, sizeof values);
  }
  return values;
}

// Returns the vector of the first `count` numbers, and zeros.
template <class Vector, class S>
[[gnu::always_inline]] inline Vector load_first(const S* from, std::int64_t count) {
  constexpr std::int64_t width = sizeof(Vector) / sizeof(decltype(Vector{}[0]));
  if (count == width) return load<Vector>(from);
  S part[width] = {};
  std::memcpy(part, from, static_cast<std::size_t>(count) * sizeof(S));
  return load<Vector>(part);
}

// Copies n numbers as wider ones, or as they are.
template <class S>
void widen(const S* from, double* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<double>(from[i]);
}
template <class S>
void widen(const S* from, float* to, std::int64_t n) {
  using Vector = Lanes<float>;
  constexpr std::int64_t width = lane_count<float>;
  std::int64_t i = 0;
  for (; i + width <= n; i += width) {
    const Vector values = load<Vector>(from + i);
    std::memcpy(to + i, &values, sizeof values);
  }
  for (; i < n; ++i) to[i] = from[i];
}

// Returns rows x columns of B as T: numbers of another type as a dense copy, with rows or columns dense as in B, that is
// valid until the thread's next call. Products with the copy therefore have the bits of those with widened weights.
template <class T, class S>
Matrix<T> widened(std::int64_t rows, std::int64_t columns, Matrix<S> B) {
  if constexpr (std::is_same_v<T, S>) {
    return B;
  } else {
    static thread_local std::vector<T> copy;
    copy.resize(std::max(copy.size(), static_cast<std::size_t>(rows * columns)));
    const bool by_rows = B.column_stride == 1 || (columns == 1 && B.row_stride != 1);
    const std::int64_t lines = by_rows ? rows : columns, length = by_rows ? columns : rows;
    const std::int64_t stride = by_rows ? B.row_stride : B.column_stride;
    for (std::int64_t line = 0; line < lines; ++line) {
      widen(B.data + line * stride, copy.data() + line * length, length);
    }
    return by_rows ? Matrix<T>{copy.data(), length, 1} : Matrix<T>{copy.data(), 1, length};
  }
}

}  // namespace heed::cpu
