#include "autograd/cpu/kernels.h"
#include "autograd/cpu/reductions.h"

#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <vector>

namespace heed {
namespace {

// Returns the product of n numbers, as 32 products whose multiplications overlap. (g++ keeps arrays of eight in registers.)
template <class T>
double product_of_row(const T* x, std::int64_t n) {
  if (n < 8) return std::accumulate(x, x + n, 1.0, std::multiplies());
  std::array<double, 8> a, b, c, d;
  for (auto* parts : {&a, &b, &c, &d}) parts->fill(1);
  const auto multiply = [x](std::array<double, 8>& parts, std::int64_t first) {
    for (std::size_t l = 0; l < 8; ++l) parts[l] *= static_cast<double>(x[first + static_cast<std::int64_t>(l)]);
  };
  std::int64_t i = 0;
  for (; i + 32 <= n; i += 32) {
    multiply(a, i);
    multiply(b, i + 8);
    multiply(c, i + 16);
    multiply(d, i + 24);
  }
  for (; i + 8 <= n; i += 8) multiply(a, i);
  for (std::size_t l = 0; l < 8; ++l) a[l] *= b[l] * c[l] * d[l];
  for (std::size_t l = 0; i < n; ++i, ++l) a[l] *= static_cast<double>(x[i]);
  return std::accumulate(a.begin(), a.end(), 1.0, std::multiplies());
}

// Computes the product of each column of each matrix of x (matrices, rows, columns).
template <class T>
void products_of_columns(const T* x, std::int64_t matrices, std::int64_t rows, std::int64_t columns, T* to) {
  constexpr std::int64_t tile = 512;
  const std::int64_t tiles = (columns + tile - 1) / tile;
  cpu::for_rows(matrices * tiles, rows * std::min(columns, tile), [=](std::int64_t task) {
    const std::int64_t matrix = task / tiles, first = task % tiles * tile, width = std::min(tile, columns - first);
    std::array<double, tile> products;
    std::fill_n(products.begin(), width, 1.0);
    for (std::int64_t r = 0; r < rows; ++r) {
      const T* const row = x + (matrix * rows + r) * columns + first;
      for (std::int64_t c = 0; c < width; ++c) products[static_cast<std::size_t>(c)] *= static_cast<double>(row[c]);
    }
    std::transform(products.begin(), products.begin() + width, to + matrix * columns + first,
                   [](double p) { return static_cast<T>(p); });
  });
}

// Returns dy times the product of the other elements of each row (m, n): what comes before an element times what comes after it,
// so that no quotient meets a zero.
Tensor products_of_others(const Tensor& dy, const Tensor& x) {
  const std::int64_t m = x.size(0), n = x.size(1);
  const Tensor dense = contiguous(x.detach()), dense_dy = contiguous(dy);
  Tensor dx(x.shape(), x.dtype());
  dispatch(x.dtype(), [&]<class T>() {
    const T *const from = dense.data<T>(), *const g = dense_dy.data<T>();
    T* const to = dx.mutable_data<T>();
    cpu::parallel_for(m, cpu::row_grain(m, n), [=](std::int64_t begin, std::int64_t end) {
      std::vector<double> before(static_cast<std::size_t>(n));
      for (std::int64_t r = begin; r < end; ++r) {
        const T* const row = from + r * n;
        double product = static_cast<double>(g[r]);
        for (std::int64_t j = 0; j < n; ++j) {
          before[static_cast<std::size_t>(j)] = product;
          product *= static_cast<double>(row[j]);
        }
        product = 1;
        for (std::int64_t j = n; j-- > 0;) {
          to[r * n + j] = static_cast<T>(before[static_cast<std::size_t>(j)] * product);
          product *= static_cast<double>(row[j]);
        }
      }
    });
  });
  return dx;
}

}  // namespace

static const Operation prod_operation("prod", "y = product of x over axes, in double",
                                      "dx = dy times the product of the other elements",
                                      [] { return cpu::reduction_samples(prod, Argument::Values::any, true); });

// The product of each column: x (o, n, i) -> (o, i), with i = 1 or of at least cpu::min_columns.
static Tensor product_of_columns(const Tensor& x) {
  const std::int64_t o = x.size(0), n = x.size(1), i = x.size(2), m = o * i;
  const Tensor dense = contiguous(x.detach());
  Tensor y({o, i}, x.dtype(), "prod");
  dispatch(x.dtype(), [&]<class T>() {
    const T* const from = dense.data<T>();
    T* const to = y.mutable_data<T>();
    if (i > 1) return products_of_columns(from, o, n, i, to);
    cpu::for_rows(o, n, [=](std::int64_t r) { to[r] = static_cast<T>(product_of_row(from + r * n, n)); });
  });
  return record(
      prod_operation, {&x}, y, Saved(x),
      [=](const Tensor& dy, const Tensor& X) {
        const Tensor rows = reshape(transpose(X.detach(), 1, 2), {m, n});
        return std::vector{transpose(reshape(products_of_others(reshape(dy, {m}), rows), {o, i, n}), 1, 2)};
      },
      Recordable([=](const Tensor& dy, const Tensor& X) {
        // row j of (n, n) holds all elements but element j
        const Ids counted = arange_ids(0, static_cast<std::int32_t>(n));
        const Booleans is_itself = equal(reshape(counted, {n, 1}), reshape(counted, {1, n}));
        const Tensor rows = reshape(transpose(X, 1, 2), {m, 1, n});
        const Tensor others = prod(masked_fill(broadcast_to(rows, {m, n, n}), is_itself, 1), {2});
        return std::vector{transpose(reshape(reshape(dy, {m, 1}) * others, {o, i, n}), 1, 2)};
      }));
}

Tensor prod(const Tensor& x, const Axes& axes, bool keepdim) {
  const cpu::Split s = cpu::split_axes("prod", x, axes, x.strides());
  const std::vector<bool> is_reduced = cpu::chosen_axes("prod", x, axes);
  std::vector<int> order, reduced;
  for (int a = 0; a < x.rank(); ++a) (is_reduced[static_cast<std::size_t>(a)] ? reduced : order).push_back(a);
  const std::int64_t m = s.kept.numel("prod"), n = s.reduced.numel("prod");
  const std::int64_t inner = reduced.empty() ? 1 : row_major_strides(x.shape())[reduced.back()];
  const bool is_adjacent = !reduced.empty() && reduced.back() - reduced.front() + 1 == std::ssize(reduced);
  Tensor parts;
  if (is_adjacent && x.is_contiguous() && inner >= cpu::min_columns) {
    parts = reshape(x, {m / inner, n, inner});
  } else {
    order.insert(order.end(), reduced.begin(), reduced.end());
    const Tensor rows = reshape(permute(x, order), {m, n});
    const bool has_columns = rows.strides()[0] == 1 && m >= cpu::min_columns && n > 0;
    parts = has_columns ? unsqueeze(transpose(rows), 0) : unsqueeze(rows, 2);
  }
  return reshape(product_of_columns(parts), keepdim ? s.output_keepdim : s.output);
}

}  // namespace heed
