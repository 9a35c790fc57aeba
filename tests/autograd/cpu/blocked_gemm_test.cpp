#include "autograd/cpu/blocked_gemm.h"

#include "tests/catch.h"

#include <heed/autograd/random.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

using namespace heed;

namespace {

// A matrix with rows (or columns, when it is stored transposed) `spare` numbers apart, without a gap after the last.
template <class T>
struct Stored {
  std::vector<T> values;
  std::int64_t row_stride, column_stride;

  Stored(std::int64_t rows, std::int64_t columns, bool transposed, std::int64_t spare, Random& random)
      : row_stride(transposed ? 1 : columns + spare), column_stride(transposed ? rows + spare : 1) {
    for (std::int64_t i = 0; i <= (rows - 1) * row_stride + (columns - 1) * column_stride; ++i) {
      values.push_back(static_cast<T>(random.uniform(-1, 1)));
    }
  }
  cpu::Matrix<T> matrix() const { return {values.data(), row_stride, column_stride}; }
  double at(std::int64_t i, std::int64_t j) const {
    return static_cast<double>(values[static_cast<std::size_t>(i * row_stride + j * column_stride)]);
  }
};

// The largest error against sums in double, in units of the type's precision times k. `spare` is the gap of A.
template <class T>
double error(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, T beta, std::int64_t spare, Random& random) {
  const Stored<T> A(m, k, random.below(2), spare, random), B(k, n, random.below(2), random.below(3), random);
  const Stored<T> C(m, n, false, random.below(3), random);
  std::vector<T> result = C.values;
  if (beta == T{0}) {  // the old contents must not matter
    for (std::int64_t i = 0; i < m; ++i) {
      std::fill_n(result.data() + i * C.row_stride, n, std::numeric_limits<T>::quiet_NaN());
    }
  }
  cpu::blocked_gemm(m, n, k, alpha, A.matrix(), B.matrix(), beta, result.data(), C.row_stride);
  double largest = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::int64_t row = static_cast<std::int64_t>(i) / C.row_stride;
    const std::int64_t column = static_cast<std::int64_t>(i) % C.row_stride;
    double expected = static_cast<double>(C.values[i]);  // between the rows, nothing is written
    if (column < n) {
      double sum = 0;
      for (std::int64_t p = 0; p < k; ++p) sum += A.at(row, p) * B.at(p, column);
      expected = static_cast<double>(alpha) * sum + static_cast<double>(beta) * expected;
    }
    const double e = std::abs(static_cast<double>(result[i]) - expected);
    largest = e <= largest ? largest : std::isnan(e) ? 1e300 : e;
  }
  return largest / (static_cast<double>(std::numeric_limits<T>::epsilon()) * static_cast<double>(k));
}

}  // namespace

TEMPLATE_TEST_CASE("blocked_gemm equals naive loops for any layout", "", float, double) {
  Random random(17);
  for (int i = 0; i < 400; ++i) {
    const std::int64_t m = 1 + random.below(40), n = 1 + random.below(70), k = 1 + random.below(40);
    INFO(m << " x " << k << " x " << n);
    CHECK(error<TestType>(m, n, k, TestType(0.5), TestType(i % 3) / 2, random.below(3), random) < 4);
  }
}

TEMPLATE_TEST_CASE("blocked_gemm is accurate for products larger than one block", "", float, double) {
  Random random(18);
  const auto [m, n, k, spare] = GENERATE(table<int, int, int, int>(
      {{7, 9, 600, 1}, {400, 20, 30, 0}, {20, 1100, 30, 2}, {350, 530, 300, 0}, {300, 200, 300, 212}}));
  INFO(m << " x " << k << " x " << n);
  for (int i = 0; i < 4; ++i) CHECK(error<TestType>(m, n, k, TestType(1), TestType(i % 2), spare, random) < 4);
}

// A transposed B is transposed back in registers, square by square, by the same code for both types.
TEMPLATE_TEST_CASE("blocked_gemm accepts a transposed B for sums of every length up to 33", "", float, double) {
  Random random(19);
  for (std::int64_t k = 1; k <= 33; ++k) {
    for (const std::int64_t n : {6, 16, 37}) {
      CAPTURE(k, n);
      const Stored<TestType> A(9, k, false, 0, random), B(k, n, true, 3, random);
      std::vector<TestType> C(static_cast<std::size_t>(9 * n));
      cpu::blocked_gemm(9, n, k, TestType(1), A.matrix(), B.matrix(), TestType(0), C.data(), n);
      double largest = 0;
      for (std::int64_t i = 0; i < 9 * n; ++i) {
        double sum = 0;
        for (std::int64_t p = 0; p < k; ++p) sum += A.at(i / n, p) * B.at(p, i % n);
        largest = std::max(largest, std::abs(static_cast<double>(C[static_cast<std::size_t>(i)]) - sum));
      }
      CHECK(largest < 4 * static_cast<double>(k) * static_cast<double>(std::numeric_limits<TestType>::epsilon()));
    }
  }
}
