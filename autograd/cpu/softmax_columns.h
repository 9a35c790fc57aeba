#pragma once
#include "autograd/cpu/lanes.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

// Softmax along an axis that is not the last one: each lane has a column. Internal.
namespace heed::cpu {

constexpr std::int64_t vectors_together = 16;  // so that a row of a block is read as a whole
template <class T>
inline constexpr std::int64_t columns_together = vectors_together* lane_count<T>;

// Calls f(v, offset, count) for each vector of n rows, `stride` apart: it has `count` columns from `offset` on, and is number v of
// its row.
template <class T, class F>
[[gnu::always_inline]] inline void for_vectors(std::int64_t n, std::int64_t stride, std::int64_t columns, F f) {
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t v = 0, first = 0; first < columns; ++v, first += lane_count<T>) {
      f(v, i * stride + first, std::min(lane_count<T>, columns - first));
    }
  }
}

// Sums of the columns of a block, in double.
template <class T>
struct ColumnSums {
  typedef double Wide __attribute__((vector_size(lane_count<T> * static_cast<std::int64_t>(sizeof(double)))));
  Wide sums[vectors_together]{};

  [[gnu::always_inline]] void add(std::int64_t v, Lanes<T> terms) { sums[v] += __builtin_convertvector(terms, Wide); }
  [[gnu::always_inline]] Lanes<T> operator[](std::int64_t v) const {
    return __builtin_convertvector(sums[v], Lanes<T>);
  }
};

// Computes y = softmax(x) of columns of n rows, or its logarithm. A column of -infinity gives 0, or -infinity; one with a NaN gives
// NaN.
template <bool logarithm = false, class T>
void softmax_columns(const T* x, T* y, std::int64_t n, std::int64_t stride, std::int64_t columns) {
  const Lanes<T> zero{}, lowest = zero - std::numeric_limits<T>::infinity();
  Lanes<T> largest[vectors_together], share[vectors_together];
  std::fill_n(largest, vectors_together, lowest);
  for_vectors<T>(n, stride, columns, [&](std::int64_t v, std::int64_t offset, std::int64_t count) {
    const Lanes<T> value = load_lanes(x + offset, 1, count);
    largest[v] = value > largest[v] ? value : largest[v];
  });
  for (Lanes<T>& m : largest) m = m == lowest ? zero : m;
  ColumnSums<T> totals;
  for_vectors<T>(n, stride, columns, [&](std::int64_t v, std::int64_t offset, std::int64_t count) {
    const Lanes<T> value = exp(load_lanes(x + offset, 1, count) - largest[v]);
    if constexpr (!logarithm) store_lanes(y + offset, value, count);
    totals.add(v, value);
  });
  for (std::int64_t v = 0; v < vectors_together; ++v) {
    const Lanes<T> total = totals[v];
    if constexpr (logarithm) {
      share[v] = total == zero ? zero : log(total);
    } else {
      share[v] = total == zero ? zero : 1 / total;
    }
  }
  for_vectors<T>(n, stride, columns, [&](std::int64_t v, std::int64_t offset, std::int64_t count) {
    if constexpr (logarithm) {
      store_lanes(y + offset, (load_lanes(x + offset, 1, count) - largest[v]) - share[v], count);
    } else {
      store_lanes(y + offset, load_lanes(y + offset, 1, count) * share[v], count);
    }
  });
}

// Computes dx = dy - e^y sum(dy) of columns of n rows, 0 in a column of -infinity.
template <class T>
void log_softmax_columns_backward(const T* y, const T* dy, T* dx, std::int64_t n, std::int64_t stride,
                                  std::int64_t columns) {
  const Lanes<T> zero{}, lowest = zero - std::numeric_limits<T>::infinity();
  Lanes<T> largest[vectors_together];
  std::fill_n(largest, vectors_together, lowest);
  ColumnSums<T> totals;
  for_vectors<T>(n, stride, columns, [&](std::int64_t v, std::int64_t offset, std::int64_t count) {
    const Lanes<T> value = load_lanes(y + offset, 1, count);
    largest[v] = value <= largest[v] ? largest[v] : value;  // a NaN, too
    totals.add(v, load_lanes(dy + offset, 1, count));
  });
  for_vectors<T>(n, stride, columns, [&](std::int64_t v, std::int64_t offset, std::int64_t count) {
    const Lanes<T> share = exp(load_lanes(y + offset, 1, count)) * totals[v];
    store_lanes(dx + offset, largest[v] == lowest ? zero : load_lanes(dy + offset, 1, count) - share, count);
  });
}

// Computes dx = y * (dy - sum(dy * y)) of columns of n rows.
template <class T>
void softmax_columns_backward(const T* y, const T* dy, T* dx, std::int64_t n, std::int64_t stride,
                              std::int64_t columns) {
  ColumnSums<T> means;
  for_vectors<T>(n, stride, columns, [&](std::int64_t v, std::int64_t offset, std::int64_t count) {
    means.add(v, load_lanes(dy + offset, 1, count) * load_lanes(y + offset, 1, count));
  });
  for_vectors<T>(n, stride, columns, [&](std::int64_t v, std::int64_t offset, std::int64_t count) {
    store_lanes(dx + offset, load_lanes(y + offset, 1, count) * (load_lanes(dy + offset, 1, count) - means[v]), count);
  });
}

}  // namespace heed::cpu
