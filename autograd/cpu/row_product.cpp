#include "autograd/cpu/row_product.h"

#include "autograd/cpu/kernels.h"

#include <algorithm>
#include <vector>

namespace heed::cpu {
namespace {

constexpr std::int64_t min_elements = 1 << 11;      // of W; below this, register blocking is as fast
constexpr std::int64_t lanes = 64, few_lanes = 16;  // partial sums of a column that are computed in parallel

// Computes y[j] = b[j] + sum of x[p] W[p, j] for columns [begin, end). It reads eight rows at a time, as eight streams,
// and passes over y once for all of them.
template <class T>
void along_rows(std::int64_t k, const T* x, Matrix<T> W, const T* bias, T* y, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t streams = 8;
  if (bias) {
    std::copy(bias + begin, bias + end, y + begin);
  } else {
    std::fill(y + begin, y + end, T{0});
  }
  std::int64_t p = 0;
  for (; p + streams <= k; p += streams) {
    const T* row = W.data + p * W.row_stride;
    const std::int64_t stride = W.row_stride;
    const T x0 = x[p], x1 = x[p + 1], x2 = x[p + 2], x3 = x[p + 3], x4 = x[p + 4], x5 = x[p + 5], x6 = x[p + 6],
            x7 = x[p + 7];
#pragma omp simd
    for (std::int64_t j = begin; j < end; ++j) {
      const T* w = row + j;
      y[j] += ((x0 * w[0] + x1 * w[stride]) + (x2 * w[2 * stride] + x3 * w[3 * stride])) +
              ((x4 * w[4 * stride] + x5 * w[5 * stride]) + (x6 * w[6 * stride] + x7 * w[7 * stride]));
    }
  }
  for (; p < k; ++p) {
    const T* row = W.data + p * W.row_stride;
    const T factor = x[p];
#pragma omp simd
    for (std::int64_t j = begin; j < end; ++j) y[j] += factor * row[j];
  }
}

// Computes y[j] = b[j] + x . W[:, j] for columns that are dense in memory.
template <class T>
void along_columns(std::int64_t k, const T* x, Matrix<T> W, const T* bias, T* y, std::int64_t begin, std::int64_t end) {
  for (std::int64_t j = begin; j < end; ++j) {
    const T* column = W.data + j * W.column_stride;
    T sums[lanes] = {};
    std::int64_t p = 0;
    for (; p + lanes <= k; p += lanes) {
#pragma omp simd
      for (std::int64_t i = 0; i < lanes; ++i) sums[i] += x[p + i] * column[p + i];
    }
    for (; p + few_lanes <= k; p += few_lanes) {
#pragma omp simd
      for (std::int64_t i = 0; i < few_lanes; ++i) sums[i] += x[p + i] * column[p + i];
    }
    for (std::int64_t half = lanes / 2; half > 0; half /= 2) {
#pragma omp simd
      for (std::int64_t i = 0; i < half; ++i) sums[i] += sums[i + half];
    }
    T sum = sums[0];
    for (; p < k; ++p) sum += x[p] * column[p];
    y[j] = bias ? bias[j] + sum : sum;
  }
}

}  // namespace

bool is_row_product(std::int64_t k, std::int64_t n, std::int64_t row_stride, std::int64_t column_stride) {
  return k * n >= min_elements && (column_stride == 1 || (row_stride == 1 && k >= lanes));
}

template <class T>
void row_product(std::int64_t k, std::int64_t n, T alpha, const T* x, std::int64_t x_stride, Matrix<T> W, const T* bias,
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
  parallel_for(n, std::max(wanted, std::min(least, (n + 1) / 2)), [&](std::int64_t begin, std::int64_t end) {
    by_rows ? along_rows(k, x, W, bias, y, begin, end) : along_columns(k, x, W, bias, y, begin, end);
  });
}

template void row_product(std::int64_t, std::int64_t, float, const float*, std::int64_t, Matrix<float>, const float*,
                          float*);
template void row_product(std::int64_t, std::int64_t, double, const double*, std::int64_t, Matrix<double>,
                          const double*, double*);

}  // namespace heed::cpu
