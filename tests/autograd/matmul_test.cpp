#include "tests/autograd/helpers.h"

#include <heed/autograd/gradcheck/samples.h>

using namespace heed;

namespace {

Shape with(Shape batch, std::int64_t rows, std::int64_t columns) {
  batch.append(rows);
  batch.append(columns);
  return batch;
}

// The largest error of a b in units of the dtype's precision times sum |a| |b|, against sums in double.
double product_error(const Tensor& a, const Tensor& b) {
  const Tensor c = matmul(a, b);
  const std::int64_t m = a.size(-2), n = b.size(-1), k = a.size(-1);
  Naive x(a), y(b), z(c);
  const auto leading = [](const Shape& s) {
    return Shape(std::span(s.begin(), static_cast<std::size_t>(s.rank() - 2)));
  };
  const Shape batch = broadcast_shapes("test", leading(a.shape()), leading(b.shape()));
  if (c.shape() != with(batch, m, n)) return std::numeric_limits<double>::infinity();
  const double unit = c.dtype() == DType::float32 ? 0x1p-23 : 0x1p-52;
  double largest = 0;
  for_each_index(batch, [&](const Shape& index) {
    if (m * n == 0) return;
    const double* A = k ? &x[with(index, 0, 0)] : nullptr;
    const double* B = k ? &y[with(index, 0, 0)] : nullptr;
    const double* C = &z[with(index, 0, 0)];
    std::vector<double> total(static_cast<std::size_t>(n)), size(total);
    for (std::int64_t i = 0; i < m; ++i) {
      std::fill(total.begin(), total.end(), 0.0);
      std::fill(size.begin(), size.end(), 0.0);
      for (std::int64_t p = 0; p < k; ++p) {
        for (std::int64_t j = 0; j < n; ++j) {
          const double product = A[i * k + p] * B[p * n + j];
          total[static_cast<std::size_t>(j)] += product;
          size[static_cast<std::size_t>(j)] += std::abs(product);
        }
      }
      for (std::size_t j = 0; j < total.size(); ++j) {
        const double e = std::abs(C[static_cast<std::size_t>(i * n) + j] - total[j]);
        const double error = e == 0 ? 0 : e / (unit * size[j]);
        largest = error <= largest ? largest : std::isnan(error) ? 1e300 : error;
      }
    }
  });
  return largest;
}

}  // namespace

TEST_CASE("matmul equals naive loops for every size and layout") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  CAPTURE(to_string(dtype));
  Random random(13);
  for (const std::int64_t m : {0, 1, 3, 16, 37}) {
    for (const std::int64_t n : {0, 1, 2, 17, 33}) {
      for (const std::int64_t k : {0, 1, 5, 16, 65}) {
        INFO(m << " x " << k << " x " << n);
        const Tensor a = uniform({m, k}, random, dtype), b = uniform({k, n}, random, dtype);
        const Tensor a_columns = transpose(contiguous(transpose(a)));
        const Tensor b_columns = transpose(contiguous(transpose(b)));
        CHECK(product_error(a, b) < 4);
        CHECK(product_error(a_columns, b) < 4);
        CHECK(product_error(a, b_columns) < 4);
        CHECK(product_error(a_columns, b_columns) < 4);
        CHECK(product_error(scattered(a, random), scattered(b, random)) < 4);  // BLAS does not accept this layout
        CHECK(product_error(broadcast_to(slice(uniform({1, k + 1}, random, dtype), 1, 0, k), {m, k}), b) < 4);
      }
    }
  }
}

TEST_CASE("matmul broadcasts leading axes") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  Random random(14);
  for (const auto& [a, b] : broadcast_pairs()) {
    INFO(to_string(a) << " with " << to_string(b));
    const Tensor x = uniform(with(a, 4, 3), random, dtype), y = uniform(with(b, 3, 5), random, dtype);
    CHECK(product_error(x, y) < 4);
    CHECK(product_error(scattered(x, random), scattered(y, random)) < 4);
  }
}

