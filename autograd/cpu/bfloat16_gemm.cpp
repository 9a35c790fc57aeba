#include "autograd/cpu/bfloat16_gemm.h"

#include "autograd/cpu/matrix_unit.h"
#include "autograd/cpu/stream.h"
#include "autograd/cpu/thread_pool.h"
#include "autograd/cpu/units.h"

#include <heed/autograd/profile.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

namespace heed::cpu {
namespace {

// Smaller products gain nothing from a unit.
constexpr bool is_large(std::int64_t m, std::int64_t n, std::int64_t k) { return k >= 16 && m * n * k >= 1 << 17; }

// Returns rows x columns of X, rounded, as a dense copy with rows or columns dense as in X. It is valid until the thread's next call
// with the same `place`.
template <int place, class S>
Matrix<float> rounded(std::int64_t rows, std::int64_t columns, const Matrix<S>& X) {
  static thread_local std::vector<float> copy;
  copy.resize(std::max(copy.size(), static_cast<std::size_t>(rows * columns)));
  const bool by_rows = X.column_stride == 1 || (columns == 1 && X.row_stride != 1);
  const std::int64_t lines = by_rows ? rows : columns, length = by_rows ? columns : rows;
  const std::int64_t stride = by_rows ? X.row_stride : X.column_stride,
                     along = by_rows ? X.column_stride : X.row_stride;
  for (std::int64_t line = 0; line < lines; ++line) {
    const S* const from = X.data + line * stride;
    float* const to = copy.data() + line * length;
    for (std::int64_t i = 0; i < length; ++i) to[i] = from_bf16(to_bf16(from[i * along]));
  }
  return by_rows ? Matrix<float>{copy.data(), length, 1} : Matrix<float>{copy.data(), 1, length};
}

#ifdef HEED_LEVEL_4

constexpr std::int64_t KC = 32 * depth, MC = 16 * panel_lines;  // of a block of A, which stays in the second cache
constexpr std::int64_t max_packed = 1 << 16;                    // numbers of a task
constexpr std::int64_t step_pairs = 2 * tile_pairs;             // of two tiles: 32 lines of 32 numbers

constexpr __mmask32 first_words(std::int64_t count) {
  return static_cast<__mmask32>((std::uint64_t{1} << std::clamp<std::int64_t>(count, 0, 32)) - 1);
}
constexpr __mmask16 first_floats(std::int64_t count) {
  return static_cast<__mmask16>((std::uint32_t{1} << std::clamp<std::int64_t>(count, 0, 16)) - 1);
}

HEED_TARGET("avx512bf16")

// Returns up to 32 adjacent numbers, rounded, and zeros: 16 pairs of one line.
inline Pairs pairs_of_line(const float* from, std::int64_t count) {
  const __m512 x = _mm512_maskz_loadu_ps(first_floats(count), from);
  const __m512 y = _mm512_maskz_loadu_ps(first_floats(count - side), from + side);
  return reinterpret_cast<Pairs>(_mm512_cvtne2ps_pbh(y, x));
}
inline Pairs pairs_of_line(const BFloat16* from, std::int64_t count) {
  return reinterpret_cast<Pairs>(_mm512_maskz_loadu_epi16(first_words(count), from));
}

// Widens the words to pairs, as their first or second numbers. (Without a mask, g++ warns of the intrinsics' own variables.)
inline __m512i as_first(__m256i words) { return _mm512_maskz_cvtepu16_epi32(0xffff, words); }
inline __m512i as_second(__m256i words) { return _mm512_maskz_slli_epi32(0xffff, as_first(words), 16); }

// Returns the pairs (x[i], y[i]) of up to 16 lines; `has_second` false means y = 0.
inline Pairs pairs_of_lines(const float* x, const float* y, std::int64_t lines, bool has_second) {
  const __mmask16 used = first_floats(lines);
  const __m512i both = reinterpret_cast<__m512i>(
      _mm512_cvtne2ps_pbh(_mm512_maskz_loadu_ps(has_second ? used : __mmask16{0}, y), _mm512_maskz_loadu_ps(used, x)));
  return reinterpret_cast<Pairs>(as_first(_mm512_maskz_extracti64x4_epi64(0xff, both, 0)) |
                                 as_second(_mm512_maskz_extracti64x4_epi64(0xff, both, 1)));
}
inline Pairs pairs_of_lines(const BFloat16* x, const BFloat16* y, std::int64_t lines, bool has_second) {
  const __mmask16 used = first_floats(lines);
  return reinterpret_cast<Pairs>(as_first(_mm256_maskz_loadu_epi16(used, x)) |
                                 as_second(_mm256_maskz_loadu_epi16(has_second ? used : __mmask16{0}, y)));
}

// Packs up to 32 lines of up to 32 numbers as two tiles, as pack_tile() of split_gemm.cpp does. Reads whole rows of memory in turn.
template <bool by_lines, class S>
void pack_step(const Lines<S>& from, std::int64_t lines, std::int64_t numbers, std::uint32_t* to) {
  Pairs tiles[2][side];
  const bool dense_numbers = from.along == 1;
  for (std::int64_t i = 0; i < side; ++i) {
    for (std::int64_t t = 0; t < 2; ++t) {
      const std::int64_t rest = lines - t * side;
      if (dense_numbers) {
        tiles[t][i] = i < rest ? pairs_of_line(from.data + (t * side + i) * from.stride, numbers) : Pairs{};
      } else {
        const S* const x = from.data + 2 * i * from.along + t * side;
        tiles[t][i] = 2 * i < numbers ? pairs_of_lines(x, x + from.along, rest, 2 * i + 1 < numbers) : Pairs{};
      }
    }
  }
  if (dense_numbers != by_lines) {
    transpose(tiles[0]);
    transpose(tiles[1]);
  }
  std::memcpy(to, tiles, sizeof tiles);
}

// Packs up to 32 lines of `numbers` numbers.
template <bool by_lines, class S>
void pack_panel(const Lines<S>& from, std::int64_t lines, std::int64_t numbers, std::uint32_t* to) {
  for (std::int64_t p = 0; p < numbers; p += depth, to += step_pairs) {
    pack_step<by_lines>(from.at(0, p), lines, std::min(depth, numbers - p), to);
  }
}

// Computes C = A B, or adds A B to C: up to 32 rows of up to 32 columns, in whole tiles. Eight rows at a time, whose sums stay in
// registers.
void multiply_by_vectors(std::int64_t steps, const std::uint32_t* a, const std::uint32_t* b, bool adds, bool tall,
                         bool wide, float* C, std::int64_t ldc) {
  constexpr std::int64_t rows = 8;
  for (std::int64_t row = 0; row < (tall ? panel_lines : side); row += rows) {
    const std::uint32_t* x = a + row / side * tile_pairs + row % side * side;
    const std::uint32_t* y = b;
    float* const c = C + row * ldc;
    __m512 left[rows], right[rows];
#pragma GCC unroll 8
    for (std::int64_t i = 0; i < rows; ++i) {
      left[i] = adds ? _mm512_loadu_ps(c + i * ldc) : _mm512_setzero_ps();
      right[i] = adds && wide ? _mm512_loadu_ps(c + i * ldc + side) : _mm512_setzero_ps();
    }
    for (std::int64_t step = 0; step < steps; ++step, x += step_pairs, y += step_pairs) {
      for (std::int64_t p = 0; p < side; ++p) {
        const auto first = reinterpret_cast<__m512bh>(_mm512_loadu_si512(y + p * side));
        const auto second = reinterpret_cast<__m512bh>(_mm512_loadu_si512(y + tile_pairs + p * side));
#pragma GCC unroll 8
        for (std::int64_t i = 0; i < rows; ++i) {
          const auto pair = reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(x[i * side + p])));
          left[i] = _mm512_dpbf16_ps(left[i], pair, first);
          right[i] = _mm512_dpbf16_ps(right[i], pair, second);
        }
      }
    }
#pragma GCC unroll 8
    for (std::int64_t i = 0; i < rows; ++i) {
      _mm512_storeu_ps(c + i * ldc, left[i]);
      if (wide) _mm512_storeu_ps(c + i * ldc + side, right[i]);
    }
  }
}

