#include "autograd/cpu/blas.h"
#include "autograd/cpu/kernels.h"
#include "autograd/cpu/softmax_row.h"

#include <heed/autograd/gradcheck/attention_samples.h>
#include <heed/autograd/machine.h>
#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace heed {
namespace {

// Queries and keys whose scores stand in memory at once: small enough for a processor's own cache.
constexpr std::int64_t rows_a_block = 128, keys_a_tile = 256;

// The sizes of one call, and its mask's strides.
struct Sizes {
  Shape batch;  // leading axes of Q, K, V
  std::int64_t batches, T_q, T_k, d_k, d_v;
  double scale;
  Mask mask;
  Shape mask_strides;  // along batch, T_q, T_k

  Sizes(const Tensor& Q, const Tensor& K, const Tensor& V, const Mask& m) : mask(m) {
    bool fits = Q.rank() >= 2 && K.rank() == Q.rank() && V.rank() == Q.rank() && Q.size(-1) == K.size(-1) &&
                K.size(-2) == V.size(-2) && Q.dtype() == K.dtype() && Q.dtype() == V.dtype();
    for (int axis = 0; fits && axis + 2 < Q.rank(); ++axis) {
      fits = Q.size(axis) == K.size(axis) && Q.size(axis) == V.size(axis);
      batch.append(Q.size(axis));
    }
    if (!fits) {
      fail(
          "attention: expected Q (..., T_q, d_k), K (..., T_k, d_k), V (..., T_k, d_v) of one dtype, got {}, "
          "{}, {}",
          to_string(Q.shape()), to_string(K.shape()), to_string(V.shape()));
    }
    batches = batch.numel();
    T_q = Q.size(-2), T_k = K.size(-2), d_k = Q.size(-1), d_v = V.size(-1);
    scale = 1 / std::sqrt(static_cast<double>(d_k));
    const Shape full = with(T_q, T_k);
    if (mask.has_visible()) {
      if (broadcast_shapes("attention: mask", mask.visible().shape(), full) != full) {
        fail("attention: a mask of shape {} does not broadcast to the weights' {}", to_string(mask.visible().shape()),
             to_string(full));
      }
      mask_strides = cpu::operand(mask.visible(), full).strides;
    }
  }

  Shape with(std::int64_t rows, std::int64_t columns) const {
    Shape shape = batch;
    shape.append(rows);
    shape.append(columns);
    return shape;
  }
};

// Offsets of each batch's matrix in an operand whose leading axes have `strides`.
std::vector<std::int64_t> offsets(const Shape& batch, const Shape& strides) {
  std::vector<std::int64_t> result;
  Shape leading = batch;
  for (int axis = 0; axis < batch.rank(); ++axis) leading[axis] = strides[axis];
  if (batch.numel() == 0) return result;
  const cpu::Walk<1> walk(batch, {&leading});
  walk.rows(0, batch.numel() / walk.size[0], [&](std::int64_t, const std::array<std::int64_t, 1>& offset) {
    for (std::int64_t i = 0; i < walk.size[0]; ++i) result.push_back(offset[0] + i * walk.stride[0][0]);
  });
  return result;
}

// An operand as BLAS takes it: one matrix a batch.
template <class T>
struct Matrices {
  Tensor keep;
  const T* data;
  std::vector<std::int64_t> offset;
  std::int64_t row_stride, column_stride;

  Matrices(const Tensor& x, const Shape& batch)
      : keep(cpu::is_blas_layout(x.size(-2), x.size(-1), x.strides()[-2], x.strides()[-1]) ? x.detach() : x.clone()),
        data(keep.data<T>()),
        offset(offsets(batch, keep.strides())),
        row_stride(keep.strides()[-2]),
        column_stride(keep.strides()[-1]) {}