TEST_CASE("matmul takes vectors as NumPy does") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  Random random(18);
  const Tensor A = uniform({2, 4, 3}, random, dtype), u = uniform({4}, random, dtype), v = uniform({3}, random, dtype);
  const double allowed = dtype == DType::float32 ? 1e-6 : 1e-14;
  CHECK(distance(matmul(A[0], v), sum(A[0] * v, 1)) < allowed);
  CHECK(distance(matmul(u, A[0]), sum(unsqueeze(u, 1) * A[0], 0)) < allowed);
  CHECK(distance(matmul(A, v), sum(A * v, 2)) < allowed);
  CHECK(distance(matmul(u, A), sum(unsqueeze(u, 1) * A, 1)) < allowed);
  CHECK(distance(matmul(v, v), sum(v * v)) < allowed);
  CHECK(distance(matmul(transpose(A[1]), transpose(A[0])[2]), sum(transpose(A[1]) * transpose(A[0])[2], 1)) < allowed);
  CHECK(matmul(zeros({0}, dtype), zeros({0}, dtype)).item() == 0);
  const Tensor weight = variable(A), x = variable(v);
  const Recording recording;
  const Tensor gradient = backward(sum(square(matmul(weight, x))), {.record = true})[x];  // 2 A^T A x
  CHECK(distance(gradient.detach(), 2 * sum(matmul(transpose(A), matmul(A, unsqueeze(v, 1))), {0, 2})) < 10 * allowed);
  CHECK(distance(backward(sum(gradient))[x], 2 * sum(matmul(transpose(A), A), {0, 1})) < 10 * allowed);
}

TEST_CASE("Inner and outer products equal sums and products of elements") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  Random random(19);
  const double allowed = dtype == DType::float32 ? 2e-7 : 1e-15;
  const auto draw = [&](const Shape& shape) { return uniform(shape, random, dtype, 0.5, 1); };
  for (const std::int64_t k : {1, 7, 16, 1000, 200000}) {
    const Tensor u = draw({k}), v = draw({k}), exact = sum(u.to(DType::float64) * v.to(DType::float64));
    CHECK(std::abs(matmul(u, v).item() / exact.item() - 1) < allowed);
    CHECK(std::abs(matmul(slice(draw({2 * k}), 0, 0, to_end, 2), v).item()) > 0);
  }
  const Tensor a = draw({5, 3, 1, 33}), b = draw({3, 33, 1}), few = draw({33});
  CHECK(distance(matmul(a, b), sum(a * transpose(b), -1, true)) < 20 * allowed);
  CHECK(distance(matmul(transpose(transpose(a, 0, 1), 0, 1), few), sum(a * few, -1)) < 20 * allowed);
  const Tensor column = draw({2, 4, 1}), row = draw({1, 6});
  CHECK(distance(matmul(column, row), column * row) == 0);
  CHECK(distance(matmul(transpose(row), transpose(column)), transpose(row) * transpose(column)) == 0);
}

TEST_CASE("Large products, and long sums split into parts, are as accurate as small ones") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  Random random(15);
  const auto draw_product = [&](std::int64_t m, std::int64_t k, std::int64_t n) {
    return product_error(uniform({m, k}, random, dtype), transpose(uniform({n, k}, random, dtype)));
  };
  CHECK(draw_product(300, 500, 700) < 4);
  CHECK(draw_product(64, 5000, 64) < 4);
  CHECK(draw_product(1, 3000, 1) < 4);
  CHECK(draw_product(300, 7, 600) < 4);
  CHECK(product_error(uniform({3, 70, 90}, random, dtype), uniform({90, 40}, random, dtype)) < 4);
}

