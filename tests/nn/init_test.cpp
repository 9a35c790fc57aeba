#include "tests/catch.h"
#include "tests/message.h"

#include <heed/nn/layers.h>
#include <heed/nn/parameters.h>

#include <cmath>

using namespace heed;

TEST_CASE("Initial values depend only on the seed and the full name") {
  const auto values = [](std::uint64_t seed, const std::string& name, bool after_others, DType dtype) {
    Parameters parameters;
    const Scope scope(parameters, seed, dtype);
    if (after_others) (scope / "others").parameter("weight", {7}, Init::normal(1));
    return (scope / name).parameter("weight", {3, 5}, Init::normal(1));
  };
  const auto base = values(1, "a", false, DType::float32).to_vector();
  CHECK(values(1, "a", true, DType::float32).to_vector() == base);
  CHECK(values(2, "a", false, DType::float32).to_vector() != base);
  CHECK(values(1, "b", false, DType::float32).to_vector() != base);
  CHECK(values(1, "a", false, DType::float64).to(DType::float32).to_vector() == base);
}

TEST_CASE("Initial values have the requested distribution") {
  Parameters parameters;
  const Scope scope(parameters, 1, DType::float64);
  const auto moments = [&](const std::string& name, Init init) {
    double mean = 0, square = 0, largest = 0;
    for (const double x : scope.parameter(name, {100, 200}, init).to_vector()) {
      mean += x / 20000;
      square += x * x / 20000;
      largest = std::max(largest, std::abs(x));
    }
    return std::array<double, 3>{mean, std::sqrt(square), largest};
  };
  const auto [mean, deviation, bound] = moments("uniform", Init::xavier(100, 200));
  const double expected = std::sqrt(6.0 / 300);
  CHECK(std::abs(mean) < 0.03 * expected);
  CHECK(deviation == Approx(expected / std::sqrt(3)).epsilon(0.02));
  CHECK(bound == Approx(expected).epsilon(0.001));
  CHECK(bound <= expected);

  const auto [normal_mean, normal_deviation, farthest] = moments("normal", Init::normal(0.5));
  CHECK(std::abs(normal_mean) < 0.015);
  CHECK(normal_deviation == Approx(0.5).epsilon(0.02));
  CHECK(farthest > 1.5);
}

TEST_CASE("An Init takes its fan from the shape") {
  Random random(1);
  const auto deviation = [&](const Shape& shape, Init init) {
    const Tensor values = variable(zeros(shape, DType::float64));
    assign(values, init, random);
    return std::sqrt(sum_of_squares(values) / static_cast<double>(values.numel()));
  };
  CHECK(deviation({200, 50}, Init::xavier_uniform()) == Approx(std::sqrt(2.0 / 250)).epsilon(0.03));
  CHECK(deviation({200, 50}, Init::xavier_normal(3)) == Approx(3 * std::sqrt(2.0 / 250)).epsilon(0.03));
  CHECK(deviation({200, 50}, Init::kaiming_uniform()) == Approx(std::sqrt(2.0 / 200)).epsilon(0.03));
  CHECK(deviation({200, 50}, Init::kaiming_normal(1)) == Approx(std::sqrt(1.0 / 200)).epsilon(0.03));
  CHECK(deviation({50, 20, 3, 3}, Init::kaiming_normal(1)) == Approx(std::sqrt(1.0 / 180)).epsilon(0.03));
  CHECK(message([&] { deviation({5}, Init::kaiming_normal()); }) ==
        "assign: this Init needs at least two axes, got shape (5); use Init::zeros() or Init::uniform(bound)");
}

TEST_CASE("Orthogonal values have orthonormal rows or columns") {
  Random random(1);
  for (const Shape& shape : {Shape{40, 70}, Shape{70, 40}, Shape{6, 2, 5}}) {
    const Tensor values = variable(zeros(shape, DType::float64));
    assign(values, Init::orthogonal(2), random);
    const Tensor matrix = reshape(values.detach(), {shape[0], -1}),
                 wide = shape[0] > matrix.size(1) ? transpose(matrix) : matrix;
    const Tensor expected =
        4.0 * one_hot(arange_ids(0, static_cast<std::int32_t>(wide.size(0))), wide.size(0), DType::float64);
    CHECK(max(abs(matmul(wide, transpose(wide)) - expected)).item() < 1e-12);
  }
}

TEST_CASE("A layer takes its Init as an argument, and assign() writes later values") {
  Parameters parameters;
  const Scope scope(parameters, 1);
  const Linear layer(scope / "out", 3, 2, {.init = Init::constant(2), .bias_init = Init::constant(-1)});
  CHECK(layer(ones({1, 3})).to_vector() == std::vector<double>{5, 5});
  assign(layer.bias, 0.5);
  assign(layer.weight, transpose(tensor({2, 3}, {1, 2, 3, 4, 5, 6})));
  CHECK(parameters["out.weight"].to_vector() == std::vector<double>{1, 4, 2, 5, 3, 6});
  CHECK(parameters["out.bias"].to_vector() == std::vector<double>{0.5, 0.5});
  CHECK(message([&] {
          assign(layer.weight, zeros({2, 3}));
        }) == "assign: parameter 'out.weight': expected a value of shape (3, 2), got (2, 3)");
}
