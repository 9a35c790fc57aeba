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

std::vector<double> log_softmax_naive(std::vector<double> row) {
  const double m = *std::max_element(row.begin(), row.end());
  if (m == -infinite) return row;
  double total = 0;
  for (const double v : row) total += std::exp(v - m);
  for (double& v : row) v -= m + std::log(total);
  return row;
}

}  // namespace

TEST_CASE("softmax and log_softmax are the naive ones") {
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

TEST_CASE("A row of -infinity has softmax 0 and gradient 0; a hidden element has 0; NaN stays visible") {
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

TEST_CASE("cross_entropy is the mean of -log softmax at the labels that count") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  Random random(8);
  const Tensor logits = scattered(uniform({6, 9}, random, dtype, -20, 20), random);
  const Ids labels({6}, {3, -1, 0, 8, -1, 2});
  Naive log_p = by_rows(logits, log_softmax_naive);
  for (const double e : {0.0, 0.1}) {
    double expected = 0;
    for (std::int64_t i = 0; i < 6; ++i) {
      if (labels[i] < 0) continue;
      double spread = 0;
      for (std::int64_t c = 0; c < 9; ++c) spread -= log_p[{i, c}] / 9;
      expected += ((1 - e) * -log_p[{i, labels[i]}] + e * spread) / 4;
    }
    const Tensor loss = cross_entropy(logits, labels, {.label_smoothing = e});
    CHECK(loss.shape() == Shape{});
    CHECK(loss.item() == Approx(expected).epsilon(rounding(dtype)));
  }
  const Ids seven({2}, {7, 7});
  CHECK(cross_entropy(slice(logits, 0, 0, 2), seven, {.ignored_label = 7}).item() == 0);
  // A far too confident wrong answer: large, and finite.
  CHECK(cross_entropy(tensor({1, 2}, {2000, -2000}, dtype), Ids({1}, {1})).item() == 4000);
}

TEST_CASE("cross_entropy of logits of any size is that of their differences") {
  const Ids first({1}, {0});
  const DType dtype = GENERATE(DType::float32, DType::float64);
  for (const double size : {0.0, 1e4, 1e16, 1e30}) {
    CHECK(cross_entropy(full({1, 2}, size, dtype), first).item() == Approx(std::log(2)));
    CHECK(cross_entropy(full({1, 3}, -size, dtype), first, {.label_smoothing = 0.1}).item() == Approx(std::log(3)));
  }
  CHECK(cross_entropy(tensor({1, 2}, {1e4, 1e4 - 30}, DType::float64), first).item() == Approx(9.36e-14).epsilon(2e-3));
  const Tensor apart = tensor({1, 2}, {1e6, 1e6 - 4}, dtype);
  CHECK(cross_entropy(apart, first).item() == Approx(std::log1p(std::exp(-4))));
  CHECK(cross_entropy(apart, first, {.label_smoothing = 0.5}).item() == Approx(std::log1p(std::exp(-4)) + 1));
}

TEST_CASE("A NaN that goes into a row comes out of it, in values and gradients") {
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
    for (const double e : {0.0, 0.1}) {
      const Tensor loss = cross_entropy(x, Ids({2}, {1, 1}), {.label_smoothing = e}), dx = backward(loss)[x];
      CHECK((std::isnan(loss.item()) && is_nan(dx, 0) && is_finite(slice(dx, 0, 1, 2))));
    }
  }
  // A row without any probability has no cross-entropy, and no gradient that would pass for one.
  const Tensor none = variable(full({1, 2}, -infinite, dtype));
  const Recording recording;
  const Tensor loss = cross_entropy(none, Ids({1}, {0})), dx = backward(loss)[none];
  CHECK((std::isnan(loss.item()) && std::isnan(dx.at({0, 0})) && std::isnan(dx.at({0, 1}))));
}

TEST_CASE("Wrong use of softmax and cross_entropy is an error that says what was expected") {
  const Tensor x = zeros({2, 3});
  check_messages({{"softmax: expected at least one axis, got shape ()", [] { softmax(ones({})); }},
                  {"cross_entropy: expected logits (N, C) and labels (N), got (2, 3) and (3)",
                   [&] {
                     cross_entropy(x, Ids({3}, {0, 0, 0}));
                   }},
                  {"cross_entropy: label 3 of row 1 lies outside [0, 3)",
                   [&] {
                     cross_entropy(x, Ids({2}, {0, 3}));
                   }},
                  {"cross_entropy: label_smoothing must lie in [0, 1), got 1", [&] {
                     cross_entropy(x, Ids({2}, {0, 1}), {.label_smoothing = 1});
                   }}});
}
