#include "tests/autograd/helpers.h"

#include <heed/autograd/ops.h>

using namespace heed;

TEST_CASE("min, var, norm and logsumexp along an axis equal naive loops") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  Random random(5);
  const Tensor x = scattered(uniform({2, 7, 3}, random, dtype, -9, 9), random);
  for (std::int64_t i = 0; i < 2; ++i) {
    for (std::int64_t k = 0; k < 3; ++k) {
      double least = 1e9, total = 0, squares = 0, exponentials = 0, apart = 0;
      for (std::int64_t j = 0; j < 7; ++j) {
        const double v = x.at({i, j, k});
        least = std::min(least, v), total += v, squares += v * v, exponentials += std::exp(v);
      }
      for (std::int64_t j = 0; j < 7; ++j) apart += (x.at({i, j, k}) - total / 7) * (x.at({i, j, k}) - total / 7);
      CHECK(min(x, {1}).at({i, k}) == least);
      CHECK(var(x, {1}).at({i, k}) == Approx(apart / 7).epsilon(rounding(dtype)));
      CHECK(var(x, {1}, true, 1).at({i, 0, k}) == Approx(apart / 6).epsilon(rounding(dtype)));
      CHECK(norm(x, {-2}).at({i, k}) == Approx(std::sqrt(squares)).epsilon(rounding(dtype)));
      CHECK(logsumexp(x, {1}).at({i, k}) == Approx(std::log(exponentials)).epsilon(rounding(dtype)));
    }
  }
  CHECK(logsumexp(x, {0, 2}, true).shape() == Shape{1, 7, 1});
  CHECK(var(x).shape() == Shape{});
  CHECK(std::isinf(var(tensor({2}, {1, 3}), {}, false, 3).item()));  // divided by 0, never by less
  check_messages({{"min: expected at least one element to reduce, got shape (2, 0)",
                   [] {
                     min(zeros({2, 0}), {1});
                   }},
                  {"min: axis 2 is outside [-2, 2) for rank 2", [] {
                     min(zeros({2, 3}), {2});
                   }}});
}

TEST_CASE("norm is correct even when the squares overflow or underflow") {
  for (const double scale : {1e-30, 1.0, 1e30}) {
    const Tensor x = variable(tensor({2}, {3 * scale, -4 * scale}));
    const Recording recording;
    const Tensor y = norm(x);
    CHECK(y.item() == Approx(5 * scale));
    CHECK(distance(backward(y)[x].to_vector(), {0.6, -0.8}) < 1e-6);
  }
}

TEST_CASE("logsumexp is stable for large inputs, and gradients at -infinity and 0 are not NaN") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  constexpr double endless = std::numeric_limits<double>::infinity();
  const Tensor x = variable(tensor({3, 2}, {1e30, 1e30, -endless, -endless, -endless, 2}, dtype));
  const Recording recording;
  const Tensor y = logsumexp(x, {1});
  CHECK(y.to_vector() == tensor({3}, {1e30, -endless, 2}, dtype).to_vector());
  CHECK(backward(sum(y))[x].to_vector() == std::vector<double>{0.5, 0.5, 0, 0, 0, 1});
  CHECK(logsumexp(zeros({2, 0}), {1}).to_vector() == std::vector<double>(2, -endless));
  CHECK(std::isnan(logsumexp(tensor({2}, {std::nan(""), 1}, dtype)).item()));
  for (const double size : {1e5, 1e7, 1e20}) {  // ln(4) is less than the rounding error of the result
    const Tensor equal_numbers = variable(full({4}, size, dtype));
    CHECK(distance(backward(logsumexp(equal_numbers))[equal_numbers], full({4}, 0.25, dtype)) < 1e-7);
  }
  const Tensor over = variable(tensor({2}, {endless, 1}, dtype));  // not a distribution, but the 1 does not matter
  const std::vector<double> shares = backward(logsumexp(over))[over].to_vector();
  CHECK(std::isnan(shares[0]));
  CHECK(shares[1] == 0);
  const Tensor z = variable(zeros({3}, dtype));
  CHECK(backward(norm(z))[z].to_vector() == std::vector<double>{0, 0, 0});
}

