#include "autograd/attention_samples.h"
#include "autograd/blas.h"
#include "autograd/kernels.h"
#include "autograd/operation.h"
#include "autograd/ops.h"
#include "autograd/softmax_row.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace heed {
namespace {

constexpr std::int64_t rows_a_block = 64;  // queries whose scores stand in memory at once

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
    batches = batch.elements();
    T_q = Q.size(-2), T_k = K.size(-2), d_k = Q.size(-1), d_v = V.size(-1);
    scale = 1 / std::sqrt(static_cast<double>(d_k));
    const Shape full = with(T_q, T_k);
    if (mask.has_visible()) {
      if (broadcast_shapes("attention: mask", mask.visible().shape(), full) != full) {
        fail("attention: a mask of shape {} does not broadcast to the weights' {}", to_string(mask.visible().shape()),
             to_string(full));
      }
      mask_strides = operand(mask.visible(), full).strides;
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
  if (batch.elements() == 0) return result;
  const Walk<1> walk(batch, {&leading});
  walk.rows(0, batch.elements() / walk.size[0], [&](std::int64_t, const std::array<std::int64_t, 1>& offset) {
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
      : keep(is_blas_layout(x.size(-2), x.size(-1), x.strides()[-2], x.strides()[-1]) ? x.detach() : x.clone()),
        data(keep.data<T>()),
        offset(offsets(batch, keep.strides())),
        row_stride(keep.strides()[-2]),
        column_stride(keep.strides()[-1]) {}

  Matrix<T> rows(std::int64_t b, std::int64_t first) const {
    return {data + offset[static_cast<std::size_t>(b)] + first * row_stride, row_stride, column_stride};
  }
  Matrix<T> transposed(std::int64_t b) const {
    return {data + offset[static_cast<std::size_t>(b)], column_stride, row_stride};
  }
};

// (B, H, T, d) in memory as (B, T, H, d), so that joining the heads afterwards is a view.
Tensor heads_apart(const Sizes& s, std::int64_t rows, std::int64_t columns, DType dtype) {
  if (s.batch.rank() != 2) return Tensor(s.with(rows, columns), dtype);
  return permute(Tensor({s.batch[0], rows, s.batch[1], columns}, dtype), {0, 2, 1, 3});
}

// Scores of queries [first, first + rows) of batch b against the keys that any of them may see, hidden ones
// at -infinity: returns the number of keys, from the first on.
template <class T>
std::int64_t scores(const Sizes& s, const Matrices<T>& Q, const Matrices<T>& K, const std::vector<std::int64_t>& masks,
                    std::int64_t b, std::int64_t first, std::int64_t rows, T* S) {
  const std::uint8_t* visible = nullptr;
  std::int64_t row_step = 0, key_step = 0, keys = s.T_k;
  if (s.mask.is_causal()) keys = std::clamp<std::int64_t>(first + rows + s.T_k - s.T_q, 0, s.T_k);
  if (s.mask.has_visible()) {
    row_step = s.mask_strides[-2], key_step = s.mask_strides[-1];
    visible = s.mask.visible().data() + masks[static_cast<std::size_t>(b)] + first * row_step;
    // Keys hidden from all are left out; those hidden from some are not, or one row's mask would change how
    // the others are summed.
    while (row_step == 0 && keys > 0 && !visible[(keys - 1) * key_step]) --keys;
  }
  if (keys == 0) return 0;
  gemm(rows, keys, s.d_k, static_cast<T>(s.scale), Q.rows(b, first), K.transposed(b), T{0}, S, keys);
  constexpr T hidden = -std::numeric_limits<T>::infinity();
  for (std::int64_t i = 0; i < rows; ++i) {
    T* row = S + i * keys;
    if (visible) {
      const std::uint8_t* seen = visible + i * row_step;
      for (std::int64_t j = 0; j < keys; ++j) row[j] = seen[j * key_step] ? row[j] : hidden;
    }
    if (s.mask.is_causal()) {
      const std::int64_t end = std::clamp<std::int64_t>(first + i + 1 + s.T_k - s.T_q, 0, keys);
      std::fill(row + end, row + keys, hidden);
    }
  }
  return keys;
}

struct Forward {
  Tensor output, weights,
      log_totals;  // log_totals (batches, T_q): log sum e^score, infinity where nothing is seen
};

template <class T>
Forward forward(const Sizes& s, const Tensor& Q_, const Tensor& K_, const Tensor& V_, bool want_weights) {
  const Matrices<T> Q(Q_, s.batch), K(K_, s.batch), V(V_, s.batch);
  const std::vector<std::int64_t> masks =
      s.mask.has_visible() ? offsets(s.batch, s.mask_strides) : std::vector<std::int64_t>{};
  Forward f{heads_apart(s, s.T_q, s.d_v, dtype_of<T>), {}, Tensor({s.batches, s.T_q}, dtype_of<T>)};
  if (want_weights) f.weights = zeros(s.with(s.T_q, s.T_k), dtype_of<T>);
  const std::vector<std::int64_t> output_offset = offsets(s.batch, f.output.strides());
  const std::int64_t output_stride = f.output.strides()[-2];
  T *output = f.output.mutable_data<T>(), *totals = f.log_totals.mutable_data<T>();
  T* weights = want_weights ? f.weights.mutable_data<T>() : nullptr;
  const std::int64_t blocks = (s.T_q + rows_a_block - 1) / rows_a_block;
  const std::int64_t work = std::max<std::int64_t>(1, std::min(s.T_q, rows_a_block) * s.T_k * (s.d_k + s.d_v));
  Tensor scratch({threads(), std::min(rows_a_block, s.T_q), s.T_k}, dtype_of<T>);
  T* const scratch_data = scratch.mutable_data<T>();
  parallel_for(s.batches * blocks, std::max<std::int64_t>(1, 131072 / work), [&](std::int64_t begin, std::int64_t end) {
    T* S = scratch_data + current_thread() * scratch.strides()[0];
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t b = task / blocks, first = task % blocks * rows_a_block;
      const std::int64_t rows = std::min(rows_a_block, s.T_q - first);
      const std::int64_t keys = scores(s, Q, K, masks, b, first, rows, S);
      for (std::int64_t i = 0; i < rows; ++i) {
        totals[b * s.T_q + first + i] = softmax_row(S + i * keys, S + i * keys, keys);
        if (weights) std::copy_n(S + i * keys, keys, weights + ((b * s.T_q) + first + i) * s.T_k);
      }
      gemm(rows, s.d_v, keys, T{1}, Matrix<T>{S, keys, 1}, V.rows(b, 0), T{0},
           output + output_offset[static_cast<std::size_t>(b)] + first * output_stride, output_stride);
    }
  });
  return f;
}

// P = softmax(scores) again from the saved totals, then, with dP = dO V^T and dS = P (dP - sum(P dP)) /
// sqrt(d_k): dV = P^T dO, dQ = dS K, dK = dS^T Q
template <class T>
std::vector<Tensor> backward_of(const Sizes& s, const Tensor& Q_, const Tensor& K_, const Tensor& V_,
                                const Tensor& log_totals, const Tensor& dO_) {
  const Matrices<T> Q(Q_, s.batch), K(K_, s.batch), V(V_, s.batch), dO(dO_, s.batch);
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
          stride(tensor.strides()[-2]) {
      std::fill_n(data, tensor.elements(), T{0});
    }
    T* rows(std::int64_t b, std::int64_t first) { return data + offset[static_cast<std::size_t>(b)] + first * stride; }
  } dQ(s, s.T_q, s.d_k), dK(s, s.T_k, s.d_k), dV(s, s.T_k, s.d_v);
  const T* totals = log_totals.data<T>();
  const std::int64_t work = std::max<std::int64_t>(1, s.T_q * s.T_k * (s.d_k + s.d_v));
  Tensor scratch({threads(), 2, std::min(rows_a_block, s.T_q), s.T_k}, dtype_of<T>);
  T* const scratch_data = scratch.mutable_data<T>();
  parallel_for(s.batches, std::max<std::int64_t>(1, 65536 / work), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) {  // one writer of dK and dV a batch
      for (std::int64_t first = 0; first < s.T_q; first += rows_a_block) {
        const std::int64_t rows = std::min(rows_a_block, s.T_q - first);
        T *P = scratch_data + current_thread() * scratch.strides()[0], *dP = P + scratch.strides()[1];
        const std::int64_t keys = scores(s, Q, K, masks, b, first, rows, P);
        for (std::int64_t i = 0; i < rows; ++i) {
          const T total = totals[b * s.T_q + first + i];
          for (std::int64_t j = 0; j < keys; ++j) P[i * keys + j] = math::exp_nonpositive(P[i * keys + j] - total);
        }
        const Matrix<T> dO_rows = dO.rows(b, first);
        gemm(keys, s.d_v, rows, T{1}, Matrix<T>{P, 1, keys}, dO_rows, T{1}, dV.rows(b, 0), dV.stride);
        gemm(rows, keys, s.d_v, T{1}, dO_rows, V.transposed(b), T{0}, dP, keys);
        for (std::int64_t i = 0; i < rows; ++i) {
          softmax_row_backward(P + i * keys, dP + i * keys, dP + i * keys, keys, static_cast<T>(s.scale));
        }
        gemm(rows, s.d_k, keys, T{1}, Matrix<T>{dP, keys, 1}, K.rows(b, 0), T{1}, dQ.rows(b, first), dQ.stride);
        gemm(keys, s.d_k, rows, T{1}, Matrix<T>{dP, 1, keys}, Q.rows(b, first), T{1}, dK.rows(b, 0), dK.stride);
      }
    }
  });
  return {dQ.tensor, dK.tensor, dV.tensor};
}

}  // namespace

