#include "autograd/cpu/split_gemm.h"

#include "autograd/cpu/units.h"

#ifdef HEED_LEVEL_4
#include "autograd/cpu/blocked_gemm.h"
#include "autograd/cpu/matrix_unit.h"

#include <algorithm>
#include <cstdint>
#include <memory>

namespace heed::cpu {
namespace {

// Terms beside those of matrix_unit.h:
//   pair   two numbers of a line, 16 apart along k, as bfloat16
//   part   the first, second or third bfloat16 of each number
//   step   two tiles, 32 lines, in each of their parts
constexpr std::int64_t parts = 3, step_pairs = parts * 2 * tile_pairs;
constexpr std::int64_t KC = 16 * depth, MC = 8 * panel_lines;  // of a block of A, which stays in the second cache
// The unit takes some 10 microseconds to start (measured on one Xeon), so that smaller products lose.
constexpr std::int64_t min_products = 1 << 23, min_lines = 128, min_depth = 96;

// Describes the numbers of a packed block or panel.
struct Found {
  std::int64_t parts = 1;  // that are not all 0
  bool is_finite = true;
};

// Writes the parts of the 16 pairs (x[i], y[i]): each number rounded, then what that leaves, twice. Returns 0 for each pair, or
// NaN where a number is infinite or NaN, or would round to infinity.
[[gnu::always_inline]] inline __m512 split(__m512 x, __m512 y, Pairs* part) {
  const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000U)), half = _mm512_set1_epi32(0x8000);
  const __m512 zero = _mm512_setzero_ps();
  __m512 check = zero;
#pragma GCC unroll 3
  for (std::int64_t i = 0; i < parts; ++i) {
    const __m512i a = _mm512_add_epi32(_mm512_castps_si512(x), half),
                  b = _mm512_add_epi32(_mm512_castps_si512(y), half);
    part[i] = reinterpret_cast<Pairs>(_mm512_mask_blend_epi16(0xaaaaaaaaU, _mm512_maskz_srli_epi32(0xffff, a, 16), b));
    x = _mm512_sub_ps(x, _mm512_castsi512_ps(_mm512_and_si512(a, upper)));
    y = _mm512_sub_ps(y, _mm512_castsi512_ps(_mm512_and_si512(b, upper)));
    if (i == 0) check = _mm512_fmadd_ps(x, zero, _mm512_mul_ps(y, zero));
  }
  return check;
}

// Returns the first `count` numbers, of up to 16, and zeros.
__m512 some(const float* from, std::int64_t count) {
  __m512 numbers;
  load_first(from, numbers, std::clamp<std::int64_t>(count, 0, side));
  return numbers;
}

// Packs up to 16 lines of up to 32 numbers as one tile in each part. `from` has dense numbers, or else dense lines.
template <bool dense_numbers, bool by_lines>
void pack_tile(Lines<float> from, std::int64_t lines, std::int64_t numbers, std::uint32_t* to, Found& found) {
  Pairs part[parts][side];
  const __m512 none = _mm512_setzero_ps();
  __m512 zeros = none;  // NaN after an infinity or NaN
  Pairs second{}, third{};
#pragma GCC unroll 4
  for (std::int64_t i = 0; i < side; ++i) {
    __m512 x, y;
    if constexpr (dense_numbers) {
      const float* const line = from.data + i * from.stride;
      x = some(line, i < lines ? numbers : 0);
      y = some(line + side, i < lines ? numbers - side : 0);
    } else {
      const float* const number = from.data + i * from.along;  // of each line
      x = some(number, i < numbers ? lines : 0);
      y = some(number + side * from.along, i + side < numbers ? lines : 0);
    }
    Pairs of[parts];
    zeros = _mm512_add_ps(zeros, split(x, y, of));
    part[0][i] = of[0];
    part[1][i] = of[1];
    part[2][i] = of[2];
    second |= of[1];
    third |= of[2];
  }
  const auto any = [](Pairs x) {
    return _mm512_test_epi32_mask(reinterpret_cast<__m512i>(x), reinterpret_cast<__m512i>(x)) != 0;
  };
  const std::int64_t used = any(third) ? 3 : any(second) ? 2 : 1;
  found.is_finite = found.is_finite && _mm512_cmp_ps_mask(zeros, none, _CMP_EQ_OQ) == 0xffff;
  found.parts = std::max(found.parts, used);
  for (std::int64_t i = 0; i < parts; ++i, to += 2 * tile_pairs) {
    if (dense_numbers != by_lines && i < used) transpose(part[i]);
    std::memcpy(to, part[i], sizeof part[i]);
  }
}

// Packs up to 32 lines of `numbers` numbers.
template <bool by_lines>
void pack_panel(Lines<float> from, std::int64_t lines, std::int64_t numbers, std::uint32_t* to, Found& found) {
  for (std::int64_t p = 0; p < numbers; p += depth, to += step_pairs) {
    for (std::int64_t half = 0; half < 2; ++half) {
      const Lines<float> tile = from.at(half * side, p);
      const std::int64_t count = std::clamp<std::int64_t>(lines - half * side, 0, side),
                         rest = std::min(depth, numbers - p);
      std::uint32_t* const place = to + half * tile_pairs;
      from.along == 1 ? pack_tile<true, by_lines>(tile, count, rest, place, found)
                      : pack_tile<false, by_lines>(tile, count, rest, place, found);
    }
  }
}

HEED_TARGET("amx-tile,amx-bf16")

