#pragma once
#include "autograd/cpu/attention.h"
#include "autograd/cpu/bfloat16_gemm.h"
#include "autograd/cpu/blas.h"
#include "autograd/cpu/kernels.h"
#include "autograd/cpu/micro_kernel.h"
#include "autograd/cpu/vector_math.h"

#include <heed/autograd/autocast.h>
#include <heed/autograd/ops.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

// Operands and results of attention() as matrices per head, and the block that is computed at a time. Internal.
namespace heed::cpu {

// Number of keys per tile and maximum number of queries per block. Their scores are in memory at the same time and fit
// in a core's own cache, which is larger on processors with long vectors.
constexpr std::int64_t tile_keys = 256, max_band_rows = 128 / MR * MR,
                       max_rows = (long_vectors ? 2 : 1) * max_band_rows;

// Returns the offset of each batch's matrix in an operand whose leading axes have `strides`: (batches).
inline std::vector<std::int64_t> matrix_offsets(const Shape& batch, const Shape& strides) {
  std::vector<std::int64_t> result;
  Shape leading = batch;
  for (int axis = 0; axis < batch.rank(); ++axis) leading[axis] = strides[axis];
  if (batch.numel() == 0) return result;
  const Walk<1> walk(batch, {&leading});
  walk.rows(0, batch.numel() / walk.size[0], [&](std::int64_t, const std::array<std::int64_t, 1>& offset) {
    for (std::int64_t i = 0; i < walk.size[0]; ++i) result.push_back(offset[0] + i * walk.stride[0][0]);
  });
  return result;
}

// The sizes and the mask of one call. With a mask array, query i of batch b sees key j when visible[visible_offset[b] +
// i * row_step + j * key_step].
struct Sizes {
  Shape batch;
  std::int64_t batches, T_q, T_k, d_k, d_v;
  double scale, soft_cap;
  Precision precision;  // of the products
  Mask::Band band;
  const std::uint8_t* visible = nullptr;
  std::vector<std::int64_t> visible_offset;
  std::int64_t row_step = 0, key_step = 0;
  Tensor bias;  // undefined, or (batch..., T_q, T_k) with any strides
  std::vector<std::int64_t> bias_offset;
  // All blocks are equally long; smaller blocks along a band, so that less work is wasted on masked tiles
  std::int64_t block_rows;

  Sizes(const Tensor& Q, const Tensor& K, const Tensor& V, const AttentionTerms& terms)
      : T_q(Q.size(-2)),
        T_k(K.size(-2)),
        d_k(Q.size(-1)),
        d_v(V.size(-1)),
        scale(terms.scale),
        soft_cap(terms.soft_cap),
        precision(Autocast::precision(Q.dtype())),
        band(terms.mask.band()),
        bias(terms.bias),
        block_rows(std::max<std::int64_t>(1, equal_parts(T_q, terms.mask.has_band() ? max_band_rows : max_rows, MR))) {
    const Mask& mask = terms.mask;
    for (int axis = 0; axis + 2 < Q.rank(); ++axis) batch.append(Q.size(axis));
    batches = batch.numel();
    if (bias.defined()) bias_offset = matrix_offsets(batch, bias.strides());
    if (!mask.has_visible()) return;
    const Shape strides = operand(mask.visible(), with(T_q, T_k)).strides;
    visible = mask.visible().data();
    visible_offset = matrix_offsets(batch, strides);
    row_step = strides[-2], key_step = strides[-1];
  }

  Shape with(std::int64_t rows, std::int64_t columns) const {
    Shape shape = batch;
    shape.append(rows);
    shape.append(columns);
    return shape;
  }
};

// An input as gemm takes it: one (rows x columns) matrix per batch.
template <class T>
struct Matrices {
  Tensor keep;
  const T* data;
  std::vector<std::int64_t> offset;  // (batches)
  std::int64_t row_stride, column_stride;

  Matrices(const Tensor& x, const Shape& batch)
      : keep(is_blas_layout(x.size(-2), x.size(-1), x.strides()[-2], x.strides()[-1]) ? x.detach()
                                                                                      : x.detach().clone()),
        data(keep.data<T>()),
        offset(matrix_offsets(batch, keep.strides())),
        row_stride(keep.strides()[-2]),
        column_stride(keep.strides()[-1]) {}

