#pragma once
#include "autograd/cpu/attention_operands.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>

// Attention for short sequences, such as sentences. The scores of a head are transposed, (keys, stride): a vector holds
// 16 queries and one key. Softmax then runs down the keys without reductions within a vector. Internal.
namespace heed::cpu {

constexpr std::int64_t vector_queries = 16;
template <class T>
using QueryValues = std::array<T, 64>;

// Below 6 queries most of a vector would be empty. At 128 queries and 128 keys the forward pass is slower this way on
// Emerald Rapids.
inline bool is_short(const Sizes& s) { return s.T_q >= 6 && s.T_q <= 64 && s.T_k <= 64; }

// The part of the scores for one block of `rows` queries. `stride` is a whole number of vectors.
struct ShortTile {
  std::int64_t keys, rows, stride;
  explicit ShortTile(const Block& block) : keys(block.keys), rows(block.rows), stride(padded(rows)) {}
};

template <class T>
struct QueryVector {
  typedef T Lanes __attribute__((vector_size(vector_queries * sizeof(T))));
  static Lanes load(const T* from) {
    Lanes x;
    std::memcpy(&x, from, sizeof x);
    return x;
  }
  static void store(const Lanes& x, T* to) { std::memcpy(to, &x, sizeof x); }
};

// S = A B^T for one head: A (keys, d), B (rows, d). Padding queries get 0.
template <class T>
void multiply_by_queries(const Sizes& s, const ShortTile& t, std::int64_t d, T scale, const Matrix<T>& A,
                         const Matrix<T>& B_transposed, T* S) {
  using Vector = QueryVector<T>;
  using Lanes = typename Vector::Lanes;
  for (std::int64_t j = 0; j < t.keys; ++j) {
    Vector::store(Lanes{}, S + (j + 1) * t.stride - vector_queries);
  }
  gemm(s.precision, t.keys, t.rows, d, scale, A, B_transposed, T{0}, S, t.stride);
}

// Like compute_scores().
template <class T>
void compute_short_scores(const Sizes& s, const Block& block, const ShortTile& t, const Matrices<T>& Q,
                          const Matrices<T>& K, T* S, T* slope = nullptr) {
  multiply_by_queries(s, t, s.d_k, static_cast<T>(s.scale), K.rows(block.b, 0), Q.transposed(block.b, 0), S);
  const bool has_band = std::min(s.band.before, s.band.after) < s.T_q + s.T_k;
  if (s.soft_cap == 0 && !s.bias.defined() && !block.visible && !has_band) return;
  constexpr T hidden = -std::numeric_limits<T>::infinity();
  const std::int64_t first_position = s.band.key(0, s.T_q, s.T_k);
  for (std::int64_t j = 0; j < t.keys; ++j) {
    T* const row = S + j * t.stride;
    change_scores(s, block, 0, j, Along::queries, t.rows, row, slope ? slope + j * t.stride : nullptr);
    // Query i, at position p = first_position + i, sees key j where p - before <= j <= p + after.
    const std::int64_t begin = std::clamp<std::int64_t>(j - s.band.after - first_position, 0, t.rows);
    const std::int64_t end = std::clamp<std::int64_t>(j + s.band.before - first_position + 1, 0, t.rows);
    std::fill(row, row + begin, hidden);
    std::fill(row + end, row + t.rows, hidden);
  }
}

// S = e^(S - row_max)
template <class T>
void exponentiate_short(const ShortTile& t, T* S, const T* row_max) {
  using Vector = QueryVector<T>;
  for (std::int64_t first = 0; first < t.stride; first += vector_queries) {
    const auto m = Vector::load(row_max + first);
    for (std::int64_t i = first; i < t.keys * t.stride; i += t.stride) Vector::store(Vector::load(S + i) - m, S + i);
  }
#pragma omp simd
  for (std::int64_t i = 0; i < t.keys * t.stride; ++i) S[i] = exp_nonpositive(S[i]);
}

// S = S factor, with a factor for each query.
template <class T>
void scale_short(const ShortTile& t, T* S, const T* factor) {
  using Vector = QueryVector<T>;
  for (std::int64_t first = 0; first < t.stride; first += vector_queries) {
    const auto y = Vector::load(factor + first);
    for (std::int64_t i = first; i < t.keys * t.stride; i += t.stride) Vector::store(Vector::load(S + i) * y, S + i);
  }
}

// P = softmax of S down the keys, in S; row_max and inverse_row_sum (rows) match attention_forward().
template <class T>
void softmax_short(const ShortTile& t, T* S, T* row_max, T* inverse_row_sum) {
  using Vector = QueryVector<T>;
  using Lanes = typename Vector::Lanes;
  constexpr T least = -std::numeric_limits<T>::infinity();
  QueryValues<T> m{}, inverse{};
  for (std::int64_t first = 0; first < t.stride; first += vector_queries) {
    auto most = Lanes{} + least;
    for (std::int64_t i = first; i < t.keys * t.stride; i += t.stride) {
      const auto x = Vector::load(S + i);
      most = x > most ? x : most;
    }
    Vector::store(most == least ? Lanes{} : most, m.data() + first);
  }
  exponentiate_short(t, S, m.data());
  for (std::int64_t first = 0; first < t.stride; first += vector_queries) {
    Lanes sum{};
    for (std::int64_t i = first; i < t.keys * t.stride; i += t.stride) sum += Vector::load(S + i);
    Vector::store(sum == T{0} ? sum : T{1} / sum, inverse.data() + first);
  }
  scale_short(t, S, inverse.data());
  std::copy_n(m.data(), t.rows, row_max);
  std::copy_n(inverse.data(), t.rows, inverse_row_sum);
}

// Recomputes P from the scores in S.
template <class T>
void weights_from_short_scores(const ShortTile& t, T* S, const T* row_max, const T* inverse_row_sum) {
  QueryValues<T> m{}, factor{};
  std::copy_n(row_max, t.rows, m.data());
  std::copy_n(inverse_row_sum, t.rows, factor.data());
  exponentiate_short(t, S, m.data());
  scale_short(t, S, factor.data());
}

// dS = P (dP - D) scale slope with D = sum P dP down the keys, in dP; dbias as in score_gradients().
template <class T>
void short_score_gradients(const Sizes& s, const ShortTile& t, const T* P, const T* slope, T* dbias, T* dP) {
  using Vector = QueryVector<T>;
  using Lanes = typename Vector::Lanes;
  const std::int64_t end = t.keys * t.stride;
  for (std::int64_t first = 0; first < t.stride; first += vector_queries) {
    Lanes D{};
    for (std::int64_t i = first; i < end; i += t.stride) D += Vector::load(P + i) * Vector::load(dP + i);
    for (std::int64_t i = first; i < end; i += t.stride) {
      Vector::store(Vector::load(P + i) * (Vector::load(dP + i) - D), dP + i);
    }
  }
  const T scale = static_cast<T>(s.scale);
  for (std::int64_t j = 0; j < t.keys; ++j) {
    T* const row = dP + j * t.stride;
    for (std::int64_t i = 0; i < t.rows && dbias; ++i) dbias[i * s.T_k + j] = row[i];
    for (std::int64_t i = 0; i < t.stride; ++i) row[i] *= scale;
    for (std::int64_t i = 0; i < t.rows && slope; ++i) row[i] *= slope[j * t.stride + i];
  }
}

}  // namespace heed::cpu
