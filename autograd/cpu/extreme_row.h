#pragma once
#include "autograd/cpu/lanes.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

// The largest or smallest number of a row, and where it is. Internal.
namespace heed::cpu {

// `value` ignores NaN; it is an infinity without other numbers.
template <class T>
struct Extreme {
  T value;
  bool has_nan;
};

// Returns the extreme of the lanes, none of which is NaN, by halves.
template <bool largest, class T, std::int64_t bytes>
[[gnu::always_inline]] inline T extreme_of_lanes(typename LanesOf<T, bytes>::type v) {
  if constexpr (bytes == sizeof(T)) {
    return v[0];
  } else {
    typename LanesOf<T, bytes / 2>::type halves[2];
    std::memcpy(halves, &v, sizeof v);
    return extreme_of_lanes<largest, T, bytes / 2>(
        (largest ? halves[0] > halves[1] : halves[0] < halves[1]) ? halves[0] : halves[1]);
  }
}

// Returns whether a bit of the lanes is set.
template <class V>
bool is_any(const V& lanes) {
  std::uint64_t words[sizeof lanes / 8], all = 0;
  std::memcpy(words, &lanes, sizeof lanes);
  for (const std::uint64_t word : words) all |= word;
  return all != 0;
}

template <bool largest, class T>
Extreme<T> extreme_of_row(const T* x, std::int64_t n) {
  constexpr T worst = largest ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity();
  constexpr std::int64_t width = lane_count<T>, together = 4;
  Lanes<T> best[together];
  for (Lanes<T>& lanes : best) lanes = splat<Lanes<T>>(worst);
  decltype(best[0] != best[0]) nan{};
  const auto take = [&](Lanes<T> & lanes, Lanes<T> v) __attribute__((always_inline)) {
    lanes = (largest ? v > lanes : v < lanes) ? v : lanes;
    nan |= v != v;
  };
  std::int64_t i = 0;
  for (; i + together * width <= n; i += together * width) {
    for (std::int64_t l = 0; l < together; ++l) take(best[l], load_lanes(x + i + l * width, 1, width));
  }
  for (; i + width <= n; i += width) take(best[0], load_lanes(x + i, 1, width));
  if (i < n && n >= width) {  // with numbers before them, which changes nothing
    take(best[1], load_lanes(x + n - width, 1, width));
  } else if (i < n) {
    take(best[1], load_lanes(x, 1, n));
  }
  for (std::int64_t l = 1; l < together; ++l) take(best[0], best[l]);
  return {extreme_of_lanes<largest, T, vector_bytes>(best[0]), is_any(nan)};
}

// Returns the first (or last) i in [0, n) with is(x[i]), or -1.
template <class T, class Is>
std::int64_t find_in_row(const T* x, std::int64_t n, bool last, Is is) {
  constexpr std::int64_t part = 64;
  for (std::int64_t done = 0; done < n; done += part) {
    const std::int64_t count = std::min(part, n - done);
    const T* const from = x + (last ? n - done - count : done);
    int found = 0;
    for (std::int64_t i = 0; i < count; ++i) found |= is(from[i]);
    if (!found) continue;
    for (std::int64_t i = 0; i < count; ++i) {
      const T* const at = from + (last ? count - 1 - i : i);
      if (is(*at)) return at - x;
    }
  }
  return -1;
}

// Returns the position of the first (or last) number equal to the extreme: of NaN if `nan_wins` and there is one. Requires n > 0.
template <bool largest, class T>
std::int64_t find_extreme(const T* x, std::int64_t n, Extreme<T> extreme, bool nan_wins, bool last = false) {
  if (nan_wins && extreme.has_nan) return find_in_row(x, n, last, [](T v) { return v != v; });
  const std::int64_t found = find_in_row(x, n, last, [=](T v) { return v == extreme.value; });
  return found >= 0 ? found : last ? n - 1 : 0;
}

// Rows of fewer elements are compared beside each other, as columns.
constexpr std::int64_t short_row = 28;

// Sets y[c] to the extreme of column c of x (rows, columns), with strides (row_stride, column_stride), and rows_of[c] to its first
// row unless null. The first NaN of a column wins.
template <bool largest, class T>
void extremes_of_columns(const T* x, std::int64_t rows, std::int64_t columns, std::int64_t row_stride,
                         std::int64_t column_stride, T* y, std::int32_t* rows_of) {
  const auto find = [=]<bool with_rows>(auto step) {
    for (std::int64_t c = 0; c < columns; ++c) y[c] = x[c * step];
    if constexpr (with_rows) std::fill_n(rows_of, columns, 0);
    for (std::int64_t r = 1; r < rows; ++r) {
      const T* const row = x + r * row_stride;
#pragma omp simd
      for (std::int64_t c = 0; c < columns; ++c) {
        const T v = row[c * step], best = y[c];
        const bool wins = !(largest ? v <= best : v >= best) && best == best;
        y[c] = wins ? v : best;
        if constexpr (with_rows) rows_of[c] = wins ? static_cast<std::int32_t>(r) : rows_of[c];
      }
    }
  };
  const auto find_with_step = [=](auto step) {
    rows_of ? find.template operator()<true>(step) : find.template operator()<false>(step);
  };
  column_stride == 1 ? find_with_step(std::integral_constant<std::int64_t, 1>{}) : find_with_step(column_stride);
}

}  // namespace heed::cpu
