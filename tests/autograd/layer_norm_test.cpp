#include "tests/autograd/helpers.h"

#include <heed/autograd/ops.h>

using namespace heed;

TEST_CASE("layer_norm equals its formula") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  CAPTURE(to_string(dtype));
  Random random(4);
  for (const Shape& shape : {Shape{1}, Shape{5}, Shape{3, 16}, Shape{2, 3, 17}, Shape{4, 1000}, Shape{0, 3}}) {
    const std::int64_t n = shape[-1];
    for (const double size : {1.0, 300.0}) {
      INFO(to_string(shape) << " up to " << size);
      const Tensor x = scattered(uniform(shape, random, dtype, -size, size), random);
      const Tensor gain = scattered(uniform({n}, random, dtype), random), bias = uniform({n}, random, dtype);
      const auto norm_naive = [&](double eps) {
        return by_rows(x, [&, eps](std::vector<double> row) {
          double mu = 0, variance = 0;
          for (const double v : row) mu += v / static_cast<double>(n);
          for (const double v : row) variance += (v - mu) * (v - mu) / static_cast<double>(n);
          for (std::int64_t j = 0; j < n; ++j) {
            double& v = row[static_cast<std::size_t>(j)];
            v = (v - mu) / std::sqrt(variance + eps) * gain.at({j}) + bias.at({j});
          }
          return row;
        });
      };
      if (n == 1 && size > 1) continue;
      CHECK(distance(layer_norm(x, gain, bias), norm_naive(1e-5)) < 2 * rounding(dtype));
      CHECK(distance(layer_norm(x, gain, bias, 0.1), norm_naive(0.1)) < 2 * rounding(dtype));
      CHECK(same_bits(layer_norm(x, {}, {}), layer_norm(x, ones({n}, dtype), zeros({n}, dtype))));
    }
  }
}

TEST_CASE("layer_norm of equal numbers is 0 for any count and magnitude") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  for (const std::int64_t n : {1, 3, 64, 100, 768, 4096, 50257}) {
    for (const double value : {0.1, 1000.1, -1e6 - 0.7, 3e30}) {
      CAPTURE(n, value);
      const Tensor y = layer_norm(full({2, n}, value, dtype), {}, {});
      CHECK(max(sqrt(square(y))).item() < 1e-3);
    }
  }
}

TEST_CASE("layer_norm and rms_norm are correct for numbers whose squares exceed the range") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  const bool is_float = dtype == DType::float32;
  for (const double size :
       is_float ? std::vector{1e-36, 1e-20, 1e20, 1e38} : std::vector{1e-300, 1e-160, 1e160, 1e307}) {
    CAPTURE(to_string(dtype), size);
    std::vector<double> row(40, 1);
    row[3] = -1, row[17] = 0.5, row[30] = 0;
    for (const std::vector<double>& values : {std::vector<double>{1, 0, -1}, {1, 1}, row}) {
      const std::int64_t n = std::ssize(values);
      const Tensor small = variable(tensor({1, n}, values, dtype)), x = variable((small.detach() * size));
      const Tensor dy = arange(1, static_cast<double>(n) + 1, 1, dtype);
      const Recording recording;
      const auto check = [&](const auto& normalise) {
        const Tensor y = normalise(x), expected = normalise(small);
        CHECK(distance(y, expected) < 2 * rounding(dtype));
        const Tensor dx = backward(y, reshape(dy, {1, n}))[x] * size;
        CHECK(distance(dx, backward(expected, reshape(dy, {1, n}))[small]) < 20 * rounding(dtype));
      };
      if (n > 2) check([](const Tensor& t) { return layer_norm(t, {}, {}, 0); });
      check([](const Tensor& t) { return rms_norm(t, {}, 0); });
    }
  }
  CHECK(layer_norm(tensor({3}, {1e20, 0, -1e20}), {}, {}).at({0}) == Approx(std::sqrt(1.5)));
  CHECK(rms_norm(tensor({2}, {1e20, 1e20}), {}).to_vector() == std::vector<double>{1, 1});
  // the difference to the mean exceeds the range
  CHECK(layer_norm(tensor({4}, {3e38, -3e38, -3e38, -3e38}), {}, {}).at({0}) == Approx(std::sqrt(3)));
  // dy * gain does, but not dx
  const Tensor x = variable(tensor({3}, {1e15, 0, -1e15})), small = variable(tensor({3}, {1, 0, -1}));
  const Recording recording;
  const Tensor gain = full({3}, 1e20), dy = tensor({3}, {1e20, 2e20, 4e20});
  const Tensor dx = backward(layer_norm(x, gain, zeros({3})), dy)[x];
  const Tensor expected = backward(layer_norm(small, ones({3}), zeros({3}), 1e-35), dy / 1e20)[small];
  CHECK(distance(dx / 1e25, expected) < 1e-5);
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(std::isnan(layer_norm(tensor({2}, {infinity, 1}), {}, {}).at({1})));
  CHECK(std::isnan(rms_norm(tensor({2}, {std::nan(""), 1}), {}).at({1})));
}

TEST_CASE("Wrong use of layer_norm throws an Error that states what was expected") {
  const Tensor x = zeros({2, 3});
  check_messages(
      {{"layer_norm: eps must be finite and at least 0, got -1", [&] { layer_norm(x, {}, {}, -1); }},
       {"rms_norm: eps must be finite and at least 0, got nan", [&] { rms_norm(x, {}, std::nan("")); }},
       {"layer_norm: x float32 (2, 3) needs gain and bias of shape (3) and its dtype, a gain alone, or two undefined "
        "tensors; got a bias alone",
        [&] { layer_norm(x, {}, ones({3})); }},
       {"layer_norm: x float64 (2, 3) needs gain and bias of shape (3) and its dtype, a gain alone, or two undefined "
        "tensors; got float32 (3)",
        [&] { layer_norm(x.to(DType::float64), ones({3}), zeros({3})); }},
       {"layer_norm: expected at least one axis, got shape ()", [] { layer_norm(zeros({}), {}, {}); }},
       {"rms_norm: x float32 (2, 3) needs at least one axis, and a gain of its last one's size and of its dtype, or "
        "none; got float32 (2)",
        [&] { rms_norm(x, ones({2})); }},
       {"rms_norm: x float32 () needs at least one axis, and a gain of its last one's size and of its dtype, or none; "
        "got float32 ()",
        [] { rms_norm(zeros({}), {}); }}});
}
