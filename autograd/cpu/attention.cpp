// Fused attention in two layouts: tiles of queries and keys, and for up to 64 of each one transposed block (short_attention.h).
//
// Nothing of size T_q x T_k is kept. Forward goes through the keys in tiles with the running maximum and sum of each row; backward
// computes the weights again from these two numbers, with five products in place of four. Weights kept for backward would take 1 GB for
// 4 heads of 8,192 tokens. Scores of a block of queries against all keys at once, the first form, outgrew the cache at a few thousand
// keys. In backward a thread takes a whole head of a sequence: blocks of queries on several threads would add to dK and dV in an order
// that depends on the number of threads.
//
// Sizes: tiles of 256 keys. A block has 252 queries with long vectors, but 126 where a band hides keys: larger blocks compute more
// hidden scores (1.16 times as long for T 512, causal). Tiles of 128, 192 and 512 keys take 0.99 to 1.07 of the time, 384 queries show
// no certain gain, and before, on Zen 3, no other size from 48 to 192 queries was faster.
//
// Short texts spent more on the maximum and sum across each row's vector than on products. With a vector of 16 queries' scores of one
// key, forward takes 0.55 and backward 0.71 of the time for 14 tokens; from 128 keys on, tiles are faster.

#include "autograd/cpu/attention.h"

#include "autograd/cpu/attention_operands.h"
#include "autograd/cpu/short_attention.h"
#include "autograd/cpu/softmax_row.h"

#include <heed/autograd/machine.h>

#include <algorithm>
#include <array>
#include <limits>

namespace heed::cpu {
namespace {

// Keys [first, first + keys). Their scores are the first `width` numbers of rows that are `stride` apart.
struct Tile {
  std::int64_t first, keys, width, stride;
  bool is_first;
};

template <class Function>
void for_tiles(const Block& block, Function&& function) {
  for (std::int64_t first = block.first_key; first < block.keys; first += tile_keys) {
    const std::int64_t keys = std::min(tile_keys, block.keys - first);
    function(Tile{first, keys, whole_vectors(keys), padded(keys), first == block.first_key});
  }
}

// Allocates `count` buffers per thread, each for a tile's scores: at most (block_rows, padded(tile_keys)).
template <class T>
class Scratch {
 public:
  Scratch(const Sizes& s, std::int64_t count)
      : tensor_({threads(), count, is_short(s) ? padded(s.T_q) : s.block_rows, padded(std::min(tile_keys, s.T_k))},
                dtype_of<T>),
        data_(tensor_.mutable_data<T>()) {}
  T* buffer(std::int64_t i) const { return data_ + current_thread() * tensor_.strides()[0] + i * tensor_.strides()[1]; }

