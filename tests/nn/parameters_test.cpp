#include "tests/catch.h"
#include "tests/message.h"

#include <heed/nn/layers.h>
#include <heed/nn/parameters.h>

#include <cmath>

using namespace heed;

TEST_CASE("Parameters have full names, in the order they were made") {
  Parameters parameters;
  const Scope scope(parameters, 1);
  (scope / "encoder" / 0 / "W_Q").parameter("weight", {2, 3}, Init::ones());
  scope.parameter("bias", {4}, Init::zeros());

  CHECK((scope / "encoder").dtype() == DType::float32);
  CHECK(Scope(parameters, 1, DType::float64).dtype() == DType::float64);

  std::vector<std::string> names;
  for (const auto& [name, value] : parameters) names.push_back(name);
  CHECK(names == std::vector<std::string>{"encoder.0.W_Q.weight", "bias"});
  CHECK(parameters.numel() == 10);
  CHECK(parameters["encoder.0.W_Q.weight"].to_vector() == std::vector<double>(6, 1));
  CHECK(parameters["bias"].is_variable());
  CHECK(message([&] { parameters["encoder.0.W_K.weight"]; }) ==
        "parameters: no 'encoder.0.W_K.weight' (did you mean 'encoder.0.W_Q.weight'?)");
  CHECK(message([&] { scope.parameter("bias", {4}, Init::zeros()); }) ==
        "parameters: 'bias' exists already; give each layer its own scope");
}

TEST_CASE("First values depend on the seed and the full name alone") {
  const auto values = [](std::uint64_t seed, const std::string& name, bool after_others, DType dtype) {
    Parameters parameters;
    const Scope scope(parameters, seed, dtype);
    if (after_others) (scope / "others").parameter("weight", {7}, Init::gaussian(1));
    return (scope / name).parameter("weight", {3, 5}, Init::gaussian(1));
  };
  const auto base = values(1, "a", false, DType::float32).to_vector();
  CHECK(values(1, "a", true, DType::float32).to_vector() == base);
  CHECK(values(2, "a", false, DType::float32).to_vector() != base);
  CHECK(values(1, "b", false, DType::float32).to_vector() != base);
  CHECK(values(1, "a", false, DType::float64).to(DType::float32).to_vector() == base);
}

TEST_CASE("First values have the distribution asked for") {
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

  const auto [normal_mean, normal_deviation, farthest] = moments("normal", Init::gaussian(0.5));
  CHECK(std::abs(normal_mean) < 0.015);
  CHECK(normal_deviation == Approx(0.5).epsilon(0.02));
  CHECK(farthest > 1.5);
}

TEST_CASE("Loading copies every value, or nothing") {
  Parameters parameters;
  const Scope scope(parameters, 1);
  const Tensor a = scope.parameter("a", {2}, Init::zeros());
  const Tensor b = scope.parameter("b", {3}, Init::zeros());

  parameters.load({{"b", tensor({3}, {3, 4, 5}, DType::float64)}, {"a", tensor({2}, {1, 2})}}, "good");
  CHECK(a.to_vector() == std::vector<double>{1, 2});
  CHECK(b.to_vector() == std::vector<double>{3, 4, 5});

  CHECK(message([&] {
          parameters.load({{"a", ones({2})}, {"c", ones({})}, {"b", ones({3, 1})}}, "bad.safetensors");
        }) ==
        "bad.safetensors: its tensors are not those expected; was the model configured otherwise?\n"
        "  b: expected shape (3), got (3, 1)\n"
        "  extra: c ()");
  CHECK(message([&] {
          parameters.load({{"a", ones({2})}}, "short");
        }) ==
        "short: its tensors are not those expected; was the model configured otherwise?\n"
        "  missing: b (3)");
  CHECK(a.to_vector() == std::vector<double>{1, 2});
}

TEST_CASE("A model can be made of shapes alone, which take no memory") {
  Parameters shapes, drawn;
  const std::int64_t before = memory_use().bytes_in_use;
  const Linear layer(Scope(shapes, 1, DType::float32, Values::none) / "large", 1 << 20, 1 << 20);
  CHECK(shapes.numel() == (std::int64_t{1} << 40) + (1 << 20));
  CHECK(memory_use().bytes_in_use - before < 1 << 16);
  const Linear small(Scope(drawn, 1) / "large", 2, 3);
  CHECK(shapes.begin()->first == drawn.begin()->first);
}