Attended attention_composed(const Tensor& Q, const Tensor& K, const Tensor& V, const Mask& mask) {
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

// output = P V, rows of P in blocks. Keeps Q, K, V and one number a query.
static const Operation attention_operation("attention", [] { return attention_samples(AttentionOutput::output); });
Attended attention(const Tensor& Q, const Tensor& K, const Tensor& V, const Mask& mask, Weights weights) {
  const Sizes s(Q, K, V, mask);
  blas_description();  // loaded before any thread needs it
  return dispatch(Q.dtype(), [&]<class T>() {
    const Forward f = forward<T>(s, Q, K, V, weights == Weights::yes);
    Attended result;
    result.output = record(
        attention_operation, {&Q, &K, &V}, f.output,
        [s, Q, K, V, totals = f.log_totals](const Tensor& dO) { return backward_of<T>(s, Q, K, V, totals, dO); });
    if (weights == Weights::no) return result;
    result.weights = record(weights_operation, {&Q, &K}, f.weights, [s, Q, K, P = f.weights](const Tensor& dP) {
      const Tensor dS = P * (dP - sum(dP * P, {-1}, true)) * s.scale;
      return std::vector{matmul(dS, K), matmul(transpose(dS), Q)};
    });
    return result;
  });
}

}  // namespace heed