 private:
  Tensor tensor_;
  T* data_;
};

// The passes. Shapes are those of one block (rows queries) and one tile (keys keys), in this order:
//   Q, dQ (rows, d_k)   K, dK (keys, d_k)   V, dV (keys, d_v)   O, dO (rows, d_v)
//   S, P, dP, dS (rows, stride)   row_max, row_sum, inverse_row_sum, D (rows)

// S = cap(scale Q K^T) + bias, cap(s) = soft_cap tanh(s / soft_cap); -infinity for hidden keys and for padding.
// `slope`, if requested, has the shape of S: cap'(s) = 1 - tanh^2.
template <class T>
void compute_scores(const Sizes& s, const Block& block, const Tile& tile, const Matrices<T>& Q, const Matrices<T>& K,
                    T* S, T* slope = nullptr) {
  gemm(s.precision, block.rows, tile.keys, s.d_k, static_cast<T>(s.scale), Q.rows(block.b, block.first),
       K.transposed(block.b, tile.first), T{0}, S, tile.stride);
  constexpr T hidden = -std::numeric_limits<T>::infinity();
  for (std::int64_t i = 0; i < block.rows; ++i) {
    T* row = S + i * tile.stride;
    change_scores(s, block, i, tile.first, Along::keys, tile.keys, row, slope ? slope + i * tile.stride : nullptr);
    const std::int64_t begin = s.band.begin(block.first + i, s.T_q, s.T_k) - tile.first;
    const std::int64_t end = s.band.end(block.first + i, s.T_q, s.T_k) - tile.first;
    if (begin > 0) std::fill(row, row + std::min(begin, tile.keys), hidden);
    std::fill(row + std::clamp<std::int64_t>(end, 0, tile.keys), row + tile.width, hidden);
  }
}

// The online softmax after one more tile. With m = max(row_max, max S) and r = e^(row_max - m):
//   S = e^(S - m), row_sum = r row_sum + sum S, O = r O, row_max = m
template <class T>
void exponentiate(const Sizes& s, const Block& block, const Tile& tile, T* S, T* row_max, T* row_sum, T* O,
                  std::int64_t ldo) {
  for (std::int64_t i = 0; i < block.rows; ++i) {
    T *row = S + i * tile.stride, &sum = row_sum[i];
    const T before = row_max[i], most = std::max(before, max_row(row, tile.width));
    row_max[i] = most;
    const T m = most == -std::numeric_limits<T>::infinity() ? T{0} : most;  // in a fully masked row e^-infinity is 0
    const T r = tile.is_first ? T{0} : exp_nonpositive(before - m);
    sum = r * sum + exp_row(row, row, tile.width, m);
    for (std::int64_t j = 0; j < s.d_v && !tile.is_first && r != T{1}; ++j) O[i * ldo + j] *= r;
  }
}

// inverse_row_sum = 1 / row_sum, O = O inverse_row_sum. A fully masked row gets 0, also in row_max.
template <class T>
void normalise(const Sizes& s, const Block& block, const T* row_sum, T* row_max, T* inverse_row_sum, T* O,
               std::int64_t ldo) {
  for (std::int64_t i = 0; i < block.rows; ++i) {
    const T sum = row_sum[i], inverse = sum == T{0} ? T{0} : 1 / sum;
    inverse_row_sum[i] = inverse;
    if (sum == T{0}) row_max[i] = T{0};
    for (std::int64_t j = 0; j < s.d_v; ++j) O[i * ldo + j] *= inverse;
  }
}

// P = e^(S - row_max) inverse_row_sum, in S.
template <class T>
void weights_from_scores(const Block& block, const Tile& tile, const T* row_max, const T* inverse_row_sum, T* S) {
  for (std::int64_t i = 0; i < block.rows; ++i) {
    T* row = S + i * tile.stride;
    const T m = row_max[i], factor = inverse_row_sum[i];
    for (std::int64_t j = 0; j < tile.width; ++j) row[j] = exp_nonpositive(row[j] - m) * factor;
  }
}

// D = sum O dO, which is sum P dP, over each row.
template <class T>
void sum_products(const Sizes& s, const Block& block, Matrix<T> O, Matrix<T> dO, T* D) {
  for (std::int64_t i = 0; i < block.rows; ++i) {
    D[i] = static_cast<T>(dot_row(O.data + i * O.row_stride, dO.data + i * dO.row_stride, s.d_v));
  }
}

// dS = P (dP - D) scale slope, in dP; dbias (rows, T_k), if requested: P (dP - D).
template <class T>
void score_gradients(const Sizes& s, const Block& block, const Tile& tile, const T* P, const T* D, const T* slope,
                     T* dbias, T* dP) {
  const T scale = static_cast<T>(s.scale);
  for (std::int64_t i = 0; i < block.rows; ++i) {
    const T d = D[i];
    const std::int64_t row = i * tile.stride;
    for (std::int64_t j = 0; j < tile.keys && dbias; ++j) {
      dbias[i * s.T_k + tile.first + j] = P[row + j] * (dP[row + j] - d);
    }
    for (std::int64_t j = row; j < row + tile.keys; ++j) dP[j] = P[j] * (dP[j] - d) * scale;
    for (std::int64_t j = row; j < row + tile.keys && slope; ++j) dP[j] *= slope[j];
  }
}

template <class T>
AttentionForward forward(const Sizes& s, const Tensor& Q_, const Tensor& K_, const Tensor& V_, bool want_weights) {
  const Matrices<T> Q(Q_, s.batch), K(K_, s.batch), V(V_, s.batch);
  Results<T> output(s, s.T_q, s.d_v);
  Tensor row_max({s.batches, s.T_q}, dtype_of<T>), inverse_row_sum({s.batches, s.T_q}, dtype_of<T>);
  Tensor weights = want_weights ? zeros(s.with(s.T_q, s.T_k), dtype_of<T>) : Tensor();
  T *const all_row_max = row_max.mutable_data<T>(), *const all_inverse = inverse_row_sum.mutable_data<T>();
  T* const all_weights = want_weights ? weights.mutable_data<T>() : nullptr;
  const Scratch<T> scratch(s, 1);

  const auto attend = [&](const Block& block) {
    const std::int64_t query = block.b * s.T_q + block.first, ldo = output.stride;
    T *const S = scratch.buffer(0), *const O = output.rows(block.b, block.first);
    T *const m = all_row_max + query, *const inverse = all_inverse + query;
    if (block.keys == 0) output.clear(block.b, block.first, block.first + block.rows);
    if (is_short(s)) {
      const ShortTile t(block);
      compute_short_scores(s, block, t, Q, K, S);
      softmax_short(t, S, m, inverse);
      gemm(s.precision, t.rows, s.d_v, t.keys, T{1}, Matrix<T>{S, 1, t.stride}, V.rows(block.b, 0), T{0}, O, ldo);
      for (std::int64_t i = 0; i < t.rows && want_weights; ++i) {
        for (std::int64_t j = 0; j < t.keys; ++j) all_weights[(query + i) * s.T_k + j] = S[j * t.stride + i];
      }
      return;
    }
    std::array<T, max_rows> row_sum{};
    std::fill_n(m, block.rows, -std::numeric_limits<T>::infinity());
    for_tiles(block, [&](const Tile& tile) {
      compute_scores(s, block, tile, Q, K, S);
      exponentiate(s, block, tile, S, m, row_sum.data(), O, ldo);
      gemm(s.precision, block.rows, s.d_v, tile.keys, T{1}, Matrix<T>{S, tile.stride, 1}, V.rows(block.b, tile.first),
           static_cast<T>(!tile.is_first), O, ldo);  // O += S V
    });
    normalise(s, block, row_sum.data(), m, inverse, O, ldo);
    if (!want_weights) return;
    const bool one_tile = block.keys - block.first_key <= tile_keys;  // then S still holds e^(scores - row_max)
    for_tiles(block, [&](const Tile& tile) {
      if (!one_tile) {
        compute_scores(s, block, tile, Q, K, S);
        weights_from_scores(block, tile, m, inverse, S);
      }
      for (std::int64_t i = 0; i < block.rows; ++i) {
        const T factor = one_tile ? inverse[i] : T{1};
        T* const P = all_weights + (query + i) * s.T_k + tile.first;
        for (std::int64_t j = 0; j < tile.keys; ++j) P[j] = S[i * tile.stride + j] * factor;
      }
    });
  };
  const std::int64_t blocks = (s.T_q + s.block_rows - 1) / s.block_rows;
  const std::int64_t work = std::max<std::int64_t>(1, s.block_rows * s.T_k * (s.d_k + s.d_v));
  const std::int64_t grain = equal_grain(s.batches * blocks, std::max<std::int64_t>(1, 32768 / work));
  parallel_for(s.batches * blocks, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) attend(Block(s, i / blocks, i % blocks * s.block_rows));
  });
  return {output.tensor, weights, row_max, inverse_row_sum};
}

