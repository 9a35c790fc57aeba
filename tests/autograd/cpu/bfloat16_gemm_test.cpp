#include "autograd/cpu/bfloat16_gemm.h"

#include "autograd/cpu/units.h"
#include "tests/catch.h"

#include <heed/autograd/machine.h>
#include <heed/autograd/random.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

using namespace heed;

namespace {

// A matrix with dense rows, or with dense columns, whose lines lie `gap` numbers apart.
struct RoundedOperand {
  std::int64_t rows, columns, gap;
  bool transposed;
  std::vector<float> values;
  std::vector<BFloat16> halves;

  RoundedOperand(std::int64_t m, std::int64_t n, bool by_columns, std::int64_t space, Random& random)
      : rows(m), columns(n), gap((by_columns ? m : n) + space), transposed(by_columns) {
    values.resize(static_cast<std::size_t>(gap * (by_columns ? n : m) + 1));
    for (float& value : values) value = static_cast<float>(random.normal());
    for (const float value : values) halves.push_back({to_bf16(value)});
  }
  cpu::Matrix<float> matrix() const { return {values.data(), transposed ? 1 : gap, transposed ? gap : 1}; }
  cpu::Matrix<BFloat16> matrix_of_halves() const { return {halves.data(), transposed ? 1 : gap, transposed ? gap : 1}; }
  std::size_t place(std::int64_t i, std::int64_t j) const {
    return static_cast<std::size_t>(transposed ? j * gap + i : i * gap + j);
  }
  double rounded(std::int64_t i, std::int64_t j) const { return static_cast<double>(float(halves[place(i, j)])); }
};

// Returns the largest difference from sums in double of the rounded numbers, as a share of the sum of the terms' sizes.
template <class S>
double largest_error_of_rounded(const RoundedOperand& A, const RoundedOperand& B, const cpu::Matrix<S>& b, float alpha,
                                float beta, Random& random, cpu::BFloat16Unit unit) {
  const std::int64_t ldc = B.columns + 3;
  std::vector<float> C(static_cast<std::size_t>(A.rows * ldc));
  for (float& value : C) value = static_cast<float>(random.normal());
  const std::vector<float> before = C;
  cpu::bfloat16_gemm(A.rows, B.columns, A.columns, alpha, A.matrix(), b, beta, C.data(), ldc, unit);
  double largest = 0;
  for (std::int64_t i = 0; i < A.rows; ++i) {
    for (std::int64_t j = 0; j < ldc; ++j) {
      const std::size_t place = static_cast<std::size_t>(i * ldc + j);
      const double old = static_cast<double>(before[place]);
      if (j >= B.columns) {
        REQUIRE(C[place] == before[place]);  // not of C
        continue;
      }
      double sum = static_cast<double>(beta) * old, size = std::abs(sum);
      for (std::int64_t p = 0; p < A.columns; ++p) {
        const double term = static_cast<double>(alpha) * A.rounded(i, p) * B.rounded(p, j);
        sum += term;
        size += std::abs(term);
      }
      const double error = std::abs(static_cast<double>(C[place]) - sum);
      largest = std::max(largest, size == 0 ? (error == 0 ? 0 : 1) : error / size);
    }
  }
  return largest;
}

// Returns those that this processor has, whether they are the fastest or not.
std::vector<cpu::BFloat16Unit> units_here() {
  std::vector<cpu::BFloat16Unit> units{cpu::BFloat16Unit::none};
  if (std::string(vector_instructions()).starts_with("AVX-512") && cpu::has_unit(cpu::Unit::avx512_bf16)) {
    units.push_back(cpu::BFloat16Unit::vectors);
    if (cpu::has_unit(cpu::Unit::amx_bf16)) units.push_back(cpu::BFloat16Unit::tiles);
  }
  return units;
}

}  // namespace

TEST_CASE("bfloat16_gemm multiplies the rounded numbers") {
  Random random(5);
  const auto size = [&] { return static_cast<std::int64_t>(random.below(131)); };
  for (int draw = 0; draw < 120; ++draw) {
    const std::int64_t m = draw % 9 == 0 ? 1 : size(), n = size(), k = draw % 11 == 0 ? 600 : size();
    const std::int64_t gap = draw % 5;
    const RoundedOperand A(m, k, draw % 2, gap, random), B(k, n, draw / 2 % 2, gap, random);
    const float beta = static_cast<float>(draw / 4 % 2), alpha = beta == 0 && draw % 3 == 0 ? 0.125F : 1.0F;
    INFO(m << " x " << k << " x " << n << ", draw " << draw);
    for (const cpu::BFloat16Unit unit : units_here()) {
      CAPTURE(static_cast<int>(unit));
      CHECK(largest_error_of_rounded(A, B, B.matrix(), alpha, beta, random, unit) < 3e-7);
      CHECK(largest_error_of_rounded(A, B, B.matrix_of_halves(), alpha, beta, random, unit) < 3e-7);
    }
  }
}

