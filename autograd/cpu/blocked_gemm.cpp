#include "autograd/cpu/blocked_gemm.h"

#include "autograd/cpu/micro_kernel.h"
#include "autograd/cpu/pack.h"

#include <algorithm>
#include <memory>
#include <type_traits>

namespace heed::cpu {
namespace {

// Terms from BLIS (Van Zee & van de Geijn 2015, "BLIS: a framework for rapidly instantiating BLAS functionality"):
//   micro-tile   MR x NR of C, in registers for a whole sum over k: MR rows of two vectors
//   micro-panel  KC x NR of B, dense, in the L1 cache while all rows of the block of A are read
//   block        MC x KC of A, in the second cache
constexpr std::int64_t KC = 256, MC = (vector_bytes == 16 ? 24 : 48) * MR;

// A block of A (m x k) as micro-panels of MR rows, `step` elements apart: in place, or packed into `workspace`.
template <class T>
struct Block {
  Matrix<T> panel;  // the first
  std::int64_t step;
  bool in_place = false;  // read from memory during B's first panel

  Block(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<T> A, T* workspace) : panel(A), step(MR * A.row_stride) {
    // Packs when C has enough columns to repay the copy, if A's rows are columns in memory, or are so far apart that
    // they would compete for a few cache lines. With long vectors, three micro-panels repay packing of columns a few
    // lines apart. Two did on Ice Lake, but slowed attention by a twentieth on Emerald Rapids.
    const bool repays = n > 4 * NR<T> || (long_vectors && n > 2 * NR<T> && A.column_stride > 4 * line<T>);
    if (A.column_stride != 1 && repays) {
      pack<T, MR>(k, m, {A.data, A.column_stride, A.row_stride}, workspace);
      panel = {workspace, 1, MR};
      step = MR * k;
    } else if (A.column_stride == 1 && A.row_stride > k && A.row_stride % (16 * line<T>) == 0 && n >= 12 * NR<T>) {
      panel = {workspace, k + line<T>, 1};
      step = MR * panel.row_stride;
      for (std::int64_t i = 0; i < m; ++i) std::copy_n(A.data + i * A.row_stride, k, workspace + i * panel.row_stride);
    } else {
      in_place = true;
    }
  }
};

template <class T>
struct alignas(line_bytes) Workspace {
  T panel[KC * NR<T>];           // of B
  T block[MC * (KC + line<T>)];  // of A
};

}  // namespace

template <class T>
void blocked_gemm(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, const Matrix<T>& A, const Matrix<T>& B,
                  T beta, T* C, std::int64_t ldc) {
  static thread_local const auto workspace = std::make_unique<Workspace<T>>();
  // Smaller products stay in the cache, and a short sum over k does not repay prefetching.
  const bool fetches_ahead = k >= KC && m * n * k >= 1 << 20;
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
        // used once, so a copy would not pay off
        const bool unpacked = mc <= MR && B.column_stride == 1 && columns == width;
        const T* const packed = unpacked ? panel.data : workspace->panel;
        const std::int64_t ldb = unpacked ? B.row_stride : width;
        if (!unpacked) (narrow ? pack<T, NR<T> / 2> : pack<T, NR<T>>)(kc, columns, panel, workspace->panel);
        const bool last_panel = j + NR<T> >= n, last_k = p + step_k >= k;
        Matrix<T> next = panel;  // of B
        next.data += last_panel ? step_k * B.row_stride - j * B.column_stride : NR<T> * B.column_stride;
        Ahead<T> next_b;
        if (!last_panel || !last_k) next_b = Ahead<T>(kc, NR<T>, next, std::max<std::int64_t>(1, mc / MR));
        Matrix<T> rows = block.panel;
        for (std::int64_t r = 0; r < mc; r += MR, rows.data += block.step) {
          T* const c = C + (i + r) * ldc + j;
          const bool fetches = fetches_ahead && r + MR <= mc;
          Ahead<T> next_a;
          Ahead<T>* ahead = fetches ? &next_b : nullptr;
          if (fetches && j == 0 && block.in_place) {
            next_a = Ahead<T>(kc, MR, {rows.data + block.step, A.column_stride, A.row_stride}, 1);
            ahead = &next_a;
          }
          const auto multiply = [&](auto vectors) {
            multiply_micro_tile<T, vectors>(std::min(MR, mc - r), kc, rows, ahead, EqualRows<T>{packed, ldb}, alpha,
                                            p == 0 ? beta : T{1}, c, ldc, columns);
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

template void blocked_gemm(std::int64_t, std::int64_t, std::int64_t, float, const Matrix<float>&, const Matrix<float>&,
                           float, float*, std::int64_t);
template void blocked_gemm(std::int64_t, std::int64_t, std::int64_t, double, const Matrix<double>&,
                           const Matrix<double>&, double, double*, std::int64_t);

}  // namespace heed::cpu