// P = softmax(S); dV = P^T dO, dP = dO V^T, dS = P (dP - D) scale slope, dQ = dS K, dK = dS^T Q
template <class T>
AttentionGradients backward(const Sizes& s, const Tensor& Q_, const Tensor& K_, const Tensor& V_,
                            const AttentionForward& f, const Tensor& dO_, bool want_dbias) {
  const Matrices<T> Q(Q_, s.batch), K(K_, s.batch), V(V_, s.batch), O(f.output, s.batch);
  const Matrices<T> dO(dO_.strides()[-1] == 1 ? dO_ : dO_.detach().clone(), s.batch);  // dense rows, like O
  Results<T> dQ(s, s.T_q, s.d_k), dK(s, s.T_k, s.d_k), dV(s, s.T_k, s.d_v);
  const T *const all_row_max = f.row_max.data<T>(), *const all_inverse = f.inverse_row_sum.data<T>();
  const bool one_block = s.T_q > 0 && s.T_q <= s.block_rows;  // true: dK and dV are written once instead of accumulated
  const T add = static_cast<T>(!one_block);
  Tensor dbias = want_dbias ? zeros(s.with(s.T_q, s.T_k), dtype_of<T>) : Tensor();
  T* const all_dbias = want_dbias ? dbias.mutable_data<T>() : nullptr;
  const Scratch<T> scratch(s, s.soft_cap > 0 ? 3 : 2);

  const auto attend_back = [&](const Block& block) {
    const std::int64_t b = block.b, first = block.first, rows = block.rows, query = b * s.T_q + first;
    T *const P = scratch.buffer(0), *const dS = scratch.buffer(1);
    T* const slope = s.soft_cap > 0 ? scratch.buffer(2) : nullptr;
    if (one_block) {
      for (Results<T>* d : {&dK, &dV}) {
        d->clear(b, 0, block.first_key);
        d->clear(b, block.keys, s.T_k);
      }
    }
    if (block.keys == 0) dQ.clear(b, first, first + rows);
    T* const block_dbias = all_dbias ? all_dbias + query * s.T_k : nullptr;
    if (is_short(s)) {
      const ShortTile t(block);
      compute_short_scores(s, block, t, Q, K, P, slope);
      weights_from_short_scores(t, P, all_row_max + query, all_inverse + query);
      gemm(s.precision, t.keys, s.d_v, rows, T{1}, Matrix<T>{P, t.stride, 1}, dO.rows(b, 0), T{0}, dV.rows(b, 0),
           dV.stride);
      multiply_by_queries(s, t, s.d_v, T{1}, V.rows(b, 0), dO.transposed(b, 0), dS);  // dP^T = V dO^T
      short_score_gradients(s, t, P, slope, block_dbias, dS);
      gemm(s.precision, rows, s.d_k, t.keys, T{1}, Matrix<T>{dS, 1, t.stride}, K.rows(b, 0), T{0}, dQ.rows(b, 0),
           dQ.stride);
      gemm(s.precision, t.keys, s.d_k, rows, T{1}, Matrix<T>{dS, t.stride, 1}, Q.rows(b, 0), T{0}, dK.rows(b, 0),
           dK.stride);
      return;
    }
    std::array<T, max_rows> D;
    sum_products(s, block, O.rows(b, first), dO.rows(b, first), D.data());
    for_tiles(block, [&](const Tile& tile) {
      const std::int64_t key = tile.first, keys = tile.keys, stride = tile.stride;
      compute_scores(s, block, tile, Q, K, P, slope);
      weights_from_scores(block, tile, all_row_max + query, all_inverse + query, P);
      gemm(s.precision, keys, s.d_v, rows, T{1}, Matrix<T>{P, 1, stride}, dO.rows(b, first), add, dV.rows(b, key),
           dV.stride);  // dV += P^T dO
      gemm(s.precision, rows, keys, s.d_v, T{1}, dO.rows(b, first), V.transposed(b, key), T{0}, dS,
           stride);  // dP = dO V^T
      score_gradients(s, block, tile, P, D.data(), slope, block_dbias, dS);
      gemm(s.precision, rows, s.d_k, keys, T{1}, Matrix<T>{dS, stride, 1}, K.rows(b, key),
           static_cast<T>(!tile.is_first), dQ.rows(b, first), dQ.stride);  // dQ += dS K
      gemm(s.precision, keys, s.d_k, rows, T{1}, Matrix<T>{dS, 1, stride}, Q.rows(b, first), add, dK.rows(b, key),
           dK.stride);  // dK += dS^T Q
    });
  };
  const std::int64_t work = std::max<std::int64_t>(1, s.T_q * s.T_k * (s.d_k + s.d_v));
  const std::int64_t grain = equal_grain(s.batches, std::max<std::int64_t>(1, 16384 / work));
  parallel_for(s.batches, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) {  // one writer of dK and dV per batch
      if (!one_block) {
        dK.clear(b, 0, s.T_k);
        dV.clear(b, 0, s.T_k);
      }
      for (std::int64_t first = 0; first < s.T_q; first += s.block_rows) attend_back(Block(s, b, first));
    }
  });
  return {dQ.tensor, dK.tensor, dV.tensor, dbias};
}

}  // namespace

AttentionForward attention_forward(const Tensor& Q, const Tensor& K, const Tensor& V, const AttentionTerms& terms,
                                   bool want_weights) {
  return dispatch(Q.dtype(), [&]<class T>() { return forward<T>(Sizes(Q, K, V, terms), Q, K, V, want_weights); });
}

AttentionGradients attention_backward(const Tensor& Q, const Tensor& K, const Tensor& V, const AttentionTerms& terms,
                                      const AttentionForward& f, const Tensor& dO, bool want_dbias) {
  return dispatch(Q.dtype(), [&]<class T>() { return backward<T>(Sizes(Q, K, V, terms), Q, K, V, f, dO, want_dbias); });
}

}  // namespace heed::cpu