TEST_CASE("bfloat16_gemm multiplies matrices of several blocks, and results larger than both operands") {
  Random random(7);
  struct Sizes {
    std::int64_t m, n, k;
  };
  for (const auto& [m, n, k] :
       {Sizes{1100, 300, 40}, {520, 70, 1100}, {1040, 800, 17}, {801, 1000, 64}, {40, 2000, 33}}) {
    const RoundedOperand A(m, k, m % 3 == 0, 0, random), B(k, n, n % 2, 0, random);
    INFO(m << " x " << k << " x " << n);
    std::vector<float> C(static_cast<std::size_t>(m * n)), of_halves(C.size());
    for (const cpu::BFloat16Unit unit : units_here()) {
      CAPTURE(static_cast<int>(unit));
      cpu::bfloat16_gemm(m, n, k, 1.0F, A.matrix(), B.matrix(), 0.0F, C.data(), n, unit);
      cpu::bfloat16_gemm(m, n, k, 1.0F, A.matrix(), B.matrix_of_halves(), 0.0F, of_halves.data(), n, unit);
      CHECK(C == of_halves);
      double largest = 0;
      for (std::int64_t i = 0; i < m; i += 1 + i % 7) {
        for (std::int64_t j = 0; j < n; j += 1 + j % 5) {
          double sum = 0, size = 1e-30;
          for (std::int64_t p = 0; p < k; ++p) {
            sum += A.rounded(i, p) * B.rounded(p, j);
            size += std::abs(A.rounded(i, p) * B.rounded(p, j));
          }
          largest =
              std::max(largest, std::abs(static_cast<double>(C[static_cast<std::size_t>(i * n + j)]) - sum) / size);
        }
      }
      CHECK(largest < 3e-7);
    }
  }
}

TEST_CASE("bfloat16_gemm rounds to the nearest, ties to even, and keeps infinity and NaN") {
  const cpu::BFloat16Unit unit = GENERATE(from_range(units_here()));
  constexpr std::int64_t n = 64;
  std::vector<float> A(n * n), B(n * n, 0.0F), C(n * n);
  for (std::int64_t i = 0; i < n; ++i) B[static_cast<std::size_t>(i * n + i)] = 1;
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<std::pair<float, float>> cases = {{1.00390625F, 1.0F},       // a tie
                                                      {1.01171875F, 1.015625F},  // a tie
                                                      {1.00390637F, 1.0078125F},
                                                      {-3.3895314e38F, -3.3895314e38F},
                                                      {3.4e38F, infinity}};
  for (std::size_t i = 0; i < cases.size(); ++i) A[i * n] = cases[i].first;
  A[cases.size() * n] = infinity;
  A[(cases.size() + 1) * n + 1] = std::numeric_limits<float>::quiet_NaN();
  cpu::bfloat16_gemm(n, n, n, 1.0F, cpu::Matrix<float>{A.data(), n, 1}, cpu::Matrix<float>{B.data(), n, 1}, 0.0F,
                     C.data(), n, unit);
  for (std::size_t i = 0; i < cases.size(); ++i) CHECK(C[i * n] == cases[i].second);
  CHECK(C[cases.size() * n] == infinity);
  CHECK(std::isnan(C[cases.size() * n + 1]));  // infinity times 0
  CHECK(std::isnan(C[(cases.size() + 1) * n + 1]));
}

TEST_CASE("bfloat16_gemm has the same bits in every build that finds AMX") {
  constexpr std::int64_t m = 70, n = 90, k = 700;
  std::vector<float> A(m * k), B(k * n), C(m * n);
  std::uint32_t state = 1;
  const auto fill = [&](std::vector<float>& values) {
    for (float& value : values) {
      state = state * 1664525U + 1013904223U;
      value = static_cast<float>(static_cast<std::int32_t>(state >> 8) - (1 << 23)) * 0x1p-23F;
    }
  };
  fill(A);
  fill(B);
  cpu::bfloat16_gemm(m, n, k, 1.0F, cpu::Matrix<float>{A.data(), k, 1}, cpu::Matrix<float>{B.data(), n, 1}, 0.0F,
                     C.data(), n);
  std::uint32_t digest = 0;
  for (const float value : C) digest = digest * 31 + std::bit_cast<std::uint32_t>(value);
  if (std::string(vector_instructions()) == "AVX-512 and AMX") CHECK(digest == 169722760);
}
