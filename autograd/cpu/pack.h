#pragma once
#include "autograd/cpu/matrix.h"
#include "autograd/cpu/vector_bytes.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

// Packing for blocked_gemm(): copies a part of a matrix into dense memory.
namespace heed::cpu {

// memcpy() in the widest registers; g++ chooses narrower ones.
template <std::size_t bytes, class T>
void copy(const T* from, T* to) {
  if constexpr (bytes % vector_bytes == 0) {
    typedef T Vector __attribute__((vector_size(vector_bytes)));
    for (std::size_t i = 0; i < bytes / sizeof(T); i += vector_bytes / sizeof(T)) {
      Vector values;
      std::memcpy(&values, from + i, sizeof values);
      std::memcpy(to + i, &values, sizeof values);
    }
  } else {
    std::memcpy(to, from, bytes);
  }
}

// Copies the first `count` of at most n elements. From n / 2 on, it makes two overlapping copies of a fixed size.
template <class T, std::int64_t n>
void copy_row(const T* from, T* to, std::int64_t count) {
  constexpr std::int64_t half = n / 2;
  const auto copy_half = [=](std::int64_t first) { copy<half * sizeof(T)>(from + first, to + first); };
  if (count >= half) {
    copy_half(0);
    copy_half(count - half);
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i];
  }
}

// Values per row of the squares that are transposed in registers.
template <class T>
constexpr int square = std::min<std::int64_t>(vector_bytes, 32) / static_cast<std::int64_t>(sizeof(T));

// Rows a and b, d apart, form 2 x 2 blocks of d x d values. Exchanges the two off-diagonal blocks of each.
template <int d, class Vector, int... lane>
[[gnu::always_inline]] inline void exchange(Vector& a, Vector& b, std::integer_sequence<int, lane...>) {
  constexpr int n = sizeof...(lane);
  const Vector first = __builtin_shufflevector(a, b, ((lane & d) ? n + lane - d : lane)...);
  b = __builtin_shufflevector(a, b, ((lane & d) ? n + lane : lane + d)...);
  a = first;
}

// (a0 a1 a2 a3, b0 b1 b2 b3) -> (a0 b0 a1 b1, a2 b2 a3 b3) in each 4 lanes. x86 has one instruction for this, but not
// for exchange<1> of floats.
template <class Vector, int... lane>
[[gnu::always_inline]] inline void zip(Vector& a, Vector& b, std::integer_sequence<int, lane...>) {
  constexpr int n = sizeof...(lane);
  const Vector first = __builtin_shufflevector(a, b, (lane / 4 * 4 + lane % 4 / 2 + lane % 2 * n)...);
  b = __builtin_shufflevector(a, b, (lane / 4 * 4 + lane % 4 / 2 + lane % 2 * n + 2)...);
  a = first;
}

// Sets to[j * stride + i] = from[i][j] for i, j < square<T>. (g++ unrolls plain loops too late to keep the array in
// registers.)
template <class T>
void transpose_square(const T* const* from, T* to, std::int64_t stride) {
  constexpr int n = square<T>;
  constexpr bool zipped = sizeof(T) == 4;
  constexpr std::make_integer_sequence<int, n> lanes;
  typedef T Vector __attribute__((vector_size(n * sizeof(T))));
  Vector x[n];
#pragma GCC unroll 8
  for (int i = 0; i < n; ++i) std::memcpy(&x[i], from[i], sizeof x[i]);
#pragma GCC unroll 8
  for (int i = 0; i < n; i += 2) {
    if constexpr (zipped) {
      zip(x[i], x[i + 1], lanes);
    } else {
      exchange<1>(x[i], x[i + 1], lanes);
    }
  }
  if constexpr (n >= 4) {
#pragma GCC unroll 8
    for (int i = 0; i < n; ++i) {
      if ((i & 2) == 0) exchange<2>(x[i], x[i + 2], lanes);
    }
  }
  if constexpr (n >= 8) {
#pragma GCC unroll 8
    for (int i = 0; i < n; ++i) {
      if ((i & 4) == 0) exchange<4>(x[i], x[i + 4], lanes);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < n; ++i) {
    const int column = zipped ? (i & 4) + (i & 2) / 2 + (i & 1) * 2 : i;
    std::memcpy(to + column * stride, &x[i], sizeof x[i]);
  }
}

// Copies X (k x n) into dense micro-panels of `width` columns. Values past the last column are unspecified.
template <class T, std::int64_t width>
void pack(std::int64_t k, std::int64_t n, Matrix<T> X, T* to) {
  if (X.column_stride == 1) {
    constexpr std::int64_t rows_at_a_time = 16;  // their lines, several panels each, stay in the L1 cache
    constexpr std::int64_t vectors = (width * sizeof(T) + vector_bytes - 1) / vector_bytes * vector_bytes / sizeof(T);
    for (std::int64_t begin = 0; begin < k; begin += rows_at_a_time) {
      const std::int64_t end = std::min(k, begin + rows_at_a_time);
      for (std::int64_t first = 0; first < n; first += width) {
        const T* from = X.data + first;
        T* const panel = to + first * k;
        std::int64_t p = begin;
        if (first + vectors <= n) {  // copy whole vectors: the next row overwrites the excess
          for (; p < std::min(end, k - 1); ++p) {
            copy<vectors * sizeof(T)>(from + p * X.row_stride, panel + p * width);
          }
        }
        for (; p < end; ++p) {
          copy_row<T, width>(from + p * X.row_stride, panel + p * width, std::min(width, n - first));
        }
      }
    }
    return;
  }
  for (std::int64_t first = 0; first < n; first += width, to += k * width) {
    const std::int64_t columns = std::min(width, n - first);
    const T* from = X.data + first * X.column_stride;
    std::int64_t p = 0;
    if constexpr (width % square<T> == 0) {
      // `count` rows at a time; with all of a line of the cache, it is read once even if the columns compete for few lines
      const auto transpose_rows = [&](std::int64_t count) {
        for (; X.row_stride == 1 && p + count <= k; p += count) {
          for (std::int64_t j = 0; j < width; j += square<T>) {
            for (std::int64_t q = p; q < p + count; q += square<T>) {
              const T* column[square<T>];
              for (std::int64_t i = 0; i < square<T>; ++i) {
                column[i] = from + q + std::min(j + i, columns - 1) * X.column_stride;
              }
              transpose_square(column, to + q * width + j, width);
            }
          }
        }
      };
      transpose_rows(line_bytes / static_cast<std::int64_t>(sizeof(T)));
      transpose_rows(square<T>);
    }
    for (; p < k; ++p) {
      for (std::int64_t j = 0; j < columns; ++j) to[p * width + j] = from[p * X.row_stride + j * X.column_stride];
    }
  }
}

}  // namespace heed::cpu