#if defined(__SSE__)
TEST_CASE("Only products treat subnormal numbers as 0, with any number of threads") {
  const int k = GENERATE(8, 2048);
  for (const int count : {1, 2, 3}) {
    const Threads so_many(count);
    for (const Tensor& c :
         {matmul(full({8, k}, 1e-39), ones({k, 16})), matmul(full({8, k}, 1e-20), full({k, 16}, 1e-25)),
          linear(ones({8, k}), full({k, 16}, -1e-39), {})}) {
      CHECK(c.to_vector() == std::vector<double>(8 * 16, 0));
    }
    CHECK((full({100000}, 1e-39) + zeros({100000})).at({99999}) > 0);
  }
}
#endif

TEST_CASE("linear equals matmul plus the bias") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  Random random(16);
  for (const Shape& shape : {Shape{6}, Shape{3, 6}, Shape{2, 3, 6}, Shape{4, 2000}, Shape{0, 6}, Shape{2, 0}}) {
    INFO(to_string(shape));
    const std::int64_t n = shape[-1];
    const Tensor x = scattered(uniform(shape, random, dtype), random);
    const Tensor W = scattered(uniform({n, 5}, random, dtype), random);
    const Tensor b = scattered(uniform({5}, random, dtype), random);
    const Tensor rows = shape.rank() == 1 ? reshape(x, {1, n}) : x;
    Shape expected = shape;
    expected[-1] = 5;
    const double allowed = dtype == DType::float32 ? 1e-4 : 1e-12;
    CHECK(distance(linear(x, W, b), reshape(matmul(rows, W) + b, expected)) < allowed);
    CHECK(distance(linear(x, W, {}), reshape(matmul(rows, W), expected)) < allowed);
  }
}

TEST_CASE("Wrong use of products throws an Error that states what was expected") {
  const Tensor x = zeros({2, 3}), wide = x.to(DType::float64);
  check_messages(
      {{"matmul: inner dimensions must match: (2, 3) x (2, 3): 3 != 2. Did you mean transpose(b)?",
        [&] { matmul(x, x); }},
       {"matmul: inner dimensions must match: (8, 12, 64) x (32, 64): 64 != 32. Did you mean transpose(b)?",
        [&] {
          matmul(zeros({8, 12, 64}), zeros({32, 64}));
        }},
       {"matmul: inner dimensions must match: (2, 3) x (4, 5): 3 != 4",
        [&] {
          matmul(x, zeros({4, 5}));
        }},
       {"matmul: inner dimensions must match: (2, 3) x (2): 3 != 2", [&] { matmul(x, zeros({2})); }},
       {"matmul: inner dimensions must match: (3) x (2, 3): 3 != 2. Did you mean transpose(b)?",
        [&] { matmul(zeros({3}), x); }},
       {"matmul: inner dimensions must match: (3) x (2): 3 != 2", [&] { matmul(zeros({3}), zeros({2})); }},
       {"matmul: expected matrices (..., n, k) x (..., k, m) or vectors (k), got () x (2, 3)",
        [&] { matmul(zeros({}), x); }},
       {"linear: expected (..., n) x (n, m), got (2, 3) x (3)", [&] { linear(x, zeros({3}), {}); }},
       {"matmul: both tensors must have one dtype, got float32 (2, 3) x float64 (3, 2); convert one with "
        "to(DType::float64)",
        [&] { matmul(x, transpose(wide)); }},
       {"matmul: shapes (2) and (3) do not broadcast: 2 != 3 at axis -1. Sizes must be equal, or one of them 1",
        [&] {
          matmul(zeros({2, 4, 5}), zeros({3, 5, 4}));
        }},
       {"linear: W (3, 4) needs a bias of shape (4), got (3)",
        [&] {
          linear(x, zeros({3, 4}), zeros({3}));
        }},
       {"linear: x (2, 3) is float64, but the bias is float32; convert one with to(DType::float32)", [&] {
          linear(x.to(DType::float64), zeros({3, 4}), zeros({4}));
        }}});
}
