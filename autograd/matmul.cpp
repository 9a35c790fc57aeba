#include "autograd/cpu/bfloat16_gemm.h"
#include "autograd/cpu/blas.h"
#include "autograd/cpu/int8_product.h"
#include "autograd/cpu/kernels.h"
#include "autograd/cpu/reductions.h"
#include "autograd/cpu/row_product.h"
#include "autograd/cpu/subnormals.h"
#include "autograd/cpu/widen.h"

#include <heed/autograd/autocast.h>
#include <heed/autograd/gradcheck/samples.h>
#include <heed/autograd/machine.h>
#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>

#include <algorithm>
#include <span>
#include <vector>

namespace heed {
namespace {

// The tiles of one (m x k) (k x n) product. They depend only on the sizes.
struct Tiling {
  std::int64_t m, n, k;
  std::int64_t tile_m, tile_n, tile_k;
  std::int64_t rows, columns, parts;  // number of tiles along m, n, k
  Precision precision;                // of float32 operands

  Tiling(std::int64_t m_, std::int64_t n_, std::int64_t k_, std::int64_t batches, Precision precision_)
      : m(m_), n(n_), k(k_), precision(precision_) {
    // Halves the product into up to 8 equal tiles of at least a million operations, so that two, four or eight threads
    // are balanced. Tiles have twice as many rows as columns, because each packs b again. Below 128 rows or columns
    // this costs more than it gains. Products of bfloat16 take so little time that packing counts: up to 4 tiles.
    const std::int64_t wanted =
        std::clamp<std::int64_t>(2 * m * n * k / 1'000'000, 1, precision == Precision::bfloat16 ? 4 : 8);
    rows = columns = 1;
    while (rows * columns < wanted) {
      const std::int64_t height = m / rows, width = n / columns;
      if (std::max(height, width) < 2 * 128) break;
      (height >= 2 * width ? rows : columns) *= 2;
    }
    const auto split = [](std::int64_t size, std::int64_t pieces) {
      return std::max<std::int64_t>(8, (size + 8 * pieces - 1) / (8 * pieces) * 8);
    };
    tile_m = split(m, rows);
    tile_n = split(n, columns);
    rows = (m + tile_m - 1) / tile_m;
    columns = (n + tile_n - 1) / tile_n;
    parts = 1;  // splits a long inner axis into 2, 4, 8 or 16 equal parts of at most 256, or into 16
    if (batches == 1 && rows * columns < 4 && k >= 512) {
      while (parts < 16 && k > 256 * parts) parts *= 2;
    }
    tile_k = std::max<std::int64_t>(1, (k + parts - 1) / parts);
    parts = std::max<std::int64_t>(1, (k + tile_k - 1) / tile_k);
  }
};

template <class T, class S>
void multiply_tile(const Tiling& t, std::int64_t tile, cpu::Matrix<T> A, cpu::Matrix<S> B, T* C, const T* bias) {
  const std::int64_t i = tile / t.columns * t.tile_m, j = tile % t.columns * t.tile_n;
  const std::int64_t rows = std::min(t.tile_m, t.m - i), columns = std::min(t.tile_n, t.n - j);
  T* c = C + i * t.n + j;
  if (bias) {
    for (std::int64_t r = 0; r < rows; ++r) std::copy_n(bias + j, columns, c + r * t.n);
  }
  A.data += i * A.row_stride;
  B.data += j * B.column_stride;
  cpu::gemm(t.precision, rows, columns, t.k, T{1}, A, B, bias ? T{1} : T{0}, c, t.n);
}

// Computes long sums over k in parts of fixed length, then adds the parts in order.
template <class T, class S>
void multiply_parts(const Tiling& t, cpu::Matrix<T> A, cpu::Matrix<S> B, T* C, const T* bias) {
  Tensor partial({t.parts, t.m, t.n}, dtype_of<T>);
  T* parts = partial.mutable_data<T>();
  cpu::parallel_for(t.parts, 1, [&](std::int64_t part, std::int64_t) {
    const cpu::DenormalsAreZero all_normal;
    const std::int64_t p = part * t.tile_k, length = std::min(t.tile_k, t.k - p);
    const cpu::Matrix<T> a{A.data + p * A.column_stride, A.row_stride, A.column_stride};
    const cpu::Matrix<S> b{B.data + p * B.row_stride, B.row_stride, B.column_stride};
    cpu::gemm(t.precision, t.m, t.n, length, T{1}, a, b, T{0}, parts + part * t.m * t.n, t.n);
  });
  cpu::parallel_for(t.m * t.n, cpu::row_grain(t.m * t.n), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) C[i] = parts[i] + (bias ? bias[i % t.n] : T{0});
    for (std::int64_t part = 1; part < t.parts; ++part) {
      const T* from = parts + part * t.m * t.n;
      for (std::int64_t i = begin; i < end; ++i) C[i] += from[i];
    }
  });
}

