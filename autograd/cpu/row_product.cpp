#include "autograd/cpu/row_product.h"

#include "autograd/cpu/kernels.h"
#include "autograd/cpu/widen.h"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

namespace heed::cpu {
namespace {

constexpr std::int64_t min_elements = 1 << 11;  // of W; below this, register blocking is as fast
constexpr std::int64_t lanes = 64;              // partial sums of a column that are computed in parallel
// Weights usually come from memory, which is fastest when many lines are on their way. A processor fetches some lines ahead
// in each stream of reads, within a page. Hence the several streams, and the prefetches.
constexpr std::int64_t rows_ahead = 32;
constexpr std::int64_t column_streams = 4;

// Adds the lanes of x in pairs that are half the lanes apart, then a quarter, and so on.
template <int half, class Vector, int... lane>
[[gnu::always_inline]] inline auto sum_of_lanes(Vector x, std::integer_sequence<int, lane...> lanes_of_x) {
  x += __builtin_shufflevector(x, x, (lane + half) % static_cast<int>(sizeof...(lane))...);
  if constexpr (half > 1) {
    return sum_of_lanes<half / 2>(x, lanes_of_x);
  } else {
    return x[0];
  }
}

// The results for elements S must have the bits of those for T, whatever the compiler fuses. Hence all arithmetic is on
// whole vectors, also at the end of a row or column, and products are added in blocks without branches.

// Computes y[j] = b[j] + sum of x[p] W[p, j] for columns [begin, end). It reads eight rows at a time, as eight streams,
// and passes over y once for all of them.
template <class T, class S>
void along_rows(std::int64_t k, const T* x, Matrix<S> W, const T* bias, T* y, std::int64_t begin, std::int64_t end) {
  using Vector = Lanes<T>;
  constexpr std::int64_t streams = 8, width = lane_count<T>;
  const std::int64_t stride = W.row_stride;
  if (bias) {
    std::copy(bias + begin, bias + end, y + begin);
  } else {
    std::fill(y + begin, y + end, T{0});
  }
  // Calls add(sum, j, count) for each vector of `count` columns.
  const auto add_to_columns = [&](const auto& add) {
    constexpr std::integral_constant<std::int64_t, width> whole{};
    std::int64_t j = begin;
    for (; j + width <= end; j += width) {
      Vector sum = load_first<Vector>(y + j, whole);
      add(sum, j, whole);
      std::memcpy(y + j, &sum, sizeof sum);
    }
    if (j == end) return;
    Vector sum = load_first<Vector>(y + j, end - j);
    add(sum, j, end - j);
    std::memcpy(y + j, &sum, static_cast<std::size_t>(end - j) * sizeof(T));
  };
  std::int64_t p = 0;
  for (; p + streams <= k; p += streams) {
    const S* row = W.data + p * W.row_stride;
    const T x0 = x[p], x1 = x[p + 1], x2 = x[p + 2], x3 = x[p + 3], x4 = x[p + 4], x5 = x[p + 5], x6 = x[p + 6],
            x7 = x[p + 7];
    add_to_columns([=](Vector& sum, std::int64_t j, auto count) {
      Vector w[streams];
#pragma GCC unroll 8
      for (std::int64_t i = 0; i < streams; ++i) {
        __builtin_prefetch(row + j + (i + rows_ahead) * stride, 0, 2);  // into the second cache
        w[i] = load_first<Vector>(row + j + i * stride, count);
      }
      sum += ((x0 * w[0] + x1 * w[1]) + (x2 * w[2] + x3 * w[3])) + ((x4 * w[4] + x5 * w[5]) + (x6 * w[6] + x7 * w[7]));
    });
  }
  for (; p < k; ++p) {
    const S* row = W.data + p * W.row_stride;
    add_to_columns([row, factor = x[p]](Vector& sum, std::int64_t j, auto count) {
      const Vector w = load_first<Vector>(row + j, count);
      sum += factor * w;
    });
  }
}

// Calls store(j, x . W[:, j]) for j = 0, apart, ..., (streams - 1) * apart. Each column is dense in memory.
template <std::int64_t streams, class T, class S, class Store>
void dot_columns(std::int64_t k, const T* x, Matrix<S> W, std::int64_t apart, const Store& store) {
  using Vector = Lanes<T>;
  constexpr std::int64_t width = lane_count<T>, vectors = lanes / width;
  constexpr std::int64_t size = sizeof(S), line = line_bytes / size, ahead = bytes_ahead / size;
  const std::int64_t rest = k % width;
  const Vector last = load_first<Vector>(x + k - rest, rest);
  const S* columns[streams];
  Vector sums[streams][vectors];
#pragma GCC unroll 4
  for (std::int64_t i = 0; i < streams; ++i) {
    columns[i] = W.data + i * apart * W.column_stride;
#pragma GCC unroll 16
    for (Vector& sum : sums[i]) sum = Vector{};
  }
  std::int64_t p = 0;
  for (; p + lanes <= k; p += lanes) {
#pragma GCC unroll 16
    for (std::int64_t v = 0; v < vectors; ++v) {
      const Vector factor = load<Vector>(x + p + v * width);
#pragma GCC unroll 4
      for (std::int64_t i = 0; i < streams; ++i) {
        if (v * width % line == 0) __builtin_prefetch(columns[i] + p + v * width + ahead);
        sums[i][v] += factor * load<Vector>(columns[i] + p + v * width);
      }
    }
  }
#pragma GCC unroll 4
  for (std::int64_t i = 0; i < streams; ++i) {
    std::int64_t end = p;
    for (; end + width <= k; end += width) sums[i][0] += load<Vector>(x + end) * load<Vector>(columns[i] + end);
    if (rest > 0) {
      const Vector w = load_first<Vector>(columns[i] + end, rest);
      sums[i][0] += last * w;
    }
#pragma GCC unroll 8
    for (std::int64_t half = vectors / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
      for (std::int64_t v = 0; v < half; ++v) sums[i][v] += sums[i][v + half];
    }
    store(i * apart, sum_of_lanes<width / 2>(sums[i][0], std::make_integer_sequence<int, width>()));
  }
}

// Computes y[j] = b[j] + x . W[:, j] for columns that are dense in memory. It reads four columns at a time, one of each
// quarter of the range, as four streams.
template <class T, class S>
void along_columns(std::int64_t k, const T* x, Matrix<S> W, const T* bias, T* y, std::int64_t begin, std::int64_t end) {
  const std::int64_t apart = (end - begin) / column_streams;
  const auto dot = [&](auto count, std::int64_t j) {
    dot_columns<count>(k, x, Matrix<S>{W.data + j * W.column_stride, W.row_stride, W.column_stride}, apart,
                       [=](std::int64_t column, T sum) { y[j + column] = bias ? bias[j + column] + sum : sum; });
  };
  for (std::int64_t j = begin; j < begin + apart; ++j) dot(std::integral_constant<std::int64_t, column_streams>{}, j);
  for (std::int64_t j = begin + column_streams * apart; j < end; ++j) dot(std::integral_constant<std::int64_t, 1>{}, j);
}

// Computes columns [begin, end) of y = x W + bias.
template <class T, class S>
void columns_of_product(std::int64_t k, const T* x, Matrix<S> W, const T* bias, T* y, std::int64_t begin,
                        std::int64_t end) {
  if constexpr (std::is_same_v<S, Blocks> || (std::is_same_v<T, double> && !std::is_same_v<S, double>)) {
    // A few columns at a time, which stay in the first cache. Each column's sums have the order of float32.
    const std::int64_t step =
        W.column_stride == 1 ? end - begin
                             : std::max<std::int64_t>(column_streams, (1 << 12) / k / column_streams * column_streams);
    for (std::int64_t j = begin; j < end; j += step) {
      const std::int64_t n = std::min(step, end - j);
      const Matrix<S> part{W.data + j * W.column_stride, W.row_stride, W.column_stride};
      columns_of_product(k, x, widened<T>(k, n, part), bias ? bias + j : nullptr, y + j, 0, n);
    }
  } else if (W.column_stride == 1) {
    along_rows(k, x, W, bias, y, begin, end);
  } else {
    along_columns(k, x, W, bias, y, begin, end);
  }
}

}  // namespace

bool is_row_product(std::int64_t k, std::int64_t n, std::int64_t row_stride, std::int64_t column_stride) {
  return k * n >= min_elements && (column_stride == 1 || (row_stride == 1 && k >= lanes));
}

template <class T, class S>
void row_product(std::int64_t k, std::int64_t n, T alpha, const T* x, std::int64_t x_stride, Matrix<S> W, const T* bias,
                 T* y) {
  std::vector<T> dense;
  if (x_stride != 1 || alpha != T{1}) {
    for (std::int64_t p = 0; p < k; ++p) dense.push_back(alpha * x[p * x_stride]);
    x = dense.data();
  }
  // Ranges of columns with about 64,000 elements, at least a page of each row wide.
  const bool by_rows = W.column_stride == 1;
  const std::int64_t wanted = (std::int64_t{1} << 16) / k / 16 * 16;
  const std::int64_t least = by_rows ? 4096 / static_cast<std::int64_t>(sizeof(T)) : 16;
  parallel_for(n, std::max(wanted, std::min(least, (n + 1) / 2)),
               [&](std::int64_t begin, std::int64_t end) { columns_of_product(k, x, W, bias, y, begin, end); });
}

template void row_product(std::int64_t, std::int64_t, float, const float*, std::int64_t, Matrix<float>, const float*,
                          float*);
template void row_product(std::int64_t, std::int64_t, float, const float*, std::int64_t, Matrix<BFloat16>, const float*,
                          float*);
template void row_product(std::int64_t, std::int64_t, float, const float*, std::int64_t, Matrix<Float16>, const float*,
                          float*);
template void row_product(std::int64_t, std::int64_t, float, const float*, std::int64_t, Matrix<Blocks>, const float*,
                          float*);
template void row_product(std::int64_t, std::int64_t, double, const double*, std::int64_t, Matrix<double>,
                          const double*, double*);
template void row_product(std::int64_t, std::int64_t, double, const double*, std::int64_t, Matrix<float>, const double*,
                          double*);
template void row_product(std::int64_t, std::int64_t, double, const double*, std::int64_t, Matrix<BFloat16>,
                          const double*, double*);
template void row_product(std::int64_t, std::int64_t, double, const double*, std::int64_t, Matrix<Float16>,
                          const double*, double*);
template void row_product(std::int64_t, std::int64_t, double, const double*, std::int64_t, Matrix<Blocks>,
                          const double*, double*);

}  // namespace heed::cpu