  cpu::Matrix<T> rows(std::int64_t b, std::int64_t first) const {
    return {data + offset[static_cast<std::size_t>(b)] + first * row_stride, row_stride, column_stride};
  }
  cpu::Matrix<T> transposed(std::int64_t b) const {
    return {data + offset[static_cast<std::size_t>(b)], column_stride, row_stride};
  }
};

// (B, H, T, d) in memory as (B, T, H, d), so that joining the heads afterwards is a view.
Tensor heads_apart(const Sizes& s, std::int64_t rows, std::int64_t columns, DType dtype) {
  if (s.batch.rank() != 2) return Tensor(s.with(rows, columns), dtype);
  return permute(Tensor({s.batch[0], rows, s.batch[1], columns}, dtype), {0, 2, 1, 3});
}

// What a block of queries, rows [first, first + rows) of batch b, may see.
struct Block {
  std::int64_t b, first, rows;
  std::int64_t keys;                      // those after are hidden from all of them
  const std::uint8_t* visible = nullptr;  // of the first row and key; null: only causality hides
  std::int64_t row_step = 0, key_step = 0;

  Block(const Sizes& s, const std::vector<std::int64_t>& masks, std::int64_t b_, std::int64_t first_)
      : b(b_), first(first_), rows(std::min(rows_a_block, s.T_q - first_)), keys(s.T_k) {
    if (s.mask.is_causal()) keys = std::clamp<std::int64_t>(first + rows + s.T_k - s.T_q, 0, s.T_k);
    if (!s.mask.has_visible()) return;
    row_step = s.mask_strides[-2], key_step = s.mask_strides[-1];
    visible = s.mask.visible().data() + masks[static_cast<std::size_t>(b)] + first * row_step;
    if (row_step != 0) return;  // a key hidden from one row only stays, or its mask would change the others' sums
    while (keys > 0 && !visible[(keys - 1) * key_step]) --keys;
    bool all = true;
    for (std::int64_t j = 0; j < keys; ++j) all = all && visible[j * key_step];
    if (all) visible = nullptr;
  }
};

// The length of a row of scores. Where it is long, no power of two, which would put all rows in the same cache lines.
constexpr std::int64_t padded(std::int64_t keys) { return (keys + 15) / 16 * 16 + (keys > 64 ? 16 : 0); }

// Scores of a block's queries against the keys [from, from + keys), in rows of padded(keys): hidden ones, and those past
// the end, at -infinity.
template <class T>
void scores(const Sizes& s, const Matrices<T>& Q, const Matrices<T>& K, const Block& block, std::int64_t from,
            std::int64_t keys, T* S) {
  const std::int64_t stride = padded(keys);
  cpu::Matrix<T> K_t = K.transposed(block.b);
  K_t.data += from * K.row_stride;
  cpu::gemm(block.rows, keys, s.d_k, static_cast<T>(s.scale), Q.rows(block.b, block.first), K_t, T{0}, S, stride);
  constexpr T hidden = -std::numeric_limits<T>::infinity();
  for (std::int64_t i = 0; i < block.rows; ++i) {
    T* row = S + i * stride;
    std::int64_t end = keys;
    if (block.visible) {
      const std::uint8_t* seen = block.visible + i * block.row_step + from * block.key_step;
      for (std::int64_t j = 0; j < keys; ++j) row[j] = seen[j * block.key_step] ? row[j] : hidden;
    }
    if (s.mask.is_causal()) end = std::clamp<std::int64_t>(block.first + i + 1 + s.T_k - s.T_q - from, 0, keys);
    std::fill(row + end, row + stride, hidden);
  }
}

// P = e^(S - base) share, row by row.
template <class T>
void weights_from_scores(T* S, const T* bases, const T* shares, std::int64_t rows, std::int64_t stride) {
  for (std::int64_t i = 0; i < rows; ++i) {
    T* row = S + i * stride;
    const T base = bases[i], share = shares[i];
    for (std::int64_t j = 0; j < stride; ++j) row[j] = cpu::exp_nonpositive(row[j] - base) * share;
  }
}

// Of each query, (batches, T_q): its greatest score, and 1 / sum e^(score - base); both 0 where nothing is seen.
struct Forward {
  Tensor output, weights, bases, shares;
};

// A tile of keys at a time, with the maximum and the sum of each row so far (Milakov & Gimelshein 2018,
// arXiv:1805.02867; Dao et al. 2022, arXiv:2205.14135).
template <class T>
Forward forward(const Sizes& s, const Tensor& Q_, const Tensor& K_, const Tensor& V_, bool want_weights) {
  const Matrices<T> Q(Q_, s.batch), K(K_, s.batch), V(V_, s.batch);
  const std::vector<std::int64_t> masks =
      s.mask.has_visible() ? offsets(s.batch, s.mask_strides) : std::vector<std::int64_t>{};
  Forward f{heads_apart(s, s.T_q, s.d_v, dtype_of<T>),
            {},
            Tensor({s.batches, s.T_q}, dtype_of<T>),
            Tensor({s.batches, s.T_q}, dtype_of<T>)};
  if (want_weights) f.weights = zeros(s.with(s.T_q, s.T_k), dtype_of<T>);
  const std::vector<std::int64_t> output_offset = offsets(s.batch, f.output.strides());
  const std::int64_t output_stride = f.output.strides()[-2];
  T *output = f.output.mutable_data<T>(), *bases = f.bases.mutable_data<T>(), *shares = f.shares.mutable_data<T>();
  T* weights = want_weights ? f.weights.mutable_data<T>() : nullptr;
  const std::int64_t blocks = (s.T_q + rows_a_block - 1) / rows_a_block;
  const std::int64_t work = std::max<std::int64_t>(1, std::min(s.T_q, rows_a_block) * s.T_k * (s.d_k + s.d_v));
  Tensor scratch({threads(), std::min(rows_a_block, s.T_q), padded(std::min(keys_a_tile, s.T_k))}, dtype_of<T>);
  T* const scratch_data = scratch.mutable_data<T>();
  constexpr T infinity = std::numeric_limits<T>::infinity();
  const auto attend = [&](const Block& block, T* S) {
    T* O = output + output_offset[static_cast<std::size_t>(block.b)] + block.first * output_stride;
    T *base = bases + block.b * s.T_q + block.first, *share = shares + block.b * s.T_q + block.first;
    std::array<T, rows_a_block> sum{};
    std::fill_n(base, block.rows, -infinity);
    for (std::int64_t i = 0; i < block.rows && block.keys == 0; ++i) std::fill_n(O + i * output_stride, s.d_v, T{0});
    for (std::int64_t from = 0; from < block.keys; from += keys_a_tile) {
      const std::int64_t keys = std::min(keys_a_tile, block.keys - from), stride = padded(keys);
      scores(s, Q, K, block, from, keys, S);
      for (std::int64_t i = 0; i < block.rows; ++i) {
        T *row = S + i * stride, &l = sum[static_cast<std::size_t>(i)];
        const T before = base[i], most = std::max(before, cpu::max_row(row, stride));
        base[i] = most;
        const T m = most == -infinity ? T{0} : most;  // where all is hidden, e^-infinity is 0
        const T kept = from == 0 ? T{0} : cpu::exp_nonpositive(before - m);
        l = kept * l + cpu::exp_row(row, row, stride, m);
        for (std::int64_t j = 0; j < s.d_v && from > 0 && kept != T{1}; ++j) O[i * output_stride + j] *= kept;
      }
      cpu::gemm(block.rows, s.d_v, keys, T{1}, cpu::Matrix<T>{S, stride, 1}, V.rows(block.b, from),
                static_cast<T>(from > 0), O, output_stride);
    }
    for (std::int64_t i = 0; i < block.rows; ++i) {
      const T l = sum[static_cast<std::size_t>(i)];
      share[i] = l == T{0} ? T{0} : 1 / l;
      if (l == T{0}) base[i] = T{0};
      for (std::int64_t j = 0; j < s.d_v; ++j) O[i * output_stride + j] *= share[i];
    }
    const bool one_tile = block.keys <= keys_a_tile;  // then S still holds e^(scores - base)
    for (std::int64_t from = 0; weights && from < block.keys; from += keys_a_tile) {
      const std::int64_t keys = std::min(keys_a_tile, block.keys - from), stride = padded(keys);
      if (!one_tile) {
        scores(s, Q, K, block, from, keys, S);
        weights_from_scores(S, base, share, block.rows, stride);
      }
      for (std::int64_t i = 0; i < block.rows; ++i) {
        const T* row = S + i * stride;
        const T factor = one_tile ? share[i] : T{1};
        T* to = weights + (block.b * s.T_q + block.first + i) * s.T_k + from;
        for (std::int64_t j = 0; j < keys; ++j) to[j] = row[j] * factor;
      }
    }
  };
  const std::int64_t tasks = s.batches * blocks;
  const std::int64_t grain = cpu::equal_grain(tasks, std::max<std::int64_t>(1, 32768 / work));
  cpu::parallel_for(tasks, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      attend(Block(s, masks, task / blocks, task % blocks * rows_a_block),
             scratch_data + cpu::current_thread() * scratch.strides()[0]);
    }
  });
  return f;
}

