#include "autograd/small_gemm.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace heed {
namespace {

// A block of C that fills the registers: `height` rows of two vectors, beside two vectors of B and a number of A.
#if defined(__AVX512F__)
constexpr std::int64_t vector_bytes = 64, height = 14;
#else
constexpr std::int64_t vector_bytes = 32, height = 6;
#endif
template <class T>
constexpr std::int64_t width = 2 * vector_bytes / static_cast<std::int64_t>(sizeof(T));

// Of A (m x k) and B (k x n), what is multiplied at a time: a strip of B, depth x width, stays in the first cache, rows of
// A in the second.
constexpr std::int64_t depth = 256, rows_a_part = 24 * height, columns_a_part = 512;

// memcpy() in the widest registers; g++ takes narrower ones.
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

// The first `count` of at most n elements; where that is half or more, in two copies of a known size that overlap.
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

// C = alpha A B + beta C for `rows` rows and the first `columns` of B's `width<T>`: B (k x width), dense.
template <class T, std::int64_t rows>
void multiply_block(std::int64_t k, Matrix<T> A, const T* B, T alpha, T beta, T* C, std::int64_t ldc,
                    std::int64_t columns) {
  typedef T Vector __attribute__((vector_size(vector_bytes)));
  constexpr std::int64_t half = width<T> / 2;
  Vector sums[rows][2];
  const T* a[rows];
  for (std::int64_t i = 0; i < rows; ++i) {
    sums[i][0] = sums[i][1] = Vector{};
    a[i] = A.data + i * A.row_stride;
  }
  for (std::int64_t p = 0; p < k; ++p) {
    Vector left, right;
    std::memcpy(&left, B + p * width<T>, sizeof left);
    std::memcpy(&right, B + p * width<T> + half, sizeof right);
#pragma GCC unroll 16
    for (std::int64_t i = 0; i < rows; ++i) {
      const T x = a[i][p * A.column_stride];
      sums[i][0] += x * left;
      sums[i][1] += x * right;
    }
  }
  if (columns < width<T>) {
    T values[rows][width<T>];
    std::memcpy(values, sums, sizeof values);
    for (std::int64_t i = 0; i < rows; ++i) {
      T before[width<T>] = {};
      if (beta != T{0}) copy_row<T, width<T>>(C + i * ldc, before, columns);
      for (std::int64_t j = 0; j < width<T>; ++j) values[i][j] = alpha * values[i][j] + beta * before[j];
      copy_row<T, width<T>>(values[i], C + i * ldc, columns);
    }
    return;
  }
#pragma GCC unroll 16
  for (std::int64_t i = 0; i < rows; ++i) {
#pragma GCC unroll 2
    for (std::int64_t h = 0; h < 2; ++h) {
      T* to = C + i * ldc + h * half;
      Vector y = alpha * sums[i][h];
      if (beta != T{0}) {
        Vector before;
        std::memcpy(&before, to, sizeof before);
        y += beta * before;
      }
      std::memcpy(to, &y, sizeof y);
    }
  }
}

template <class T, std::int64_t rows = height, class... Arguments>
void multiply_rows(std::int64_t count, Arguments... arguments) {
  if constexpr (rows > 1) {
    if (count < rows) return multiply_rows<T, rows - 1>(count, arguments...);
  }
  multiply_block<T, rows>(arguments...);
}

template <int... lanes, class Vector>
Vector shuffle(Vector a, Vector b) {
  return __builtin_shufflevector(a, b, lanes...);
}

// to[j * stride + i] = from[i][j] for 8 x 8 floats: pairs, pairs of pairs, halves. (Of loops that g++ unrolls by itself, it
// does so too late to keep the arrays in registers.)
void transpose_square(const float* const* from, float* to, std::int64_t stride) {
  typedef float Vector __attribute__((vector_size(32)));
  Vector x[8], y[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) std::memcpy(&x[i], from[i], sizeof x[i]);
#pragma GCC unroll 8
  for (int i = 0; i < 8; i += 2) {
    y[i] = shuffle<0, 8, 1, 9, 4, 12, 5, 13>(x[i], x[i + 1]);
    y[i + 1] = shuffle<2, 10, 3, 11, 6, 14, 7, 15>(x[i], x[i + 1]);
  }
#pragma GCC unroll 8
  for (int i = 0; i < 8; i += 4) {
#pragma GCC unroll 8
    for (int j = i; j < i + 2; ++j) {
      x[2 * j - i] = shuffle<0, 1, 8, 9, 4, 5, 12, 13>(y[j], y[j + 2]);
      x[2 * j - i + 1] = shuffle<2, 3, 10, 11, 6, 7, 14, 15>(y[j], y[j + 2]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < 4; ++i) {
    y[i] = shuffle<0, 1, 2, 3, 8, 9, 10, 11>(x[i], x[i + 4]);
    y[i + 4] = shuffle<4, 5, 6, 7, 12, 13, 14, 15>(x[i], x[i + 4]);
  }
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) std::memcpy(to + i * stride, &y[i], sizeof y[i]);
}

// X (k x n) in strips of `strip` columns, each dense; what is past the last column is not used.
template <class T, std::int64_t strip>
void pack(std::int64_t k, std::int64_t n, Matrix<T> X, T* to) {
  constexpr std::int64_t square = 8;
  for (std::int64_t first = 0; first < n; first += strip, to += k * strip) {
    const std::int64_t columns = std::min(strip, n - first);
    const T* from = X.data + first * X.column_stride;
    if (X.column_stride == 1) {
      for (std::int64_t p = 0; p < k; ++p) copy_row<T, strip>(from + p * X.row_stride, to + p * strip, columns);
      continue;
    }
    std::int64_t p = 0;
    if constexpr (strip % square == 0 && sizeof(T) == 4) {
      for (; X.row_stride == 1 && p + square <= k; p += square) {
        for (std::int64_t j = 0; j < strip; j += square) {
          const T* column[square];
          for (std::int64_t i = 0; i < square; ++i) {
            column[i] = from + p + std::min(j + i, columns - 1) * X.column_stride;
          }
          transpose_square(column, to + p * strip + j, strip);
        }
      }
    }
    for (; p < k; ++p) {
      for (std::int64_t j = 0; j < columns; ++j) to[p * strip + j] = from[p * X.row_stride + j * X.column_stride];
    }
  }
}

}  // namespace

template <class T>
void small_gemm(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, Matrix<T> A, Matrix<T> B, T beta, T* C,
                std::int64_t ldc) {
  static thread_local std::vector<T> room(static_cast<std::size_t>(depth * (columns_a_part + rows_a_part)));
  T *const packed_B = room.data(), *const packed_A = packed_B + depth * columns_a_part;
  for (std::int64_t j = 0; j < n; j += columns_a_part) {
    const std::int64_t columns = std::min(columns_a_part, n - j);
    for (std::int64_t p = 0; p < k; p += depth) {
      const std::int64_t inner = std::min(depth, k - p);
      Matrix<T> part_B = B;
      part_B.data += p * B.row_stride + j * B.column_stride;
      pack<T, width<T>>(inner, columns, part_B, packed_B);
      for (std::int64_t i = 0; i < m; i += rows_a_part) {
        const std::int64_t rows = std::min(rows_a_part, m - i);
        Matrix<T> part_A = A;
        part_A.data += i * A.row_stride + p * A.column_stride;
        std::int64_t step = height * A.row_stride;       // from one block's rows to the next one's
        if (A.column_stride != 1 && n > 4 * width<T>) {  // fewer columns do not repay it
          pack<T, height>(inner, rows, {part_A.data, A.column_stride, A.row_stride}, packed_A);
          part_A = {packed_A, 1, height};
          step = height * inner;
        }
        for (std::int64_t c = 0; c < columns; c += width<T>) {
          for (std::int64_t r = 0; r < rows; r += height) {
            const Matrix<T> block_A{part_A.data + r / height * step, part_A.row_stride, part_A.column_stride};
            multiply_rows<T>(std::min(height, rows - r), inner, block_A, packed_B + c * inner, alpha,
                             p == 0 ? beta : T{1}, C + (i + r) * ldc + j + c, ldc, std::min(width<T>, columns - c));
          }
        }
      }
    }
  }
}

template void small_gemm(std::int64_t, std::int64_t, std::int64_t, float, Matrix<float>, Matrix<float>, float, float*,
                         std::int64_t);
template void small_gemm(std::int64_t, std::int64_t, std::int64_t, double, Matrix<double>, Matrix<double>, double,
                         double*, std::int64_t);

}  // namespace heed
