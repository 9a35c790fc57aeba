#pragma once
#include "autograd/cpu/blas.h"
#include "autograd/cpu/vector_bytes.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

// The innermost loops of blocked_gemm(): a micro-tile of C, MR x NR, in registers for a whole sum over k.
namespace heed::cpu {

// MR: as many rows as leave registers for two vectors of B and for the numbers of A: of 16 with AVX2, of 32 elsewhere (with
// 14 rows for NEON, g++ keeps some in memory).
constexpr std::int64_t MR = vector_bytes == 64 ? 14 : vector_bytes == 32 ? 6 : 12;
// Seen on Sapphire Rapids and Zen 3: with vectors of 64 bytes, a micro-tile of one vector for the last columns pays, and
// prefetching A costs 12 %; with shorter ones, cold products are 5 to 25 % faster with it.
constexpr bool long_vectors = vector_bytes == 64;
template <class T>
constexpr std::int64_t NR = 2 * vector_bytes / static_cast<std::int64_t>(sizeof(T));

constexpr std::int64_t line_bytes = 64;
template <class T>
constexpr std::int64_t line = line_bytes / static_cast<std::int64_t>(sizeof(T));

// The first `count` of a vector's values: read, the others 0, and written.
#if defined(__AVX512F__)
template <class T, class Vector>
void load_first(const T* from, Vector& values, std::int64_t count) {
  const auto mask = (1u << count) - 1;
  if constexpr (sizeof(T) == 4) {
    values = reinterpret_cast<Vector>(_mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), from));
  } else {
    values = reinterpret_cast<Vector>(_mm512_maskz_loadu_pd(static_cast<__mmask8>(mask), from));
  }
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
void store_first(const Vector& values, T* to, std::int64_t count) {  // by halves
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

// A micro-panel of A, (rows x k), from whose columns a micro-kernel takes number after number; each step goes one column on.
#if defined(__AVX512F__)
// A pointer to each of 14 rows is more than there are registers: but where rows are dense, two rows and multiples of two
// rows reach every one, and where columns are, one pointer does.
template <class T, std::int64_t rows, bool dense_rows>
class Panel {
 public:
  explicit Panel(Matrix<T> A) : even_(A.data), odd_(A.data + A.row_stride), step_(dense_rows ? 1 : A.column_stride) {
#pragma GCC unroll 8
    for (std::int64_t i = 0; i < pairs; ++i) {
      apart_[i] = 2 * i * A.row_stride;
      asm("" : "+r"(apart_[i]));  // else g++ sees what it is, and makes pointers to rows of it
    }
  }
  T at(std::int64_t i, std::int64_t) const {
    if (!dense_rows) return even_[i];
    const T* const pair = i % 2 ? odd_ : even_;  // by itself: under -fsanitize=shift g++ 12 gets (b ? p : q)[i] wrong
    return pair[apart_[i / 2]];
  }
  void step() { even_ += step_, odd_ += step_; }

 private:
  static constexpr std::int64_t pairs = (rows + 1) / 2;
  const T *even_, *odd_;
  std::int64_t step_, apart_[pairs];
};
#else
template <class T, std::int64_t rows, bool>
class Panel {
 public:
  explicit Panel(Matrix<T> A) : step_(A.column_stride) {
    for (std::int64_t i = 0; i < rows; ++i) row_[i] = A.data + i * A.row_stride;
  }
  T at(std::int64_t i, std::int64_t p) const { return row_[i][p * step_]; }
  void step() {}

 private:
  const T* row_[rows];
  std::int64_t step_;
};
#endif

// The micro-kernel: C = alpha A B + beta C for `rows` rows and the first `columns` of B's `vectors`: A (rows x k), B (k x NR).
// With `prefetch`, the cache lines of C are prefetched, and those of A that lie `ahead` elements on.
template <class T, std::int64_t rows, int vectors, bool dense_rows, bool prefetch>
void micro_kernel(std::int64_t k, Matrix<T> A, std::int64_t ahead, const T* B, std::int64_t ldb, T alpha, T beta, T* C,
                  std::int64_t ldc, std::int64_t columns) {
  typedef T Vector __attribute__((vector_size(vector_bytes)));
  constexpr std::int64_t width = NR<T> / 2;
  Vector sums[rows][vectors];
  for (auto& row : sums) {
    for (Vector& sum : row) sum = Vector{};
  }
  if constexpr (prefetch) {
    const bool two_lines =
        (reinterpret_cast<std::uintptr_t>(C) | static_cast<std::uintptr_t>(ldc) * sizeof(T)) % line_bytes;
#pragma GCC unroll 16
    for (std::int64_t i = 0; i < rows; ++i) __builtin_prefetch(C + i * ldc, 1);
#pragma GCC unroll 16
    for (std::int64_t i = 0; two_lines && i < rows; ++i) __builtin_prefetch(C + i * ldc + columns - 1, 1);
  }
  Panel<T, rows, dense_rows> a(A);
  for (std::int64_t begin = 0, end; begin < k; begin = end) {
    end = prefetch ? std::min(k, begin + line<T>) : k;
    if constexpr (prefetch) {
#pragma GCC unroll 16
      for (std::int64_t i = 0; i < rows; ++i) {
        __builtin_prefetch(A.data + (i * A.row_stride + begin * A.column_stride + ahead));
      }
    }
    for (std::int64_t p = begin; p < end; ++p, a.step()) {
      Vector b[vectors];
#pragma GCC unroll 2
      for (std::int64_t v = 0; v < vectors; ++v) std::memcpy(&b[v], B + p * ldb + v * width, sizeof b[v]);
#pragma GCC unroll 16
      for (std::int64_t i = 0; i < rows; ++i) {
        const T x = a.at(i, p);
#pragma GCC unroll 2
        for (std::int64_t v = 0; v < vectors; ++v) sums[i][v] += x * b[v];
      }
    }
  }
  const auto store = [&](auto whole) {
#pragma GCC unroll 16
    for (std::int64_t i = 0; i < rows; ++i) {
#pragma GCC unroll 2
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

template <class T, int vectors, std::int64_t rows = MR, class... Arguments>
void multiply_micro_tile(std::int64_t count, std::int64_t k, Matrix<T> A, Arguments... arguments) {
  if constexpr (rows > 1) {
    if (count < rows) return multiply_micro_tile<T, vectors, rows - 1>(count, k, A, arguments...);
  }
  if constexpr (!long_vectors && rows == MR) {
    constexpr std::int64_t long_sum = 32;  // below, prefetching takes longer than it saves
    if (k >= long_sum) return micro_kernel<T, rows, vectors, true, true>(k, A, arguments...);
  }
  if constexpr (long_vectors) {
    if (A.column_stride != 1 && k > 1) return micro_kernel<T, rows, vectors, false, false>(k, A, arguments...);
  }
  micro_kernel<T, rows, vectors, true, false>(k, A, arguments...);
}

}  // namespace heed::cpu