TEST_CASE("The deviation of a sample of one element and its gradient are NaN") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    const Tensor x = variable(tensor({{3}, {4}}, dtype));
    const Recording recording;
    const Tensor y = stddev(x, 1, false, 1);
    const Gradients gradients = backward(sum(y));
    for (const Tensor& each : {y, gradients[x]}) CHECK(all(each != each));
    CHECK(backward(stddev(x, {}, false, 1))[x].to_vector()[1] == Approx(std::sqrt(0.5)));
  }
}

TEST_CASE("Statistics and their gradients are right at both ends of the range of a float") {
  const auto gradient = [](const Tensor& values, const std::function<Tensor(const Tensor&)>& f) {
    const Tensor x = variable(values);
    const Recording recording;
    return backward(f(x))[x].to_vector();
  };
  const auto norm_of = [](const Tensor& x) { return norm(x); };
  for (const double scale : {1e-44, 1e-40, 1e-38, 1e-20, 1.0, 1e20, 6e37}) {
    INFO(scale);
    const Tensor x = tensor({2}, {3 * scale, 4 * scale});
    const double a = x.at({0}), b = x.at({1}), length = std::hypot(a, b);
    CHECK(norm(x).item() == Approx(length).margin(1e-45));
    CHECK(distance(gradient(x, norm_of), {a / length, b / length}) < 1e-6);
    CHECK(distance(gradient(x, [&](const Tensor& t) { return norm(t) * 1000; }),
                   {1000 * a / length, 1000 * b / length}) < 1e-3);
  }
  CHECK(gradient(tensor({2}, {1e-36, 0}), [](const Tensor& t) { return norm(t) * 1000; }) ==
        std::vector<double>{1000, 0});
  CHECK(distance(gradient(tensor({2}, {3, 4}), [](const Tensor& t) { return norm(t) * 1e-44; }), {6e-45, 8e-45}) <
        2e-45);

  CHECK(var(tensor({3}, {1e19, -1e19, 2e19})).item() == Approx(1.5556e38).epsilon(1e-4));
  CHECK(distance(gradient(tensor({3}, {1e19, -1e19, 2e19}), [](const Tensor& t) { return var(t) * 1e-19; }),
                 {2.0 / 9, -10.0 / 9, 8.0 / 9}) < 1e-6);
  CHECK(var(tensor({2}, {1e-20, 3e-20})).item() == Approx(1e-40).epsilon(1e-4));
  const Tensor rows = var(tensor({2, 2}, {1e19, -1e19, 0.1, 0.7}), {1});
  CHECK(rows.at({0}) == Approx(1e38));
  CHECK(rows.at({1}) == var(tensor({2}, {0.1, 0.7})).item());  // a row does not depend on the others
  CHECK(var(full({5}, 0.1)).item() == 0);

  CHECK(mean(full({3}, 3e38)).item() == Approx(3e38));
  CHECK(mean(full({100}, 3e38)).item() == Approx(3e38));
  CHECK(gradient(full({4}, 3e38), [](const Tensor& t) { return mean(t); }) == std::vector<double>(4, 0.25));
  Tensor alternating({400}, DType::float32);
  for (std::int64_t i = 0; i < 400; ++i) alternating.mutable_data<float>()[i] = i / 100 % 2 ? -3e38F : 3e38F;
  CHECK(sum(alternating).item() == 0);
  CHECK(sum(full({1000}, 1e-44)).item() == Approx(1000 * full({}, 1e-44).item()).epsilon(1e-3));
  CHECK(logsumexp(tensor({2}, {3e38, -3e38})).item() == Approx(3e38));
  CHECK(gradient(tensor({2}, {3e38, -3e38}), [](const Tensor& t) { return logsumexp(t); }) ==
        std::vector<double>{1, 0});
  CHECK(softmax(tensor({2}, {3e38, -3e38})).to_vector() == std::vector<double>{1, 0});
}
