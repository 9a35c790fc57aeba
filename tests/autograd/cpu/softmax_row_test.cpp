#include "autograd/cpu/softmax_row.h"

#include "tests/autograd/helpers.h"

#include <algorithm>

using namespace heed;

TEMPLATE_TEST_CASE("max_row finds the maximum at any position and ignores NaN", "", float, double) {
  constexpr TestType infinity = std::numeric_limits<TestType>::infinity();
  Random random(51);
  for (const std::int64_t n : {1, 3, 8, 16, 31, 64, 100}) {
    std::vector<TestType> x;
    for (std::int64_t i = 0; i < n; ++i) x.push_back(static_cast<TestType>(random.uniform(-9, -1)));
    for (std::size_t at = 0; at < x.size(); ++at) {
      std::vector<TestType> y = x;
      y[at] = 5;
      y[(at + 1) % y.size()] = y.size() > 1 ? std::numeric_limits<TestType>::quiet_NaN() : y[0];
      CAPTURE(n, at);
      CHECK(cpu::max_row(y.data(), n) == 5);
    }
    CHECK(cpu::max_row(x.data(), n) == *std::max_element(x.begin(), x.end()));
  }
  CHECK(cpu::max_row<TestType>(nullptr, 0) == -infinity);
}

TEMPLATE_TEST_CASE("softmax_row and softmax_row_backward equal their formulas", "", float, double) {
  const double allowed = sizeof(TestType) == 4 ? 1e-6 : 1e-14;
  const std::vector<TestType> x{1, -2, 3, TestType(0.5), 3}, dy{1, 2, -1, 0, 3};
  double total = 0, mean = 0;
  for (const TestType v : x) total += std::exp(static_cast<double>(v));
  std::vector<TestType> y(5), dx(5);
  CHECK(static_cast<double>(cpu::softmax_row(x.data(), y.data(), 5)) == Approx(std::log(total)).epsilon(allowed));
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(static_cast<double>(y[i]) == Approx(std::exp(static_cast<double>(x[i])) / total).epsilon(allowed));
    mean += static_cast<double>(y[i] * dy[i]);
  }
  cpu::softmax_row_backward(y.data(), dy.data(), dx.data(), 5, TestType(0.25));
  for (std::size_t i = 0; i < 5; ++i) {
    const double expected = static_cast<double>(y[i]) * (static_cast<double>(dy[i]) - mean) / 4;
    CHECK(static_cast<double>(dx[i]) == Approx(expected).margin(allowed));
  }
}

TEMPLATE_TEST_CASE("softmax_row gives 0 for a row of -infinity, and NaN for a row with NaN", "", float, double) {
  constexpr TestType infinity = std::numeric_limits<TestType>::infinity();
  std::vector<TestType> y(3, 1);
  const std::vector<TestType> hidden(3, -infinity);
  CHECK(cpu::softmax_row(hidden.data(), y.data(), 3) == infinity);
  CHECK(y == std::vector<TestType>(3, 0));
  const std::vector<TestType> broken{-infinity, std::numeric_limits<TestType>::quiet_NaN(), -infinity};
  cpu::softmax_row(broken.data(), y.data(), 3);
  for (const TestType v : y) CHECK(std::isnan(v));
}