// P = softmax(scores) again from what is saved of each row, then, with D = sum(O dO) = sum(P dP), dP = dO V^T and
// dS = P (dP - D) / sqrt(d_k): dV = P^T dO, dQ = dS K, dK = dS^T Q
template <class T>
std::vector<Tensor> backward_of(const Sizes& s, const Tensor& Q_, const Tensor& K_, const Tensor& V_, const Forward& f,
                                const Tensor& dO_) {
  const Matrices<T> Q(Q_, s.batch), K(K_, s.batch), V(V_, s.batch), O(f.output, s.batch);
  const Matrices<T> dO(dO_.strides()[-1] == 1 ? dO_ : dO_.clone(), s.batch);  // rows without gaps, as O's
  const std::vector<std::int64_t> masks =
      s.mask.has_visible() ? offsets(s.batch, s.mask_strides) : std::vector<std::int64_t>{};
  struct Gradient {
    Tensor tensor;
    T* data;
    std::vector<std::int64_t> offset;
    std::int64_t stride;
    Gradient(const Sizes& sizes, std::int64_t rows, std::int64_t columns)
        : tensor(heads_apart(sizes, rows, columns, dtype_of<T>)),
          data(tensor.mutable_data<T>()),
          offset(offsets(sizes.batch, tensor.strides())),
          stride(tensor.strides()[-2]) {}
    void clear(std::int64_t b, std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) std::fill_n(rows(b, i), tensor.size(-1), T{0});
    }
    T* rows(std::int64_t b, std::int64_t first) { return data + offset[static_cast<std::size_t>(b)] + first * stride; }
  } dQ(s, s.T_q, s.d_k), dK(s, s.T_k, s.d_k), dV(s, s.T_k, s.d_v);
  const T *bases = f.bases.data<T>(), *shares = f.shares.data<T>();
  const std::int64_t work = std::max<std::int64_t>(1, s.T_q * s.T_k * (s.d_k + s.d_v));
  const bool one_block = s.T_q > 0 && s.T_q <= rows_a_block;  // then nothing was added to dK and dV before
  Tensor scratch({threads(), 2, std::min(rows_a_block, s.T_q), padded(std::min(keys_a_tile, s.T_k))}, dtype_of<T>);
  T* const scratch_data = scratch.mutable_data<T>();
  const auto attend_back = [&](const Block& block, T* P, T* dP) {
    const cpu::Matrix<T> O_rows = O.rows(block.b, block.first), dO_rows = dO.rows(block.b, block.first);
    std::array<T, rows_a_block> D;
    for (std::int64_t i = 0; i < block.rows; ++i) {
      const T *o = O_rows.data + i * O_rows.row_stride, *g = dO_rows.data + i * dO_rows.row_stride;
      D[static_cast<std::size_t>(i)] = static_cast<T>(cpu::dot_row(o, g, s.d_v));
    }
    if (one_block) {
      dK.clear(block.b, block.keys, s.T_k);
      dV.clear(block.b, block.keys, s.T_k);
    }
    if (block.keys == 0) dQ.clear(block.b, block.first, block.first + block.rows);
    for (std::int64_t from = 0; from < block.keys; from += keys_a_tile) {
      const std::int64_t keys = std::min(keys_a_tile, block.keys - from), stride = padded(keys);
      scores(s, Q, K, block, from, keys, P);
      weights_from_scores(P, bases + block.b * s.T_q + block.first, shares + block.b * s.T_q + block.first, block.rows,
                          stride);
      cpu::gemm(keys, s.d_v, block.rows, T{1}, cpu::Matrix<T>{P, 1, stride}, dO_rows, static_cast<T>(!one_block),
                dV.rows(block.b, from), dV.stride);
      cpu::Matrix<T> V_t = V.transposed(block.b);
      V_t.data += from * V.row_stride;
      cpu::gemm(block.rows, keys, s.d_v, T{1}, dO_rows, V_t, T{0}, dP, stride);
      for (std::int64_t i = 0; i < block.rows; ++i) {
        const T d = D[static_cast<std::size_t>(i)], scale = static_cast<T>(s.scale);
        for (std::int64_t j = i * stride; j < i * stride + keys; ++j) dP[j] = P[j] * (dP[j] - d) * scale;
      }
      cpu::gemm(block.rows, s.d_k, keys, T{1}, cpu::Matrix<T>{dP, stride, 1}, K.rows(block.b, from),
                static_cast<T>(from > 0), dQ.rows(block.b, block.first), dQ.stride);
      cpu::gemm(keys, s.d_k, block.rows, T{1}, cpu::Matrix<T>{dP, 1, stride}, Q.rows(block.b, block.first),
                static_cast<T>(!one_block), dK.rows(block.b, from), dK.stride);
    }
  };
  const std::int64_t grain = cpu::equal_grain(s.batches, std::max<std::int64_t>(1, 16384 / work));
  cpu::parallel_for(s.batches, grain, [&](std::int64_t begin, std::int64_t end) {
    T* P = scratch_data + cpu::current_thread() * scratch.strides()[0];
    for (std::int64_t b = begin; b < end; ++b) {  // one writer of dK and dV a batch
      if (!one_block) {
        dK.clear(b, 0, s.T_k);
        dV.clear(b, 0, s.T_k);
      }
      for (std::int64_t first = 0; first < s.T_q; first += rows_a_block) {
        attend_back(Block(s, masks, b, first), P, P + scratch.strides()[1]);
      }
    }
  });
  return {dQ.tensor, dK.tensor, dV.tensor};
}

}  // namespace

