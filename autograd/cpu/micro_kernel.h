#pragma once
#include "autograd/cpu/matrix.h"
#include "autograd/cpu/vector_bytes.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

// The innermost loops of blocked_gemm(). They keep a micro-tile of C, MR x NR, in registers for a whole sum over k.
namespace heed::cpu {

// MR is the number of rows that fits into the registers beside two vectors of B and the values of A, out of 16
// registers with AVX2 and 32 elsewhere. (With 14 rows for NEON, g++ spills some to memory.)
constexpr std::int64_t MR = vector_bytes == 64 ? 14 : vector_bytes == 32 ? 6 : 12;
// On Sapphire Rapids and Zen 3 with vectors of 64 bytes, a micro-tile of one vector for the last columns is faster.
constexpr bool long_vectors = vector_bytes == 64;
template <class T>
constexpr std::int64_t NR = 2 * vector_bytes / static_cast<std::int64_t>(sizeof(T));

// Returns the length of equal parts of `size`, none longer than `most`. Several parts have a multiple of `unit` as
// length, like `most`.
inline std::int64_t equal_parts(std::int64_t size, std::int64_t most, std::int64_t unit) {
  if (size <= most) return size;
  const std::int64_t parts = (size + most - 1) / most;
  return (size + parts * unit - 1) / (parts * unit) * unit;
}

template <class T>
constexpr std::int64_t line = line_bytes / static_cast<std::int64_t>(sizeof(T));

// Read and write the first `count` values of a vector. Reading sets the others to 0.
#if defined(__AVX512F__)
template <class T, class Vector>
void load_masked(const T* from, Vector& values, unsigned mask) {
  if constexpr (sizeof(T) == 4) {
    values = reinterpret_cast<Vector>(_mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), from));
  } else {
    values = reinterpret_cast<Vector>(_mm512_maskz_loadu_pd(static_cast<__mmask8>(mask), from));
  }
}
template <class T, class Vector>
void load_first(const T* from, Vector& values, std::int64_t count) {
  load_masked(from, values, (1u << count) - 1);
}
template <class T, class Vector>
void store_first(const Vector& values, T* to, std::int64_t count) {
  const auto mask = (1u << count) - 1;
  if constexpr (sizeof(T) == 4) {
    _mm512_mask_storeu_ps(to, static_cast<__mmask16>(mask), reinterpret_cast<__m512>(values));
  } else {
    _mm512_mask_storeu_pd(to, static_cast<__mmask8>(mask), reinterpret_cast<__m512d>(values));
  }
}
#else
template <class T, class Vector>
void load_first(const T* from, Vector& values, std::int64_t count) {
  values = Vector{};
  for (std::int64_t j = 0; j < count; ++j) values[j] = from[j];
}
template <class T, class Vector>
void store_first(const Vector& values, T* to, std::int64_t count) {  // in halves
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
#endif

// Prefetches the cache lines of a panel X (k x width) that is needed soon: an equal share of them during each of `tiles`
// micro-tiles, one per step of k, because prefetching all at once would stall. X has dense rows, which are at most NR
// long, or dense columns, which are fetched NR numbers at a time.
template <class T>
class Ahead {
 public:
  Ahead() = default;
  Ahead(std::int64_t k, std::int64_t width, const Matrix<T>& X, std::int64_t tiles) : at_(X.data) {
    const bool dense_rows = X.column_stride == 1;
    columns_ = dense_rows ? 1 : width;
    across_ = X.column_stride;
    down_ = dense_rows ? X.row_stride : NR<T> * X.row_stride;
    const std::int64_t places = dense_rows ? k : (k + NR<T> - 1) / NR<T> * width;
    share_ = (places + tiles - 1) / tiles;
  }

  std::int64_t share() const { return share_; }
  // g++ 12 drops calls of a function that only prefetches, so these are inlined.
  [[gnu::always_inline]] void fetch_next() {
    fetch(at_ + column_ * across_);
    if (++column_ == columns_) {
      column_ = 0;
      at_ += down_;
    }
  }
  [[gnu::always_inline]] static void fetch(const T* numbers) {  // NR of them
    __builtin_prefetch(numbers);
    if constexpr (NR<T> / line<T> == 2) __builtin_prefetch(numbers + line<T>);
  }

 private:
  const T* at_ = nullptr;
  std::int64_t column_ = 0, columns_ = 1, across_ = 0, down_ = 0, share_ = 0;
};

// Rows that are equally far apart, and rows that lie where `offsets` says.
template <class T>
struct EqualRows {
  const T* first;
  std::int64_t step;
  const T* operator[](std::int64_t p) const { return first + p * step; }
};
template <class T>
struct RowsAt {
  const T* first;
  const std::int64_t* offsets;
  const T* operator[](std::int64_t p) const { return first + offsets[p]; }
};

// The micro-kernel: C = alpha A B + beta C for `rows` rows and the first `columns` columns of B's `vectors`: A (rows x
// k), B (k x NR), given by its rows. A is a Matrix with dense rows, or given by its columns, which are dense. `ahead` is
// used with `fetches`.
template <class T, std::int64_t rows, int vectors, bool fetches, class OfA, class Rows>
void micro_kernel(std::int64_t k, OfA A, Ahead<T>* ahead, Rows B, T alpha, T beta, T* C, std::int64_t ldc,
                  std::int64_t columns) {
  constexpr bool dense_rows = std::is_same_v<OfA, Matrix<T>>;
  typedef T Vector __attribute__((vector_size(vector_bytes)));
  constexpr std::int64_t width = NR<T> / 2;
  Vector sums[rows][vectors];
  for (auto& row : sums) {
    for (Vector& sum : row) sum = Vector{};
  }
  // Pointers to all 14 rows would exceed the registers. A pointer to every fourth row reaches the rows between at once
  // and three times the row distance.
  const T *row0 = nullptr, *row4 = nullptr, *row8 = nullptr, *row12 = nullptr;
  std::int64_t one = 0, three = 0;
  if constexpr (dense_rows) {
    one = A.row_stride, three = 3 * one;
    row0 = A.data, row4 = row0 + 4 * one, row8 = row4 + 4 * one, row12 = row8 + 4 * one;
#if defined(__x86_64__)
    // otherwise g++ recognises the pattern and makes pointers to all rows
    asm("" : "+r"(three), "+r"(row4), "+r"(row8), "+r"(row12));
#endif
  }
  const auto multiply_add = [&](std::int64_t p) __attribute__((always_inline)) {
    Vector b[vectors];
    const T* const row_of_b = B[p];
#pragma GCC unroll 4
    for (std::int64_t v = 0; v < vectors; ++v) std::memcpy(&b[v], row_of_b + v * width, sizeof b[v]);
    if constexpr (!dense_rows) row0 = A[p];
#pragma GCC unroll 16
    for (std::int64_t i = 0; i < rows; ++i) {
      const T* const row = !dense_rows || i < 4 ? row0 : i < 8 ? row4 : i < 12 ? row8 : row12;
      const T x = !dense_rows  ? row[i]
                  : i % 4 == 0 ? row[0]
                  : i % 4 == 1 ? row[one]
                  : i % 4 == 2 ? row[2 * one]
                               : row[three];
#pragma GCC unroll 4
      for (std::int64_t v = 0; v < vectors; ++v) sums[i][v] += x * b[v];
    }
    if constexpr (dense_rows) ++row0, ++row4, ++row8, ++row12;
  };
  std::int64_t p = 0;
  if constexpr (fetches) {
    // C first: while a store waits for its line, later prefetches wait too
    for (const std::int64_t end = std::min(k, rows); p < end; ++p) {
      ahead->fetch(C + p * ldc);
      __builtin_prefetch(C + p * ldc + NR<T> - 1);  // a further line if C is unaligned
      multiply_add(p);
    }
    for (const std::int64_t end = std::min(k, rows + ahead->share()); p < end; ++p) {
      ahead->fetch_next();
      multiply_add(p);
    }
  }
#pragma GCC unroll 4
  for (; p < k; ++p) multiply_add(p);
  const auto store = [&](auto whole) {
#pragma GCC unroll 16
    for (std::int64_t i = 0; i < rows; ++i) {
#pragma GCC unroll 4
      for (std::int64_t v = 0; v < vectors; ++v) {
        T* to = C + i * ldc + v * width;
        const std::int64_t count = std::clamp<std::int64_t>(columns - v * width, 0, width);
        Vector y = alpha * sums[i][v];
        if (beta != T{0}) {
          Vector before;
          if constexpr (whole) {
            std::memcpy(&before, to, sizeof before);
          } else {
            load_first(to, before, count);
          }
          y += beta * before;
        }
        if constexpr (whole) {
          std::memcpy(to, &y, sizeof y);
        } else {
          store_first(y, to, count);
        }
      }
    }
  };
  columns == (width * vectors) ? store(std::true_type{}) : store(std::false_type{});
}

// Computes C = A B + beta C for `count` rows, at most MR, where A is given by its columns.
template <class T, int vectors, std::int64_t rows = MR, class Columns, class Rows>
void multiply_columns(std::int64_t count, std::int64_t k, Columns A, Rows B, T beta, T* C, std::int64_t ldc) {
  if constexpr (rows > 1) {
    if (count < rows) return multiply_columns<T, vectors, rows - 1>(count, k, A, B, beta, C, ldc);
  }
  micro_kernel<T, rows, vectors, false>(k, A, nullptr, B, T{1}, beta, C, ldc, vectors * NR<T> / 2);
}

template <class T, int vectors, std::int64_t rows = MR, class... Arguments>
void multiply_micro_tile(std::int64_t count, std::int64_t k, Matrix<T> A, Ahead<T>* ahead, Arguments... arguments) {
  if constexpr (rows > 1) {
    if (count < rows) return multiply_micro_tile<T, vectors, rows - 1>(count, k, A, ahead, arguments...);
  }
  const EqualRows<T> columns{A.data, A.column_stride};
  const bool dense_rows = A.column_stride == 1 || k <= 1;
  if constexpr (rows == MR) {
    if (ahead && dense_rows) return micro_kernel<T, rows, vectors, true>(k, A, ahead, arguments...);
    if (ahead) return micro_kernel<T, rows, vectors, true>(k, columns, ahead, arguments...);
  }
  if (dense_rows) return micro_kernel<T, rows, vectors, false>(k, A, ahead, arguments...);
  micro_kernel<T, rows, vectors, false>(k, columns, ahead, arguments...);
}

}  // namespace heed::cpu
