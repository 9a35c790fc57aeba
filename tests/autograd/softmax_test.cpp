#include "tests/autograd/helpers.h"

#include <algorithm>

using namespace heed;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

std::vector<double> softmax_naive(std::vector<double> row) {
  const double m = *std::max_element(row.begin(), row.end());
  if (m == -infinite) return std::vector<double>(row.size(), 0.0);
  double total = 0;
  for (double& v : row) total += v = std::exp(v - m);
  for (double& v : row) v /= total;
  return row;
}

}  // namespace

TEST_CASE("softmax and log_softmax equal their formulas") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  CAPTURE(to_string(dtype));
  Random random(4);
  for (const Shape& shape : {Shape{1}, Shape{5}, Shape{3, 16}, Shape{2, 3, 17}, Shape{4, 1000}, Shape{0, 3}}) {
    for (const double size : {1.0, 300.0}) {
      INFO(to_string(shape) << " up to " << size);
      const Tensor x = scattered(uniform(shape, random, dtype, -size, size), random);
      CHECK(distance(softmax(x), by_rows(x, softmax_naive)) < rounding(dtype));
      // x - log sum(e^x) is rounded at the size of x.
      CHECK(distance(log_softmax(x), by_rows(x, log_softmax_naive)) < rounding(dtype) * std::max(1.0, size / 10));
    }
  }
}

TEST_CASE("softmax gives weight and gradient 0 at -infinity, even for a whole row, and keeps NaN") {
  const Tensor x = variable(tensor({3, 3}, {1, 2, 3, -infinite, -infinite, -infinite, -infinite, 1, 1}));
  const Recording recording;
  const std::vector<double> y = softmax(x).to_vector();
  CHECK(std::vector<double>(y.begin() + 3, y.end()) == std::vector<double>{0, 0, 0, 0, 0.5, 0.5});
  const Tensor cotangent = tensor({3, 3}, {1, -2, 3, 4, 5, 6, 7, 8, 9});
  for (const Tensor& output : {softmax(x), log_softmax(x)}) {
    const std::vector<double> dx = backward(output, cotangent)[x].to_vector();
    CHECK(std::vector<double>(dx.begin() + 3, dx.begin() + 6) == std::vector<double>{0, 0, 0});
    CHECK(std::abs(dx[0]) > 0.01);
  }
  CHECK(backward(softmax(x), cotangent)[x].at({2, 0}) == 0);
  for (const double v : softmax(tensor({3}, {1, std::nan(""), 2})).to_vector()) CHECK(std::isnan(v));
}

TEST_CASE("softmax and log_softmax propagate NaN within its row, in values and gradients") {
  const double nan = std::nan("");
  const DType dtype = GENERATE(DType::float32, DType::float64);
  for (const auto& [a, b] : {std::pair(nan, 0.0), {0.0, nan}, {infinite, 0.0}, {nan, -infinite}, {-infinite, nan}}) {
    CAPTURE(a, b);
    const Tensor x = variable(tensor({2, 2}, {a, b, 1, 2}, dtype));
    const Recording recording;
    const auto is_nan = [](const Tensor& y, std::int64_t row) {
      return std::isnan(y.at({row, 0})) && std::isnan(y.at({row, 1}));
    };
    for (const Tensor& y : {softmax(x), log_softmax(x)}) {
      const Tensor dx = backward(y, tensor({2, 2}, {1, -2, 1, -2}, dtype))[x];
      CHECK((is_nan(y, 0) && is_nan(dx, 0)));
      CHECK((is_finite(slice(y, 0, 1, 2)) && is_finite(slice(dx, 0, 1, 2))));
    }
  }
}

TEST_CASE("Wrong use of softmax throws an Error that states what was expected") {
  check_messages({{"softmax: expected at least one axis, got shape ()", [] { softmax(ones({})); }}});
}

TEST_CASE("softmax along any axis equals softmax of the transposed tensor") {
  Random random(3);
  const Tensor x = uniform({3, 4, 5}, random);
  for (const int axis : {0, 1, -3, -2}) {
    CHECK(softmax(x, axis).to_vector() == transpose(softmax(transpose(x, axis, -1)), axis, -1).to_vector());
    CHECK(distance(log_softmax(x, axis).to_vector(),
                   transpose(log_softmax(transpose(x, axis, -1)), axis, -1).to_vector()) < 1e-14);
  }
  const Tensor totals = sum(softmax(x, 1), {1});
  for (const double total : totals.to_vector()) CHECK(std::abs(total - 1) < 1e-12);
  const double endless = std::numeric_limits<double>::infinity();
  std::vector<double> numbers(3 * 2 * 300, 0.5);
  for (const std::size_t row : {0u, 1u, 2u}) {
    numbers[row * 600 + 7] = -endless;  // a column
    numbers[row * 600 + 299] = 100 * static_cast<double>(row);
  }
  numbers[600 + 8] = std::nan("");
  const Tensor z = tensor({3, 2, 300}, numbers), y = log_softmax(z, 0);
  CHECK(y.at({1, 0, 7}) == -endless);
  CHECK((std::isnan(y.at({0, 0, 8})) && std::isnan(y.at({2, 0, 8}))));
  CHECK((y.at({0, 0, 299}) == -200 && y.at({1, 0, 299}) == -100 && y.at({2, 0, 299}) == 0));
  CHECK(y.at({2, 1, 299}) == Approx(-std::log(3)));
  const Tensor v = variable(z);
  const Recording recording;
  const Tensor dz = backward(sum(log_softmax(v, 0) * 2), ones({}))[v];
  CHECK((dz.at({0, 0, 7}) == 0 && std::isnan(dz.at({0, 0, 8})) && dz.at({2, 0, 299}) == Approx(-4)));
  check_messages({{"softmax: axis 3 is outside [-3, 3) for rank 3", [&] { softmax(x, 3); }}});
}
