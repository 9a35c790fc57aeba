#include "autograd/cpu/blocked_gemm.h"

#include "autograd/cpu/vector_bytes.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace heed::cpu {
namespace {

// The words are BLIS's (Van Zee & van de Geijn 2015, "BLIS: a framework for rapidly instantiating BLAS functionality"):
//   micro-tile   MR x NR of C, in registers for a whole sum over k: MR rows of two vectors
//   micro-panel  KC x NR of B, dense, in the first cache while all rows of the block of A pass by it
//   block        MC x KC of A, in the second cache
// MR: as many rows as leave registers for two vectors of B and for the numbers of A: of 16 with AVX2, of 32 elsewhere (with
// 14 rows for NEON, g++ keeps some in memory).
#if defined(__AVX512F__)
constexpr std::int64_t MR = 14, MC = 48 * MR;
#elif defined(__AVX__)
constexpr std::int64_t MR = 6, MC = 48 * MR;
#else
constexpr std::int64_t MR = 12, MC = 24 * MR;
#endif
// Seen on Sapphire Rapids and Zen 3: with vectors of 64 bytes, a micro-tile of one vector for the last columns pays, and
// prefetching A costs 12 %; with shorter ones, cold products are 5 to 25 % faster with it.
constexpr bool long_vectors = vector_bytes == 64;
template <class T>
constexpr std::int64_t NR = 2 * vector_bytes / static_cast<std::int64_t>(sizeof(T));
constexpr std::int64_t KC = 256;

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
  T at(std::int64_t i, std::int64_t) const { return dense_rows ? (i % 2 ? odd_ : even_)[apart_[i / 2]] : even_[i]; }
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

// Values in a row of the squares that are transposed in registers.
template <class T>
constexpr int square = std::min<std::int64_t>(vector_bytes, 32) / static_cast<std::int64_t>(sizeof(T));

// Of the 2 x 2 blocks of d x d values that rows a and b, d apart, hold beside each other: exchanges the two that are off the
// diagonal.
template <int d, class Vector, int... lane>
[[gnu::always_inline]] inline void exchange(Vector& a, Vector& b, std::integer_sequence<int, lane...>) {
  constexpr int n = sizeof...(lane);
  const Vector first = __builtin_shufflevector(a, b, ((lane & d) ? n + lane - d : lane)...);
  b = __builtin_shufflevector(a, b, ((lane & d) ? n + lane : lane + d)...);
  a = first;
}

// (a0 a1 a2 a3, b0 b1 b2 b3) -> (a0 b0 a1 b1, a2 b2 a3 b3) in each 4 lanes: one instruction each, which exchange<1> of
// floats is not on x86.
template <class Vector, int... lane>
[[gnu::always_inline]] inline void zip(Vector& a, Vector& b, std::integer_sequence<int, lane...>) {
  constexpr int n = sizeof...(lane);
  const Vector first = __builtin_shufflevector(a, b, (lane / 4 * 4 + lane % 4 / 2 + lane % 2 * n)...);
  b = __builtin_shufflevector(a, b, (lane / 4 * 4 + lane % 4 / 2 + lane % 2 * n + 2)...);
  a = first;
}

// to[j * stride + i] = from[i][j] for i, j < square<T>. (Of loops that g++ unrolls by itself, it does so too late to keep
// the array in registers.)
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

// X (k x n) in micro-panels of `width` columns, each dense; what is past the last column is not used.
template <class T, std::int64_t width>
void pack(std::int64_t k, std::int64_t n, Matrix<T> X, T* to) {
  if (X.column_stride == 1) {
    constexpr std::int64_t rows_at_a_time = 16;  // their lines, each of several panels, stay in the first cache
    constexpr std::int64_t vectors = (width * sizeof(T) + vector_bytes - 1) / vector_bytes * vector_bytes / sizeof(T);
    for (std::int64_t begin = 0; begin < k; begin += rows_at_a_time) {
      const std::int64_t end = std::min(k, begin + rows_at_a_time);
      for (std::int64_t first = 0; first < n; first += width) {
        const T* from = X.data + first;
        T* const panel = to + first * k;
        std::int64_t p = begin;
        if (first + vectors <= n) {  // whole vectors: what is copied past a row's end, the next row overwrites
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
      for (; X.row_stride == 1 && p + square<T> <= k; p += square<T>) {
        for (std::int64_t j = 0; j < width; j += square<T>) {
          const T* column[square<T>];
          for (std::int64_t i = 0; i < square<T>; ++i) {
            column[i] = from + p + std::min(j + i, columns - 1) * X.column_stride;
          }
          transpose_square(column, to + p * width + j, width);
        }
      }
    }
    for (; p < k; ++p) {
      for (std::int64_t j = 0; j < columns; ++j) to[p * width + j] = from[p * X.row_stride + j * X.column_stride];
    }
  }
}

// A block of A (m x k) as micro-panels of MR rows, `step` elements apart: where A lies, or packed into `workspace`.
template <class T>
struct Block {
  Matrix<T> panel;  // the first
  std::int64_t step;
  std::int64_t ahead = 0;  // elements to the panel that is worth prefetching: of A where it lies, the next one

  Block(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<T> A, T* workspace) : panel(A), step(MR * A.row_stride) {
    // Packed where the columns of C are enough to repay it: rows of A that are columns in memory, and those so far apart
    // that they would share a few lines of the cache.
    if (A.column_stride != 1 && n > 4 * NR<T>) {
      pack<T, MR>(k, m, {A.data, A.column_stride, A.row_stride}, workspace);
      panel = {workspace, 1, MR};
      step = MR * k;
    } else if (A.column_stride == 1 && A.row_stride > k && A.row_stride % (16 * line<T>) == 0 && n >= 12 * NR<T>) {
      panel = {workspace, k + line<T>, 1};
      step = MR * panel.row_stride;
      for (std::int64_t i = 0; i < m; ++i) std::copy_n(A.data + i * A.row_stride, k, workspace + i * panel.row_stride);
    } else {
      ahead = step;
    }
  }
};

// Prefetches lines [from, from + count) of the k in which a micro-panel of B lies.
template <class T>
void prefetch_panel(Matrix<T> B, std::int64_t from, std::int64_t count) {
  if (B.column_stride == 1) {
    for (std::int64_t i = from; i < from + count; ++i) __builtin_prefetch(B.data + i * B.row_stride);
  } else {
    for (std::int64_t i = from; i < from + count; ++i) {
      __builtin_prefetch(B.data + i / NR<T> * NR<T> * B.row_stride + i % NR<T> * B.column_stride);
    }
  }
}

template <class T>
struct alignas(line_bytes) Workspace {
  T panel[KC * NR<T>];           // of B
  T block[MC * (KC + line<T>)];  // of A
};

}  // namespace

template <class T>
void blocked_gemm(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, Matrix<T> A, Matrix<T> B, T beta, T* C,
                  std::int64_t ldc) {
  static thread_local const auto workspace = std::make_unique<Workspace<T>>();
  const std::int64_t step_k = equal_parts(k, KC, 8), step_m = equal_parts(m, MC, MR);
  for (std::int64_t p = 0; p < k; p += step_k) {
    const std::int64_t kc = std::min(step_k, k - p);
    for (std::int64_t i = 0; i < m; i += step_m) {
      const std::int64_t mc = std::min(step_m, m - i);
      const Block<T> block(mc, n, kc, {A.data + i * A.row_stride + p * A.column_stride, A.row_stride, A.column_stride},
                           workspace->block);
      for (std::int64_t j = 0; j < n; j += NR<T>) {
        const std::int64_t columns = std::min(NR<T>, n - j);
        Matrix<T> panel{B.data + p * B.row_stride + j * B.column_stride, B.row_stride, B.column_stride};
        const bool narrow = long_vectors && columns <= NR<T> / 2;
        const std::int64_t width = narrow ? NR<T> / 2 : NR<T>;
        const bool unpacked = mc <= MR && B.column_stride == 1 && columns == width;  // used once: not worth a copy
        const T* const packed = unpacked ? panel.data : workspace->panel;
        const std::int64_t ldb = unpacked ? B.row_stride : width;
        if (!unpacked) (narrow ? pack<T, NR<T> / 2> : pack<T, NR<T>>)(kc, columns, panel, workspace->panel);
        panel.data += NR<T> * B.column_stride;  // the next one, prefetched bit by bit
        const std::int64_t lines = j + NR<T> < n ? (kc * MR + mc - 1) / mc : 0;
        const std::int64_t ahead = j == 0 ? block.ahead : 0;
        Matrix<T> rows = block.panel;
        for (std::int64_t r = 0; r < mc; r += MR, rows.data += block.step) {
          prefetch_panel(panel, r / MR * lines, lines);
          const auto multiply = [&](auto vectors) {
            multiply_micro_tile<T, vectors>(std::min(MR, mc - r), kc, rows, ahead, packed, ldb, alpha,
                                            p == 0 ? beta : T{1}, C + (i + r) * ldc + j, ldc, columns);
          };
          if constexpr (long_vectors) {
            narrow ? multiply(std::integral_constant<int, 1>{}) : multiply(std::integral_constant<int, 2>{});
          } else {
            multiply(std::integral_constant<int, 2>{});
          }
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