Tensor blas_layout(const char* operation, const Tensor& x) {
  const bool fits = cpu::is_blas_layout(x.size(-2), x.size(-1), x.strides()[-2], x.strides()[-1], operation);
  return fits ? x : x.detach().clone();
}

// The axes of a stack of matrices.
Shape leading(const Shape& shape) {
  return Shape(std::span<const std::int64_t>(shape.begin(), static_cast<std::size_t>(shape.rank() - 2)));
}

// Computes the inner product of each pair of rows of k elements.
template <class T>
void multiply_rows(std::int64_t k, const Shape& batch, const Shape& strides_a, const Shape& strides_b, const T* a,
                   const T* b, T* y) {
  if (batch.numel() == 1) {
    y[0] = static_cast<T>(cpu::total_of_parts(
        k, [=](std::int64_t begin, std::int64_t n) { return cpu::dot_row(a + begin, b + begin, n); }));
    return;
  }
  const cpu::Walk<2> walk(batch, {&strides_a, &strides_b});
  const std::int64_t n = walk.size[0];
  cpu::parallel_for(
      batch.numel() / n, cpu::row_grain(batch.numel() / n, n * k), [&](std::int64_t begin, std::int64_t end) {
        walk.rows(begin, end, [&](std::int64_t first, const std::array<std::int64_t, 2>& offset) {
          for (std::int64_t i = 0; i < n; ++i) {
            y[first + i] = static_cast<T>(
                cpu::dot_row(a + offset[0] + i * walk.stride[0][0], b + offset[1] + i * walk.stride[1][0], k));
          }
        });
      });
}

