#pragma once
#include "autograd/cpu/sums.h"
#include "autograd/cpu/vector_bytes.h"
#include "autograd/cpu/vector_math.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

// Kernels of one row, shared by softmax, cross-entropy and attention. Internal.
namespace heed::cpu {

// Returns the largest of n numbers, ignoring NaN; -infinity without any.
template <class T>
T max_row(const T* x, std::int64_t n) {
  // g++ does not vectorise a maximum that handles NaN. Two vectors of 32 bytes suit a row of 16 scores; two longer ones
  // do not.
  typedef T Lanes __attribute__((vector_size(std::min<std::int64_t>(vector_bytes, 32))));
  constexpr std::int64_t width = sizeof(Lanes) / sizeof(T);
  Lanes lanes[2];
  for (Lanes& lane : lanes) lane = Lanes{} - std::numeric_limits<T>::infinity();
  std::int64_t i = 0;
  for (; i + 2 * width <= n; i += 2 * width) {
    for (std::size_t l = 0; l < 2; ++l) {
      Lanes value;
      std::memcpy(&value, x + i + static_cast<std::int64_t>(l) * width, sizeof value);
      lanes[l] = value > lanes[l] ? value : lanes[l];
    }
  }
  lanes[0] = lanes[1] > lanes[0] ? lanes[1] : lanes[0];
  T best[width];
  std::memcpy(best, &lanes[0], sizeof best);
  for (std::int64_t left = width / 2; left > 0; left /= 2) {
    for (std::int64_t l = 0; l < left; ++l) best[l] = best[l + left] > best[l] ? best[l + left] : best[l];
  }
  for (; i < n; ++i) best[0] = x[i] > best[0] ? x[i] : best[0];
  return best[0];
}

// Computes y = e^(x - m) for m >= x; x and y may be one row. Returns sum y.
template <class T>
T exp_row(const T* x, T* y, std::int64_t n, T m) {
  if constexpr (sizeof(T) == sizeof(double)) {
    for (std::int64_t i = 0; i < n; i += lane_count<T>) {
      const std::int64_t count = std::min(lane_count<T>, n - i);
      store_lanes<T>(y + i, exp(load_lanes(x + i, 1, count) - m), count);
    }
  } else {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) y[i] = exp_nonpositive(x[i] - m);
  }
  // a separate loop: a fused one makes g++ reload exp's constants for each vector
  return static_cast<T>(sum_row(y, n));
}

// Computes y = softmax(x); x and y may be one row. `m` is max_row(x). Returns log sum e^(x - m). A row of -infinity
// gives y = 0 and returns infinity; a NaN in x makes y and the result NaN.
template <class T>
T softmax_row(const T* x, T* y, std::int64_t n, T m) {
  if (m == -std::numeric_limits<T>::infinity()) {
    bool masked = true;
    for (std::int64_t i = 0; i < n; ++i) masked = masked && x[i] == m;  // false for NaN
    constexpr T nan = std::numeric_limits<T>::quiet_NaN();
    std::fill_n(y, n, masked ? T{0} : nan);
    return masked ? std::numeric_limits<T>::infinity() : nan;
  }
  const T total = exp_row(x, y, n, m), share = 1 / total;
  for (std::int64_t i = 0; i < n; ++i) y[i] *= share;
  return std::log(total);
}

// Does the same, but returns log sum e^x, or infinity.
template <class T>
T softmax_row(const T* x, T* y, std::int64_t n) {
  const T m = max_row(x, n), log_total = softmax_row(x, y, n, m);
  return std::isinf(log_total) ? log_total : m + log_total;
}

// Computes dx = y * (dy - sum(dy * y)) * scale; dx may be y or dy.
template <class T>
void softmax_row_backward(const T* y, const T* dy, T* dx, std::int64_t n, T scale) {
  const T mean = static_cast<T>(dot_row(dy, y, n));
  for (std::int64_t i = 0; i < n; ++i) dx[i] = y[i] * (dy[i] - mean) * scale;
}

}  // namespace heed::cpu