  // The rows from `first` on, and their transpose.
  Matrix<T> rows(std::int64_t b, std::int64_t first) const {
    return {data + offset[static_cast<std::size_t>(b)] + first * row_stride, row_stride, column_stride};
  }
  Matrix<T> transposed(std::int64_t b, std::int64_t first) const {
    return {rows(b, first).data, column_stride, row_stride};
  }
};

// A result: one (rows x columns) matrix per batch. (B, H, T, d) is stored as (B, T, H, d), even when the heads span two
// axes, so that joining the heads is a view.
template <class T>
struct Results {
  Tensor tensor;
  T* data;
  std::vector<std::int64_t> offset;  // (batches)
  std::int64_t stride;

  Results(const Sizes& s, std::int64_t rows, std::int64_t columns)
      : tensor(s.batch.rank() == 2 ? permute(Tensor({s.batch[0], rows, s.batch[1], columns}, dtype_of<T>), {0, 2, 1, 3})
               : s.batch.rank() == 3
                   ? permute(Tensor({s.batch[0], rows, s.batch[1], s.batch[2], columns}, dtype_of<T>), {0, 2, 3, 1, 4})
                   : Tensor(s.with(rows, columns), dtype_of<T>)),
        data(tensor.mutable_data<T>()),
        offset(matrix_offsets(s.batch, tensor.strides())),
        stride(tensor.strides()[-2]) {}

  T* rows(std::int64_t b, std::int64_t first) { return data + offset[static_cast<std::size_t>(b)] + first * stride; }
  void clear(std::int64_t b, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) std::fill_n(rows(b, i), tensor.size(-1), T{0});
  }
};

// Queries [first, first + rows) of batch b and the keys visible to them.
struct Block {
  std::int64_t b, first, rows;
  // The keys of a tile; keys before first_key and from `keys` on are hidden from all these queries
  std::int64_t first_key = 0, keys;
  const std::uint8_t* visible = nullptr;  // of the first query and key; null: the band alone hides keys

  Block(const Sizes& s, std::int64_t b_, std::int64_t first_)
      : b(b_), first(first_), rows(std::min(s.block_rows, s.T_q - first_)), keys(s.T_k) {
    keys = s.band.end(first + rows - 1, s.T_q, s.T_k);
    first_key = s.band.begin(first, s.T_q, s.T_k) / tile_keys * tile_keys;
    if (keys <= first_key) keys = first_key = 0;
    if (!s.visible) return;
    visible = s.visible + s.visible_offset[static_cast<std::size_t>(b)] + first * s.row_step;
    if (s.row_step != 0) return;  // a key hidden from some rows stays: dropping it would change the sums of the others
    while (keys > 0 && !visible[(keys - 1) * s.key_step]) --keys;
    if (keys <= first_key) keys = first_key = 0;
    bool all = true;
    for (std::int64_t j = 0; j < keys; ++j) all = all && visible[j * s.key_step];
    if (all) visible = nullptr;
  }
};

// Return the padded length of a row of scores, and the distance between rows. Long rows avoid powers of two, which
// would map all rows to the same cache lines.
constexpr std::int64_t whole_vectors(std::int64_t keys) { return (keys + 15) / 16 * 16; }
constexpr std::int64_t padded(std::int64_t keys) { return whole_vectors(keys) + (keys > 64 ? 16 : 0); }

enum class Along { keys, queries };

// Computes x = cap(x) + bias for n scores from query i of a block and key j on; -infinity where the mask array hides a
// key. Writes slope = cap'(x) if requested.
template <class T>
void change_scores(const Sizes& s, const Block& block, std::int64_t i, std::int64_t j, Along along, std::int64_t n,
                   T* x, T* slope) {
  const int axis = along == Along::keys ? -1 : -2;
  if (s.soft_cap > 0) {
    const T cap = static_cast<T>(s.soft_cap), inverse = 1 / cap;
    for (std::int64_t l = 0; l < n; ++l) {
      const T t = tanh(x[l] * inverse);
      x[l] = cap * t;
      if (slope) slope[l] = 1 - t * t;
    }
  }
  if (s.bias.defined()) {
    const std::int64_t step = s.bias.strides()[axis];
    const T* from = s.bias.data<T>() + s.bias_offset[static_cast<std::size_t>(block.b)] +
                    (block.first + i) * s.bias.strides()[-2] + j * s.bias.strides()[-1];
    for (std::int64_t l = 0; l < n; ++l) x[l] += from[l * step];
  }
  if (block.visible) {
    const std::int64_t step = along == Along::keys ? s.key_step : s.row_step;
    const std::uint8_t* seen = block.visible + i * s.row_step + j * s.key_step;
    for (std::int64_t l = 0; l < n; ++l) x[l] = seen[l * step] ? x[l] : -std::numeric_limits<T>::infinity();
  }
}

}  // namespace heed::cpu