HEED_END_TARGET
HEED_TARGET("amx-tile,amx-bf16")

// As multiply_by_vectors(), on tiles.
void multiply_by_tiles(std::int64_t steps, const std::uint32_t* a, const std::uint32_t* b, bool adds, bool tall,
                       bool wide, float* C, std::int64_t ldc) {
  const std::int64_t bytes = ldc * 4;
  float* const lower = C + side * ldc;
  if (adds) {
    _tile_loadd(0, C, bytes);
    if (wide) _tile_loadd(1, C + side, bytes);
    if (tall) _tile_loadd(2, lower, bytes);
    if (tall && wide) _tile_loadd(3, lower + side, bytes);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  if (tall && wide) {
    for (std::int64_t step = 0; step < steps; ++step, a += step_pairs, b += step_pairs) {
      _tile_loadd(4, a, 64);
      _tile_loadd(6, b, 64);
      _tile_dpbf16ps(0, 4, 6);
      _tile_loadd(7, b + tile_pairs, 64);
      _tile_dpbf16ps(1, 4, 7);
      _tile_loadd(5, a + tile_pairs, 64);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
  } else {
    for (std::int64_t step = 0; step < steps; ++step, a += step_pairs, b += step_pairs) {
      _tile_loadd(4, a, 64);
      _tile_loadd(6, b, 64);
      _tile_dpbf16ps(0, 4, 6);
      if (wide) {
        _tile_loadd(7, b + tile_pairs, 64);
        _tile_dpbf16ps(1, 4, 7);
      }
      if (tall) {
        _tile_loadd(5, a + tile_pairs, 64);
        _tile_dpbf16ps(2, 5, 6);
      }
    }
  }
  _tile_stored(0, C, bytes);
  if (wide) _tile_stored(1, C + side, bytes);
  if (tall) _tile_stored(2, lower, bytes);
  if (tall && wide) _tile_stored(3, lower + side, bytes);
}

HEED_END_TARGET

struct alignas(64) Workspace {
  std::uint32_t B[KC / depth * step_pairs];
  float C[panel_lines * panel_lines];
};

// Returns how many columns of C a task computes at most. Tiles compute them ten times as fast, and take a while to start.
constexpr std::int64_t task_columns(BFloat16Unit unit, std::int64_t products_of_column) {
  const bool tiles = unit == BFloat16Unit::tiles;
  return std::max((tiles ? 8 : 1) * panel_lines, (std::int64_t{1} << (tiles ? 24 : 21)) / products_of_column);
}

constexpr std::int64_t count_of(std::int64_t size, std::int64_t unit) { return (size + unit - 1) / unit; }

// Calls f(begin, end) on ranges of whole panels that cover `lines`.
template <class F>
void for_panels(std::int64_t lines, std::int64_t max_lines, F f) {
  parallel_for(lines, count_of(equal_grain(lines, max_lines), panel_lines) * panel_lines, f);
}

// C = A B, or C + A B if it `adds`, for m <= MC rows of A that are kc <= KC deep.
template <class S>
struct Block {
  BFloat16Unit unit;
  std::int64_t m, n, kc;
  Lines<float> a;
  Lines<S> b;
  bool adds, streams;
  float* C;
  std::int64_t ldc;
  std::uint32_t* packed;  // A

  std::int64_t steps() const { return count_of(kc, depth); }
  std::uint32_t* packed_from(std::int64_t row) const { return packed + row / panel_lines * steps() * step_pairs; }

  void pack_rows(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t r = begin; r < end; r += panel_lines) {
      pack_panel<true>(a.at(r, 0), std::min(panel_lines, m - r), kc, packed_from(r));
    }
  }

  // Computes the columns [begin, end) of C.
  void multiply_columns(std::int64_t begin, std::int64_t end) const {
    static thread_local const auto workspace = std::make_unique<Workspace>();
    const StreamScope scope;
    std::optional<TileScope> tiles;
    if (unit == BFloat16Unit::tiles) tiles.emplace();
    const auto multiply = tiles ? multiply_by_tiles : multiply_by_vectors;
    for (std::int64_t j = begin; j < end; j += panel_lines) {
      const std::int64_t columns = std::min(panel_lines, n - j);
      pack_panel<false>(b.at(j, 0), columns, kc, workspace->B);
      for (std::int64_t r = 0; r < m; r += panel_lines) {
        const std::int64_t rows = std::min(panel_lines, m - r);
        float* const c = C + r * ldc + j;
        const bool is_whole = rows % side == 0 && columns % side == 0;
        multiply_block(is_whole, adds, streams, rows, columns, c, ldc, workspace->C,
                       [&](float* to, std::int64_t stride) {
                         multiply(steps(), packed_from(r), workspace->B, adds, rows > side, columns > side, to, stride);
                       });
      }
    }
  }
};

// Returns false, and computes nothing, if the product is too small to gain. Several threads pack A once; then each packs and
// multiplies its panels of B, once for MC rows of A.
template <class S>
bool on_unit(BFloat16Unit unit, std::int64_t m, std::int64_t n, std::int64_t k, const Matrix<float>& A,
             const Matrix<S>& B, float beta, float* C, std::int64_t ldc) {
  if (!is_large(m, n, k)) return false;
  const Lines<float> a{A.data, A.row_stride, A.column_stride};
  const Lines<S> b{B.data, B.column_stride, B.row_stride};
  if ((a.stride != 1 && a.along != 1) || (b.stride != 1 && b.along != 1)) return false;
  const std::int64_t step_k = equal_parts(k, KC, depth), step_m = equal_parts(m, MC, panel_lines);
  const bool streams = beta == 0 && k <= step_k && is_streamed(m, n, k, C, ldc);
  static thread_local std::vector<Pairs> packed;
  const std::int64_t most = count_of(step_m, panel_lines) * count_of(step_k, depth) * step_pairs / side;
  packed.resize(std::max(packed.size(), static_cast<std::size_t>(most)));
  for (std::int64_t p = 0; p < k; p += step_k) {
    for (std::int64_t i = 0; i < m; i += step_m) {
      const Block<S> block{.unit = unit,
                           .m = std::min(step_m, m - i),
                           .n = n,
                           .kc = std::min(step_k, k - p),
                           .a = a.at(i, p),
                           .b = b.at(0, p),
                           .adds = p > 0 || beta != 0,
                           .streams = streams,
                           .C = C + i * ldc,
                           .ldc = ldc,
                           .packed = reinterpret_cast<std::uint32_t*>(packed.data())};
      for_panels(block.m, max_packed / block.kc,
                 [&block](std::int64_t begin, std::int64_t end) { block.pack_rows(begin, end); });
      for_panels(n, task_columns(unit, block.kc * block.m),
                 [&block](std::int64_t begin, std::int64_t end) { block.multiply_columns(begin, end); });
    }
  }
  return true;
}

#else

template <class S>
bool on_unit(BFloat16Unit, std::int64_t, std::int64_t, std::int64_t, const Matrix<float>&, const Matrix<S>&, float,
             float*, std::int64_t) {
  return false;
}

#endif

}  // namespace

