#include "autograd/cpu/split_gemm.h"

#include "autograd/cpu/units.h"
#include "tests/catch.h"

#include <heed/autograd/random.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

using namespace heed;

namespace {

// A matrix with dense rows, or with dense columns.
struct Operand {
  std::int64_t rows, columns;
  bool transposed;
  std::vector<float> values;

  template <class Number>
  Operand(std::int64_t m, std::int64_t n, bool by_columns, Number&& number)
      : rows(m), columns(n), transposed(by_columns) {
    for (std::int64_t i = 0; i < m * n; ++i) values.push_back(static_cast<float>(number()));
  }
  cpu::Matrix<float> matrix() const { return {values.data(), transposed ? 1 : columns, transposed ? rows : 1}; }
  std::size_t place(std::int64_t i, std::int64_t j) const {
    return static_cast<std::size_t>(transposed ? j * rows + i : i * columns + j);
  }
  double at(std::int64_t i, std::int64_t j) const { return static_cast<double>(values[place(i, j)]); }
};

// Returns A B + beta C as sums in double, and the sum of the terms' sizes.
struct Sum {
  double value, size;
};
Sum sum_in_double(const Operand& A, const Operand& B, double beta, const Operand& C, std::int64_t i, std::int64_t j) {
  Sum result{beta * C.at(i, j), std::abs(beta * C.at(i, j))};
  for (std::int64_t p = 0; p < A.columns; ++p) {
    result.value += A.at(i, p) * B.at(p, j);
    result.size += std::abs(A.at(i, p) * B.at(p, j));
  }
  return result;
}

std::vector<float> split_product(const Operand& A, const Operand& B, float beta, const Operand& C) {
  std::vector<float> result = C.values;
  REQUIRE(cpu::split_gemm(A.rows, B.columns, A.columns, A.matrix(), B.matrix(), beta, result.data(), B.columns) ==
          cpu::has_unit(cpu::Unit::amx_bf16));
  return result;
}

}  // namespace

TEST_CASE("split_gemm has the accuracy of float") {
  Random random(21);
  const auto normal = [&] { return random.normal(); };
  const auto [m, n, k] =
      GENERATE(table<int, int, int>({{256, 256, 128}, {300, 150, 187}, {131, 145, 1101}, {513, 144, 515}}));
  INFO(m << " x " << k << " x " << n);
  for (int layout = 0; layout < 4; ++layout) {
    const Operand A(m, k, layout % 2, normal), B(k, n, layout / 2, normal), C(m, n, false, normal);
    const float beta = static_cast<float>(layout % 3 == 1);
    const std::vector<float> result = split_product(A, B, beta, C);
    if (!cpu::has_unit(cpu::Unit::amx_bf16)) return;
    double largest = 0;
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        const Sum e = sum_in_double(A, B, static_cast<double>(beta), C, i, j);
        largest = std::max(largest, std::abs(static_cast<double>(result[C.place(i, j)]) - e.value) / e.size);
      }
    }
    CHECK(largest < 0x1p-22);
  }
}

TEST_CASE("split_gemm is exact for integers that float holds") {
  Random random(22);
  const Operand A(256, 140, true, [&] { return random.below(1 << 12) - (1 << 11); }),
      B(140, 256, false, [&] { return random.below(1 << 5) - (1 << 4); }), C(256, 256, false, [] { return 1; });
  const std::vector<float> result = split_product(A, B, 1, C);
  if (!cpu::has_unit(cpu::Unit::amx_bf16)) return;
  for (std::int64_t i = 0; i < 256; ++i) {
    for (std::int64_t j = 0; j < 256; ++j) {
      REQUIRE(static_cast<double>(result[C.place(i, j)]) == sum_in_double(A, B, 1, C, i, j).value);
    }
  }
}

TEST_CASE("split_gemm keeps infinity, NaN and the largest numbers") {
  constexpr float inf = std::numeric_limits<float>::infinity(), largest = std::numeric_limits<float>::max();
  Operand A(256, 128, false, [] { return 0.5; }), B(128, 256, false, [] { return 0.25; }),
      C(256, 256, false, [] { return 0; });
  A.values[A.place(3, 7)] = inf;
  A.values[A.place(200, 100)] = std::numeric_limits<float>::quiet_NaN();
  B.values[B.place(9, 250)] = -inf;
  for (std::int64_t p = 0; p < 128; ++p) A.values[A.place(40, p)] = p == 1 ? largest : 0;
  for (std::int64_t p = 0; p < 128; ++p) B.values[B.place(p, 40)] = p == 1 ? 1 : 0;
  const std::vector<float> result = split_product(A, B, 0, C);
  if (!cpu::has_unit(cpu::Unit::amx_bf16)) return;
  CHECK(result[C.place(3, 0)] == inf);
  CHECK(result[C.place(3, 249)] == inf);
  CHECK(std::isnan(result[C.place(3, 250)]));
  CHECK(std::isnan(result[C.place(200, 17)]));
  CHECK(result[C.place(0, 250)] == -inf);
  CHECK(result[C.place(40, 40)] == largest);  // which would round to infinity
  CHECK(result[C.place(0, 0)] == 16);
}