AttentionResult attention_composed(const Tensor& Q, const Tensor& K, const Tensor& V, const Mask& mask) {
  const Sizes s(Q, K, V, mask);
  const Tensor all_scores = matmul(Q, transpose(K)) * s.scale;
  const Tensor weights =
      softmax(masked_fill(all_scores, mask.hidden(s.T_q, s.T_k), -std::numeric_limits<double>::infinity()));
  return {matmul(weights, V), weights};
}

// P = softmax(Q K^T / sqrt(d_k)), as an output of its own when asked for:
// dS = P (dP - sum(P dP)) / sqrt(d_k), dQ = dS K, dK = dS^T Q
static const Operation weights_operation("attention weights",
                                         [] { return attention_samples(AttentionOutput::weights); });

// output = P V, a tile of P at a time. Keeps Q, K, V, the output and two numbers a query.
static const Operation attention_operation("attention", [] { return attention_samples(AttentionOutput::output); });
AttentionResult attention(const Tensor& Q, const Tensor& K, const Tensor& V, const Mask& mask, Weights weights) {
  const Sizes s(Q, K, V, mask);
  blas_description();  // loaded before any thread needs it
  return dispatch(Q.dtype(), [&]<class T>() {
    const Forward f = forward<T>(s, Q, K, V, weights == Weights::yes);
    AttentionResult result;
    result.output = record(attention_operation, {&Q, &K, &V}, f.output,
                           [s, Q, K, V, f = Forward{f.output, {}, f.bases, f.shares}](const Tensor& dO) {
                             return backward_of<T>(s, Q, K, V, f, dO);
                           });
    if (weights == Weights::no) return result;
    result.weights = record(weights_operation, {&Q, &K}, f.weights, [s, Q, K, P = f.weights](const Tensor& dP) {
      const Tensor dS = P * (dP - sum(dP * P, {-1}, true)) * s.scale;
      return std::vector{matmul(dS, K), matmul(transpose(dS), Q)};
    });
    return result;
  });
}

}  // namespace heed
