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

// Computes the product of each column of x (rows, columns), whose rows begin every `step` elements.
template <class T>
void products_of_columns(const T* x, std::int64_t rows, std::int64_t columns, std::int64_t step, T* to) {
  constexpr std::int64_t tile = 512;
  cpu::parallel_for((columns + tile - 1) / tile, 1, [=](std::int64_t index, std::int64_t) {
    const std::int64_t first = index * tile, width = std::min(tile, columns - first);
    std::array<double, tile> products;
    products.fill(1);
    for (std::int64_t r = 0; r < rows; ++r) {
      const T* const row = x + first + r * step;
      for (std::int64_t c = 0; c < width; ++c) products[static_cast<std::size_t>(c)] *= static_cast<double>(row[c]);
    }
    std::transform(products.begin(), products.begin() + width, to + first, [](double p) { return static_cast<T>(p); });
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

// The product of each row: x (m, n) -> (m).
static Tensor product_of_rows(const Tensor& x) {
  const std::int64_t m = x.size(0), n = x.size(1);
  const bool has_columns = x.strides()[0] == 1 && m >= cpu::min_columns && n > 0;
  const Tensor dense = has_columns ? x.detach() : contiguous(x.detach());
  Tensor y({m}, x.dtype(), "prod");
  dispatch(x.dtype(), [&]<class T>() {
    const T* const from = dense.data<T>();
    T* const to = y.mutable_data<T>();
    if (has_columns) return products_of_columns(from, n, m, x.strides()[1], to);
    cpu::for_rows(m, n, [=](std::int64_t r) { to[r] = static_cast<T>(product_of_row(from + r * n, n)); });
  });
  return record(
      prod_operation, {&x}, y, Saved(x),
      [](const Tensor& dy, const Tensor& X) { return std::vector{products_of_others(dy, X)}; },
      Recordable([m, n](const Tensor& dy, const Tensor& X) {
        // row i of (n, n) holds all elements but element i
        const Ids counted = arange_ids(0, static_cast<std::int32_t>(n));
        const Booleans is_itself = equal(reshape(counted, {n, 1}), reshape(counted, {1, n}));
        const Tensor others = masked_fill(broadcast_to(reshape(X, {m, 1, n}), {m, n, n}), is_itself, 1);
        return std::vector{reshape(dy, {m, 1}) * prod(others, {2})};
      }));
}

Tensor prod(const Tensor& x, const Axes& axes, bool keepdim) {
  const cpu::Split s = cpu::split_axes("prod", x, axes, x.strides());
  const std::vector<bool> is_reduced = cpu::chosen_axes("prod", x, axes);
  std::vector<int> order, reduced;
  for (int a = 0; a < x.rank(); ++a) (is_reduced[static_cast<std::size_t>(a)] ? reduced : order).push_back(a);
  order.insert(order.end(), reduced.begin(), reduced.end());
  const Tensor rows = reshape(permute(x, order), {s.kept.numel("prod"), s.reduced.numel("prod")});
  return reshape(product_of_rows(rows), keepdim ? s.output_keepdim : s.output);
}

}  // namespace heed