// Computes y (batch..., m, n) = a b (+ bias), with elements S in b.
template <class T, class S>
void multiply(const Tiling& tiling, const Shape& batch, const Tensor& a, const Tensor& b, const Tensor& bias,
              Tensor& y) {
  const Shape strides_a = cpu::broadcast_strides(leading(a.shape()), leading(a.strides()), batch);
  const Shape strides_b = cpu::broadcast_strides(leading(b.shape()), leading(b.strides()), batch);
  const cpu::Matrix<T> A{a.data<T>(), a.strides()[-2], a.strides()[-1]};
  const cpu::Matrix<S> B{cpu::first_number<S>(b), b.strides()[-2], b.strides()[-1]};
  const T* bias_data = bias.defined() ? bias.data<T>() : nullptr;
  T* C = y.mutable_data<T>();
  if constexpr (std::is_same_v<T, float> && std::is_same_v<S, cpu::Blocks>) {
    if (tiling.precision == Precision::int8 && batch.numel() == 1 && cpu::is_int8_product(tiling.k, tiling.n, B)) {
      return cpu::int8_product(tiling.m, tiling.n, tiling.k, A, B, bias_data, C);
    }
  }
  constexpr bool is_exact = std::is_same_v<T, float> && std::is_same_v<S, BFloat16>;  // W, when it is rounded
  const bool rounds = tiling.precision == Precision::bfloat16;
  if constexpr (std::is_same_v<T, S>) {
    if (tiling.m == 1 && tiling.n == 1 && tiling.precision == Precision::float32 && !bias_data) {
      return multiply_rows(tiling.k, batch, strides_a, strides_b, A.data, B.data, C);
    }
  }
  if ((is_exact || !rounds) && tiling.m == 1 && batch.numel() == 1 &&
      cpu::is_row_product(tiling.k, tiling.n, B.row_stride, B.column_stride)) {
    const Tensor x = rounds ? a.detach().to(DType::bfloat16).to(a.dtype()) : a;
    return cpu::row_product(tiling.k, tiling.n, T{1}, x.data<T>(), x.strides()[-1], B, bias_data, C);
  }
  if constexpr (std::is_same_v<S, float> || is_exact) {
    if (rounds && batch.numel() == 1 && tiling.parts == 1 && cpu::uses_bfloat16_unit(tiling.m, tiling.n, tiling.k)) {
      Tiling whole = tiling;
      whole.tile_m = tiling.m, whole.tile_n = tiling.n, whole.rows = whole.columns = 1;
      return multiply_tile(whole, 0, A, B, C, bias_data);
    }
  }
  if (tiling.parts > 1) return multiply_parts(tiling, A, B, C, bias_data);
  const cpu::Walk<2> walk(batch, {&strides_a, &strides_b});
  const std::int64_t tiles = tiling.rows * tiling.columns;
  const std::int64_t work = std::max<std::int64_t>(1, tiling.tile_m * tiling.tile_n * tiling.k);
  cpu::parallel_for(
      batch.numel() * tiles, std::max<std::int64_t>(1, 131072 / work), [&](std::int64_t begin, std::int64_t end) {
        const cpu::DenormalsAreZero all_normal;
        for (std::int64_t task = begin; task < end; ++task) {
          const std::int64_t item = task / tiles, inner = item % walk.size[0];
          walk.rows(item / walk.size[0], item / walk.size[0] + 1,
                    [&](std::int64_t, const std::array<std::int64_t, 2>& offset) {
                      cpu::Matrix<T> left = A;
                      cpu::Matrix<S> right = B;
                      left.data += offset[0] + inner * walk.stride[0][0];
                      right.data += offset[1] + inner * walk.stride[1][0];
                      multiply_tile(tiling, task % tiles, left, right, C + item * tiling.m * tiling.n, bias_data);
                    });
        }
      });
}

// y = a b (+ bias): a (..., m, k), b (..., k, n) with broadcast leading axes, bias (n).
Tensor product(const char* operation, const Tensor& a_any, const Tensor& b_any, const Tensor& bias = {}) {
  blas_description();  // loads the library before any thread needs it
  Tensor a = blas_layout(operation, a_any), b = blas_layout(operation, b_any);
  const Shape batch = broadcast_shapes(operation, leading(a.shape()), leading(b.shape()));
  const Tiling tiling(a.size(-2), b.size(-1), a.size(-1), batch.numel(operation), Autocast::precision(a.dtype()));
  const bool is_inner = tiling.m == 1 && tiling.n == 1;
  if ((tiling.k == 1 || is_inner) && !bias.defined() && tiling.precision == Precision::float32) {
    b = b.detach().to(a.dtype());
    if (!is_inner) return cpu::map(operation, a.detach(), b, [](auto u, auto v) { return u * v; });
    if (a.strides()[-1] != 1) a = a.detach().clone();
    if (b.strides()[-2] != 1) b = b.clone();
  }
  Shape shape = batch;
  shape.append(tiling.m);
  shape.append(tiling.n);
  Tensor y(shape, a.dtype(), operation);
  if (y.numel() == 0) return y;
  dispatch(a.dtype(), [&]<class T>() {
    if (a.dtype() == b.dtype()) {
      multiply<T, T>(tiling, batch, a, b, bias, y);
    } else if (b.dtype() == DType::float32) {
      multiply<T, float>(tiling, batch, a, b, bias, y);
    } else {
      cpu::dispatch_stored_only(b.dtype(), [&]<class S>() { multiply<T, S>(tiling, batch, a, b, bias, y); });
    }
  });
  return y;
}