bool uses_bfloat16_unit(std::int64_t m, std::int64_t n, std::int64_t k) {
  return is_large(m, n, k) && bfloat16_unit() != BFloat16Unit::none;
}

template <class S>
void bfloat16_gemm(std::int64_t m, std::int64_t n, std::int64_t k, float alpha, const Matrix<float>& A,
                   const Matrix<S>& B, float beta, float* C, std::int64_t ldc, BFloat16Unit unit) {
  if (m == 0 || n == 0) return;
  if (unit == BFloat16Unit::none || !on_unit(unit, m, n, k, A, B, beta, C, ldc)) {
    return gemm(m, n, k, alpha, rounded<0>(m, k, A), rounded<1>(k, n, B), beta, C, ldc);
  }
  count_flops(2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k));
  for (std::int64_t i = 0; i < m && alpha != 1; ++i) {
    for (std::int64_t j = 0; j < n; ++j) C[i * ldc + j] *= alpha;
  }
}

template void bfloat16_gemm(std::int64_t, std::int64_t, std::int64_t, float, const Matrix<float>&, const Matrix<float>&,
                            float, float*, std::int64_t, BFloat16Unit);
template void bfloat16_gemm(std::int64_t, std::int64_t, std::int64_t, float, const Matrix<float>&,
                            const Matrix<BFloat16>&, float, float*, std::int64_t, BFloat16Unit);

}  // namespace heed::cpu
