#pragma once
#include "autograd/cpu/units.h"

#ifdef HEED_LEVEL_4
#include "autograd/cpu/micro_kernel.h"
#include "autograd/cpu/pack.h"
#include "autograd/cpu/stream.h"

#include <algorithm>
#include <cstdint>
#include <immintrin.h>
#include <type_traits>

// The parts that split_gemm() and bfloat16_gemm() share, in these terms:
//   line   a row of A or a column of B: the numbers of one sum over k
//   pair   two numbers of a line, as bfloat16
//   tile   16 x 16 pairs, in one register of the unit: 16 lines of 32 numbers. A's lie by lines, B's by pairs.
//   panel  32 lines, along k
namespace heed::cpu {

constexpr std::int64_t side = 16, depth = 2 * side, panel_lines = 2 * side, tile_pairs = side * side;

typedef std::uint32_t Pairs __attribute__((vector_size(64)));

// The lines of a matrix of numbers S.
template <class S>
struct Lines {
  const S* data;
  std::int64_t stride, along;  // from line to line, and along k; one of them is 1

  Lines at(std::int64_t line, std::int64_t p) const { return {data + line * stride + p * along, stride, along}; }
};

inline void transpose(Pairs* x) {  // 16 x 16
  constexpr std::make_integer_sequence<int, 16> lanes;
  const auto exchange_all = [&](auto d) {
#pragma GCC unroll 16
    for (int i = 0; i < side; ++i) {
      if ((i & d) == 0) exchange<d>(x[i], x[i + d], lanes);
    }
  };
  exchange_all(std::integral_constant<int, 1>{});
  exchange_all(std::integral_constant<int, 2>{});
  exchange_all(std::integral_constant<int, 4>{});
  exchange_all(std::integral_constant<int, 8>{});
}

HEED_TARGET("amx-tile")
// Lets the unit's eight registers hold 16 rows of 64 bytes within its scope.
class TileScope {
 public:
  TileScope() {
    struct alignas(64) {
      std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
      std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
      std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    } configuration;
    // g++ 12 says of _tile_loadconfig() that it reads eight bytes, and leaves out the others.
    asm volatile("" : : "r"(&configuration) : "memory");
    _tile_loadconfig(&configuration);
  }
  ~TileScope() { _tile_release(); }
  TileScope(const TileScope&) = delete;
};
HEED_END_TARGET

// Returns whether C (m, n) = A B is written past the caches: a result larger than both operands, such as the gradient of weights,
// leaves the caches before it is read.
inline bool is_streamed(std::int64_t m, std::int64_t n, std::int64_t k, const float* C, std::int64_t ldc) {
  constexpr std::int64_t min_numbers = 1 << 19;
  return m * n > std::max((m + n) * k, min_numbers) && ldc % side == 0 && reinterpret_cast<std::uintptr_t>(C) % 64 == 0;
}

// Calls multiply(to, stride), which computes whole tiles, for a block of C: `c` itself if it `is_whole`, else a copy in `edge` (32 x 32),
// whose rows x columns are then written back. The copy begins with C if the product `adds` to it. A block of 32 x 32 that `streams`
// goes through the copy, and from there past the caches.
void multiply_block(bool is_whole, bool adds, bool streams, std::int64_t rows, std::int64_t columns, float* c,
                    std::int64_t ldc, float* edge, const auto& multiply) {
  if (streams && rows == panel_lines && columns == panel_lines) {
    multiply(edge, panel_lines);
    for (std::int64_t row = 0; row < rows; ++row) {
      const float* const sums = edge + row * panel_lines;
      _mm512_stream_ps(c + row * ldc, _mm512_load_ps(sums));
      _mm512_stream_ps(c + row * ldc + side, _mm512_load_ps(sums + side));
    }
    return;
  }
  if (is_whole) return multiply(c, ldc);
  for (std::int64_t row = 0; adds && row < rows; ++row) std::copy_n(c + row * ldc, columns, edge + row * panel_lines);
  multiply(edge, panel_lines);
  for (std::int64_t row = 0; row < rows; ++row) std::copy_n(edge + row * panel_lines, columns, c + row * ldc);
}

}  // namespace heed::cpu
#endif