// (..., n) -> (rows, n)
Tensor as_rows(const Tensor& x) {
  const Shape leading(std::span(x.shape().begin(), x.shape().end() - 1));
  return reshape(x, {leading.numel("matmul"), x.size(-1)});
}
Tensor rows_of(const Tensor& x) { return as_rows(x.detach()); }

void check_product(const char* operation, const Tensor& a, const Tensor& b, bool b_is_matrix) {
  check_defined(operation, {&a, &b});
  if (b_is_matrix ? a.rank() < 1 || b.rank() != 2 : a.rank() < 1 || b.rank() < 1) {
    fail("{}: expected {}, got {} x {}", operation,
         b_is_matrix ? "(..., n) x (n, m)" : "matrices (..., n, k) x (..., k, m) or vectors (k)", to_string(a.shape()),
         to_string(b.shape()));
  }
  if (is_stored_only(a.dtype()) && a.dtype() == b.dtype()) detail::fail_only_stored(a.dtype());
  const bool widens_b = is_stored_only(b.dtype()) || b.dtype() == DType::float32;
  if (a.dtype() != b.dtype() && (is_stored_only(a.dtype()) || !widens_b)) {
    fail("{}: both tensors must have one dtype, got {} {} x {} {}; convert one with to(DType::{})", operation,
         to_string(a.dtype()), to_string(a.shape()), to_string(b.dtype()), to_string(b.shape()), to_string(b.dtype()));
  }
  const std::int64_t inner = b.size(b.rank() == 1 ? 0 : -2);
  if (a.size(-1) != inner) {
    fail("{}: inner dimensions must match: {} x {}: {} != {}{}", operation, to_string(a.shape()), to_string(b.shape()),
         a.size(-1), inner, !b_is_matrix && a.size(-1) == b.size(-1) ? ". Did you mean transpose(b)?" : "");
  }
}

}  // namespace

static std::vector<GradientSample> matmul_samples() {
  std::vector<std::pair<Shape, Shape>> pairs;
  for (auto [a, b] : broadcast_pairs()) {
    if (a.rank() > 2 || b.rank() > 2) continue;
    a.append(2), a.append(3);
    b.append(3), b.append(2);
    pairs.emplace_back(a, b);
  }
  pairs.insert(pairs.end(), {{{1, 1}, {1, 1}},
                             {{0, 3}, {3, 2}},
                             {{2, 0}, {0, 3}},
                             {{2, 3}, {3, 0}},
                             {{2, 2}, {2, 2}},
                             {{2, 1, 3}, {2, 3, 1}},
                             {{3}, {3}},
                             {{2, 3}, {3}},
                             {{3}, {3, 2}},
                             {{2, 2, 3}, {3}},
                             {{3}, {2, 3, 2}},
                             {{0, 3}, {3}},
                             {{0}, {0}}});
  std::vector<GradientSample> samples;
  for (const auto& [a, b] : pairs) {
    samples.push_back({to_string(a) + " x " + to_string(b), {{a}, {b}}, [](auto& x) { return matmul(x[0], x[1]); }});
  }
  return samples;
}
static const Operation matmul_operation("matmul", "y = a b", "da = dy b^T, db = a^T dy", matmul_samples,
                                        {.broadcasts = true});
