#include "autograd/cpu/sums.h"

#include "tests/autograd/helpers.h"

using namespace heed;

TEMPLATE_TEST_CASE("sum_row and dot_row are exact for every length below 700", "", float, double) {
  std::vector<TestType> x, y;
  for (int i = 0; i < 700; ++i) {
    x.push_back(static_cast<TestType>(i % 7 - 2));
    y.push_back(static_cast<TestType>(i % 5 - 1));
  }
  double sum = 0, dot = 0;
  for (std::int64_t n = 0; n < 700; ++n) {
    CAPTURE(n);
    CHECK(cpu::sum_row(x.data(), n) == sum);
    CHECK(cpu::dot_row(x.data(), y.data(), n) == dot);
    sum += static_cast<double>(x[static_cast<std::size_t>(n)]);
    dot += static_cast<double>(x[static_cast<std::size_t>(n)] * y[static_cast<std::size_t>(n)]);
  }
}

TEST_CASE("The error of a float32 sum does not grow with its length") {
  const std::vector<float> x(3'000'000, 0.1F);
  const double exact = 3e6 * static_cast<double>(0.1F);
  CHECK(std::abs(cpu::sum_row(x.data(), 3'000'000) / exact - 1) < 2e-7);
  float running = 0;
  for (const float v : x) running += v;
  CHECK(std::abs(static_cast<double>(running) / exact - 1) > 1e-3);  // the error of a plain sum
}