// Computes C = A B, or adds A B to C: 32 rows of 32 columns, or of 16. The order lets tiles stay in registers. Parts that are
// left out would not change the sums.
void multiply(std::int64_t steps, const std::uint32_t* a, std::int64_t a_parts, const std::uint32_t* b,
              std::int64_t b_parts, bool adds, bool wide, float* C, std::int64_t ldc) {
  const std::int64_t bytes = ldc * 4;
  float* const lower = C + side * ldc;
  if (adds) {
    _tile_loadd(0, C, bytes);
    _tile_loadd(2, lower, bytes);
    if (wide) {
      _tile_loadd(1, C + side, bytes);
      _tile_loadd(3, lower + side, bytes);
    }
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  const std::uint32_t* ahead = a;  // of A, which comes from the second cache
  const auto fetch = [&] {
#pragma GCC unroll 4
    for (std::int64_t i = 0; i < 4; ++i) __builtin_prefetch(ahead + i * side);
    ahead += 4 * side;
  };
  const auto load_a = [&](std::int64_t part) {
    _tile_loadd(4, a + part * 2 * tile_pairs, 64);
    _tile_loadd(5, a + (part * 2 + 1) * tile_pairs, 64);
  };
  const auto load_b = [&](std::int64_t part) {
    _tile_loadd(6, b + part * 2 * tile_pairs, 64);
    if (wide) _tile_loadd(7, b + (part * 2 + 1) * tile_pairs, 64);
  };
  const auto add_products = [&] {
    _tile_dpbf16ps(0, 4, 6);
    fetch();
    if (wide) _tile_dpbf16ps(1, 4, 7);
    fetch();
    _tile_dpbf16ps(2, 5, 6);
    fetch();
    if (wide) _tile_dpbf16ps(3, 5, 7);
    fetch();
  };
  for (std::int64_t step = 0; step < steps; ++step, a += step_pairs, b += step_pairs) {
    ahead = a + step_pairs;
    load_b(0);
    for (std::int64_t part = a_parts - 1; part >= 0; --part) {
      load_a(part);
      add_products();
    }
    if (b_parts > 2) {
      load_b(2);
      add_products();
    }
    if (b_parts > 1) {
      load_b(1);
      add_products();
      if (a_parts > 1) {
        load_a(1);
        add_products();
      }
    }
  }
  _tile_stored(0, C, bytes);
  _tile_stored(2, lower, bytes);
  if (wide) {
    _tile_stored(1, C + side, bytes);
    _tile_stored(3, lower + side, bytes);
  }
}

HEED_END_TARGET

struct alignas(64) Workspace {
  std::uint32_t A[MC / panel_lines * (KC / depth) * step_pairs];
  std::uint32_t B[KC / depth * step_pairs];
  float C[panel_lines * panel_lines];
};

}  // namespace

bool split_gemm(std::int64_t m, std::int64_t n, std::int64_t k, const Matrix<float>& A, const Matrix<float>& B,
                float beta, float* C, std::int64_t ldc) {
  if (std::min(m, n) < min_lines || k < min_depth || m * n * k < min_products || (beta != 0 && beta != 1)) return false;
  const Lines<float> a{A.data, A.row_stride, A.column_stride}, b{B.data, B.column_stride, B.row_stride};
  for (const Lines<float>& x : {a, b}) {
    if (x.stride != 1 && x.along != 1) return false;
  }
  if (!has_unit(Unit::amx_bf16)) return false;
  static thread_local const auto workspace = std::make_unique<Workspace>();
  const StreamScope scope;
  const TileScope tiles;
  const std::int64_t step_k = equal_parts(k, KC, depth), step_m = equal_parts(m, MC, panel_lines);
  const bool streams = beta == 0 && k <= step_k && is_streamed(m, ldc, k, C, ldc);
  for (std::int64_t p = 0; p < k; p += step_k) {
    const std::int64_t kc = std::min(step_k, k - p), steps = (kc + depth - 1) / depth;
    const bool adds = p > 0 || beta != 0;
    for (std::int64_t i = 0; i < m; i += step_m) {
      const std::int64_t mc = std::min(step_m, m - i);
      Found left;
      for (std::int64_t r = 0; r < mc; r += panel_lines) {
        pack_panel<true>(a.at(i + r, p), std::min(panel_lines, mc - r), kc,
                         workspace->A + r * steps * step_pairs / panel_lines, left);
      }
      for (std::int64_t j = 0; j < n; j += panel_lines) {
        const std::int64_t columns = std::min(panel_lines, n - j);
        Found right;
        pack_panel<false>(b.at(j, p), columns, kc, workspace->B, right);
        float* const c = C + i * ldc + j;
        if (!left.is_finite || !right.is_finite) {  // in parts, infinity times 0 would be NaN
          const Matrix<float> rows{A.data + i * A.row_stride + p * A.column_stride, A.row_stride, A.column_stride};
          const Matrix<float> panel{B.data + p * B.row_stride + j * B.column_stride, B.row_stride, B.column_stride};
          blocked_gemm(mc, columns, kc, 1.0F, rows, panel, adds ? 1.0F : 0.0F, c, ldc);
          continue;
        }
        for (std::int64_t r = 0; r < mc; r += panel_lines) {
          const std::int64_t rows = std::min(panel_lines, mc - r);
          const bool is_whole = rows == panel_lines && columns % side == 0;
          multiply_block(is_whole, adds, streams, rows, columns, c + r * ldc, ldc, workspace->C,
                         [&](float* to, std::int64_t stride) {
                           multiply(steps, workspace->A + r * steps * step_pairs / panel_lines, left.parts,
                                    workspace->B, right.parts, adds, columns > side, to, stride);
                         });
        }
      }
    }
  }
  return true;
}

}  // namespace heed::cpu

#else
namespace heed::cpu {

bool split_gemm(std::int64_t, std::int64_t, std::int64_t, const Matrix<float>&, const Matrix<float>&, float, float*,
                std::int64_t) {
  return false;
}

}  // namespace heed::cpu
#endif