Tensor matmul(const Tensor& a, const Tensor& b) {
  check_product("matmul", a, b, false);
  if (a.rank() == 1) return squeeze(matmul(unsqueeze(a, 0), b), b.rank() == 1 ? 0 : -2);
  if (b.rank() == 1) return squeeze(matmul(a, unsqueeze(b, 1)), -1);
  Tensor y;
  if (b.rank() == 2 && a.rank() > 2) {  // a single product over all rows of a
    Shape shape = a.shape();
    shape[-1] = b.size(-1);
    y = reshape(product("matmul", rows_of(a), b), shape);
  } else {
    y = product("matmul", a, b);
  }
  return record(matmul_operation, {&a, &b}, y, Saved(a, b),
                Recordable([](const Tensor& dy, const NeedsInputGrad& needs, auto& A, auto& B) {
                  const bool in_one = B.rank() == 2;
                  Tensor da, db;
                  if (needs[0]) da = matmul(dy, transpose(B));
                  if (needs[1])
                    db = matmul(transpose(in_one ? as_rows(A) : A), in_one ? as_rows(dy) : dy).to(B.dtype());
                  return std::vector{da, db};
                }));
}

static const Operation linear_operation(
    "linear", "y = x W + b", "dx = dy W^T, dW = x^T dy, db = sum(dy) over rows", [] {
      std::vector<GradientSample> samples;
      for (const Shape& x : {Shape{3}, Shape{2, 3}, Shape{2, 2, 3}, Shape{0, 3}}) {
        samples.push_back(
            {to_string(x) + " with bias", {{x}, {{3, 2}}, {{2}}}, [](auto& t) { return linear(t[0], t[1], t[2]); }});
        samples.push_back({to_string(x) + " without", {{x}, {{3, 2}}}, [](auto& t) { return linear(t[0], t[1], {}); }});
      }
      return samples;
    });
Tensor linear(const Tensor& x, const Tensor& W, const Tensor& b) {
  check_product("linear", x, W, true);
  if (b.defined() && (b.shape() != Shape{W.size(1)} || b.dtype() != x.dtype())) {
    if (b.shape() == Shape{W.size(1)}) {
      fail("linear: x {} is {}, but the bias is {}; convert one with to(DType::{})", to_string(x.shape()),
           to_string(x.dtype()), to_string(b.dtype()), to_string(b.dtype()));
    }
    fail("linear: W {} needs a bias of shape ({}), got {}", to_string(W.shape()), W.size(1), to_string(b.shape()));
  }
  Shape shape = x.shape();
  shape[-1] = W.size(1);
  const Tensor y = reshape(product("linear", rows_of(x), W.detach(), b.defined() ? contiguous(b.detach()) : b), shape);
  return record(
      linear_operation, {&x, &W, &b}, y, Saved(Recorder::is_constant(W) ? Tensor() : x, W),
      [from = x.shape()](const Tensor& dy, const NeedsInputGrad& needs, auto& X, auto& weight) {
        const Tensor dy_rows = rows_of(dy);
        Tensor dx, dW, db;
        if (needs[0]) dx = reshape(product("linear", dy_rows, transpose(weight.detach())), from);
        if (needs[1]) {
          // strided like W, so that the gradient of a transposed matrix is contiguous after transposing back
          dW = weight.strides()[0] == 1 && weight.size(0) > 1
                   ? transpose(product("linear", transpose(dy_rows), rows_of(X)))
                   : product("linear", transpose(rows_of(X)), dy_rows);
          dW = dW.to(weight.dtype());
        }
        if (needs[2]) db = sum(dy_rows, {0});
        return std::vector{dx, dW, db};
      },
      Recordable([](const Tensor& dy, const NeedsInputGrad& needs, auto& X, auto& weight) {
        const Tensor dy_rows = as_rows(dy);
        Tensor dx, dW, db;
        if (needs[0]) dx = linear(dy, transpose(weight), {});
        if (needs[1]) dW = matmul(transpose(as_rows(X)), dy_rows).to(weight.dtype());
        if (needs[2]) db = sum(dy_rows, {0});
        return std::vector{dx, dW, db};
      }));
}

}  // namespace heed
