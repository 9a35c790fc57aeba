#include "autograd/cpu/blocked_gemm.h"

#include <algorithm>
#include <cstring>
#include <memory>

namespace heed::cpu {
namespace {

// A block of C that fills the registers: `height` rows of two vectors, beside two vectors of B and a number of A.
#if defined(__AVX512F__)
constexpr std::int64_t vector_bytes = 64, height = 14;
#else
constexpr std::int64_t vector_bytes = 32, height = 6;
#endif
template <class T>
constexpr std::int64_t width = 2 * vector_bytes / static_cast<std::int64_t>(sizeof(T));

// Of A (m x k) and B (k x n), what is multiplied at a time: a strip of B, depth x width, and rows of A, rows x depth.
constexpr std::int64_t most_depth = 256, most_rows = 48 * height;

// `size` in as many equal parts as it takes for none to be longer than `most`: their length, where there are several a
// multiple of `unit`.
std::int64_t equal_parts(std::int64_t size, std::int64_t most, std::int64_t unit) {
  if (size <= most) return size;
  const std::int64_t parts = (size + most - 1) / most;
  return (size + parts * unit - 1) / (parts * unit) * unit;
}

constexpr std::int64_t line_bytes = 64;
template <class T>
constexpr std::int64_t line = line_bytes / static_cast<std::int64_t>(sizeof(T));

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

// The first `count` of a vector's values, by halves.
template <class T, class Vector>
void store_first(const Vector& values, T* to, std::int64_t count) {
  if constexpr (sizeof(Vector) == sizeof(T)) {
    if (count > 0) std::memcpy(to, &values, sizeof values);
  } else {
    constexpr std::int64_t n = sizeof(Vector) / sizeof(T) / 2;
    typedef T Half __attribute__((vector_size(sizeof(Vector) / 2)));
    Half halves[2];
    std::memcpy(halves, &values, sizeof values);
    if (count >= n) {
      std::memcpy(to, &halves[0], sizeof(Half));
      if (count > n) store_first<T>(halves[1], to + n, count - n);
    } else {
      store_first<T>(halves[0], to, count);
    }
  }
}

// C = alpha A B + beta C for `rows` rows and the first `columns` of B's `width<T>`: B (k x width). Where `fetch` is
// set, the lines of C are asked for before they are needed, and those `ahead` elements on in A.
template <class T, std::int64_t rows, bool fetch>
void multiply_block(std::int64_t k, Matrix<T> A, std::int64_t ahead, const T* B, std::int64_t ldb, T alpha, T beta,
                    T* C, std::int64_t ldc, std::int64_t columns) {
  typedef T Vector __attribute__((vector_size(vector_bytes)));
  constexpr std::int64_t half = width<T> / 2;
  Vector sums[rows][2];
  const T* a[rows];
  for (std::int64_t i = 0; i < rows; ++i) {
    sums[i][0] = sums[i][1] = Vector{};
    a[i] = A.data + i * A.row_stride;
  }
  if constexpr (fetch) {
    const bool two_lines =
        (reinterpret_cast<std::uintptr_t>(C) | static_cast<std::uintptr_t>(ldc) * sizeof(T)) % line_bytes;
#pragma GCC unroll 16
    for (std::int64_t i = 0; i < rows; ++i) __builtin_prefetch(C + i * ldc, 1);
#pragma GCC unroll 16
    for (std::int64_t i = 0; two_lines && i < rows; ++i) __builtin_prefetch(C + i * ldc + columns - 1, 1);
  }
  for (std::int64_t begin = 0, end; begin < k; begin = end) {
    end = fetch ? std::min(k, begin + line<T>) : k;
    if constexpr (fetch) {
#pragma GCC unroll 16
      for (std::int64_t i = 0; i < rows; ++i) __builtin_prefetch(a[i] + begin * A.column_stride + ahead);
    }
    for (std::int64_t p = begin; p < end; ++p) {
      Vector left, right;
      std::memcpy(&left, B + p * ldb, sizeof left);
      std::memcpy(&right, B + p * ldb + half, sizeof right);
#pragma GCC unroll 16
      for (std::int64_t i = 0; i < rows; ++i) {
        const T x = a[i][p * A.column_stride];
        sums[i][0] += x * left;
        sums[i][1] += x * right;
      }
    }
  }
  const auto store = [&](auto whole) {
#pragma GCC unroll 16
    for (std::int64_t i = 0; i < rows; ++i) {
#pragma GCC unroll 2
      for (std::int64_t h = 0; h < 2; ++h) {
        T* to = C + i * ldc + h * half;
        const std::int64_t count = std::clamp<std::int64_t>(columns - h * half, 0, half);
        Vector y = alpha * sums[i][h];
        if (beta != T{0}) {
          Vector before{};
          if constexpr (whole) {
            std::memcpy(&before, to, sizeof before);
          } else {
            for (std::int64_t j = 0; j < count; ++j) before[j] = to[j];
          }
          y += beta * before;
        }
        if constexpr (whole) {
          std::memcpy(to, &y, sizeof y);
        } else {
          store_first<T>(y, to, count);
        }
      }
    }
  };
  columns == width<T> ? store(std::true_type{}) : store(std::false_type{});
}

template <class T, std::int64_t rows = height, class... Arguments>
void multiply_rows(std::int64_t count, std::int64_t k, Arguments... arguments) {
  if constexpr (rows > 1) {
    if (count < rows) return multiply_rows<T, rows - 1>(count, k, arguments...);
  }
  if constexpr (rows == height) {
    constexpr std::int64_t long_sum = 32;  // below, asking early takes longer than it saves
    if (k >= long_sum) return multiply_block<T, rows, true>(k, arguments...);
  }
  multiply_block<T, rows, false>(k, arguments...);
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
  if (X.column_stride == 1) {
    constexpr std::int64_t rows_at_a_time = 16;  // whose lines, each of several strips, stay in the cache
    constexpr std::int64_t vectors = (strip * sizeof(T) + vector_bytes - 1) / vector_bytes * vector_bytes / sizeof(T);
    for (std::int64_t begin = 0; begin < k; begin += rows_at_a_time) {
      const std::int64_t end = std::min(k, begin + rows_at_a_time);
      for (std::int64_t first = 0; first < n; first += strip) {
        const T* from = X.data + first;
        T* const strip_to = to + first * k;
        std::int64_t p = begin;
        if (first + vectors <= n) {  // what is copied too much of a row, the next one covers
          for (; p < std::min(end, k - 1); ++p) {
            copy<vectors * sizeof(T)>(from + p * X.row_stride, strip_to + p * strip);
          }
        }
        for (; p < end; ++p) {
          copy_row<T, strip>(from + p * X.row_stride, strip_to + p * strip, std::min(strip, n - first));
        }
      }
    }
    return;
  }
  constexpr std::int64_t square = 8;
  for (std::int64_t first = 0; first < n; first += strip, to += k * strip) {
    const std::int64_t columns = std::min(strip, n - first);
    const T* from = X.data + first * X.column_stride;
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

// The rows of A that are multiplied at a time, as blocks of `height` of them, `step` elements apart.
template <class T>
struct Rows {
  Matrix<T> first;
  std::int64_t step;
  std::int64_t ahead = 0;  // to the block worth asking for early: where A itself is read, the next one

  Rows(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<T> A, T* room) : first(A), step(height * A.row_stride) {
    // Packed where the columns of C are enough to repay it: rows of A that are columns in memory, and those that would
    // share a few lines of the cache.
    if (A.column_stride != 1 && n > 4 * width<T>) {
      pack<T, height>(k, m, {A.data, A.column_stride, A.row_stride}, room);
      first = {room, 1, height};
      step = height * k;
    } else if (A.column_stride == 1 && A.row_stride > k && A.row_stride % (16 * line<T>) == 0 && n >= 12 * width<T>) {
      first = {room, k + line<T>, 1};
      step = height * first.row_stride;
      for (std::int64_t i = 0; i < m; ++i) std::copy_n(A.data + i * A.row_stride, k, room + i * first.row_stride);
    } else {
      ahead = step;
    }
  }
};

// Asks for lines [from, from + count) of the k in which a strip of B lies.
template <class T>
void fetch_strip(Matrix<T> B, std::int64_t from, std::int64_t count) {
  if (B.column_stride == 1) {
    for (std::int64_t i = from; i < from + count; ++i) __builtin_prefetch(B.data + i * B.row_stride);
  } else {
    for (std::int64_t i = from; i < from + count; ++i) {
      __builtin_prefetch(B.data + i / width<T> * width<T> * B.row_stride + i % width<T> * B.column_stride);
    }
  }
}

template <class T>
struct alignas(line_bytes) Room {
  T strip[most_depth * width<T>];
  T rows[most_rows * (most_depth + line<T>)];
};

}  // namespace

template <class T>
void blocked_gemm(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, Matrix<T> A, Matrix<T> B, T beta, T* C,
                  std::int64_t ldc) {
  static thread_local const auto room = std::make_unique<Room<T>>();
  const std::int64_t part_k = equal_parts(k, most_depth, 8), part_m = equal_parts(m, most_rows, height);
  for (std::int64_t p = 0; p < k; p += part_k) {
    const std::int64_t depth = std::min(part_k, k - p);
    for (std::int64_t i = 0; i < m; i += part_m) {
      const std::int64_t count = std::min(part_m, m - i);
      const Rows<T> rows(count, n, depth,
                         {A.data + i * A.row_stride + p * A.column_stride, A.row_stride, A.column_stride}, room->rows);
      for (std::int64_t j = 0; j < n; j += width<T>) {
        const std::int64_t columns = std::min(width<T>, n - j);
        Matrix<T> strip{B.data + p * B.row_stride + j * B.column_stride, B.row_stride, B.column_stride};
        const bool in_place = count <= height && B.column_stride == 1 && columns == width<T>;
        const T* const packed = in_place ? strip.data : room->strip;
        const std::int64_t ldb = in_place ? B.row_stride : width<T>;
        if (!in_place) pack<T, width<T>>(depth, columns, strip, room->strip);
        strip.data += width<T> * B.column_stride;
        const std::int64_t lines = j + width<T> < n ? (depth * height + count - 1) / count : 0;
        const std::int64_t ahead = j == 0 ? rows.ahead : 0;
        Matrix<T> block = rows.first;
        for (std::int64_t r = 0; r < count; r += height, block.data += rows.step) {
          fetch_strip(strip, r / height * lines, lines);
          multiply_rows<T>(std::min(height, count - r), depth, block, ahead, packed, ldb, alpha, p == 0 ? beta : T{1},
                           C + (i + r) * ldc + j, ldc, columns);
        }
      }
    }
  }
}

template void blocked_gemm(std::int64_t, std::int64_t, std::int64_t, float, Matrix<float>, Matrix<float>, float, float*,
                           std::int64_t);
template void blocked_gemm(std::int64_t, std::int64_t, std::int64_t, double, Matrix<double>, Matrix<double>, double,
                           double*, std::int64_t);

}  // namespace heed::cpu
