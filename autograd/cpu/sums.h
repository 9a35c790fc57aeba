#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

// Sums whose error does not grow with their length. Internal.
namespace heed::cpu {

// Adds 16 lanes at a time, combines them in pairs, and accumulates into a double every 256 values.
template <class T, class Term>
[[gnu::always_inline]] inline double sum_terms(std::int64_t n, Term term) {
  double total = 0;
  std::int64_t i = 0;
  for (; i + 16 <= n;) {
    std::array<T, 8> low{}, high{};
    const std::int64_t stop = std::min(n - n % 16, i + 256);
    for (; i < stop; i += 16) {
      for (std::size_t l = 0; l < 8; ++l) low[l] += term(i + static_cast<std::int64_t>(l));
      for (std::size_t l = 0; l < 8; ++l) high[l] += term(i + static_cast<std::int64_t>(l) + 8);
    }
    // a vector type: g++ adds an array's elements one by one
    typedef T Lanes __attribute__((vector_size(8 * sizeof(T))));
    Lanes a, b;
    std::memcpy(&a, low.data(), sizeof a);
    std::memcpy(&b, high.data(), sizeof b);
    a += b;
    const auto sums = __builtin_shufflevector(a, a, 0, 1, 2, 3) + __builtin_shufflevector(a, a, 4, 5, 6, 7);
    total += static_cast<double>((sums[0] + sums[2]) + (sums[1] + sums[3]));
  }
  for (; i < n; ++i) total += static_cast<double>(term(i));
  return total;
}

template <class T>
double sum_row(const T* x, std::int64_t n) {
  return sum_terms<T>(n, [x](std::int64_t i) { return x[i]; });
}

template <class T>
double dot_row(const T* x, const T* y, std::int64_t n) {
  return sum_terms<T>(n, [x, y](std::int64_t i) { return x[i] * y[i]; });
}

}  // namespace heed::cpu
