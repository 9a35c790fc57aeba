#include "autograd/cpu/row_product.h"

#include "tests/autograd/helpers.h"

using namespace heed;

TEST_CASE("A one-row product equals that row of a larger product, for any layout of W and any threads") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  const auto [k, n] =
      GENERATE(table<std::int64_t, std::int64_t>({{128, 512}, {67, 2051}, {2051, 67}, {1, 20000}, {20000, 1}}));
  const bool transposed = GENERATE(false, true);
  CAPTURE(to_string(dtype), k, n, transposed);
  Random random(1);
  const Tensor x = uniform({16, k}, random).to(dtype), b = uniform({n}, random).to(dtype);
  const Tensor W = transposed ? transpose(uniform({n, k}, random).to(dtype)) : uniform({k, n}, random).to(dtype);
  const double margin = dtype == DType::float32 ? 1e-4 : 1e-11;
  const Tensor many = linear(x, W, b), of_columns = transpose(transpose(x).clone());
  const int before = threads();
  for (const std::int64_t row : {0, 15}) {
    set_threads(1);
    const Tensor one = linear(slice(x, 0, row, row + 1), W, b);
    CHECK(distance(one, slice(many, 0, row, row + 1)) < margin);
    CHECK(distance(matmul(slice(of_columns, 0, row, row + 1), W) + b, one) < margin);
    for (const int count : {2, 3}) {
      set_threads(count);
      CHECK(same_bits(linear(slice(x, 0, row, row + 1), W, b), one));
    }
  }
  set_threads(before);
}

TEST_CASE("is_row_product accepts large matrices stored by rows or by columns") {
  CHECK(cpu::is_row_product(128, 128, 128, 1));
  CHECK(cpu::is_row_product(128, 128, 1, 128));
  CHECK_FALSE(cpu::is_row_product(128, 128, 256, 2));
  CHECK(cpu::is_row_product(28, 256, 256, 1));
  CHECK_FALSE(cpu::is_row_product(28, 256, 1, 28));  // columns too short
  CHECK_FALSE(cpu::is_row_product(16, 14, 14, 1));
}

TEST_CASE("A one-row gemm applies alpha and beta") {
  const double alpha = 0.5, beta = GENERATE(0.0, 1.0);
  const bool transposed = GENERATE(false, true);
  constexpr std::int64_t k = 67, n = 73;
  Random random(1);
  const Tensor x = uniform({1, k}, random), before = uniform({1, n}, random);
  const Tensor W = transposed ? transpose(uniform({n, k}, random)) : uniform({k, n}, random);
  Tensor y = before.clone();
  cpu::gemm(1, n, k, alpha, cpu::Matrix<double>{x.data<double>(), k, 1},
            cpu::Matrix<double>{W.data<double>(), W.strides()[0], W.strides()[1]}, beta, y.mutable_data<double>(), n);
  CHECK(distance(y, sum(transpose(x) * W, {0}) * alpha + before * beta) < 1e-12);
}
