#include "tests/autograd/helpers.h"

#include <heed/autograd/more_ops.h>

using namespace heed;

TEST_CASE("layer_norm is the naive one") {
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

TEST_CASE("layer_norm of equal numbers is 0, whatever their number and size") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  for (const std::int64_t n : {1, 3, 64, 100, 768, 4096, 50257}) {
    for (const double value : {0.1, 1000.1, -1e6 - 0.7, 3e30}) {
      CAPTURE(n, value);
      const Tensor y = layer_norm(full({2, n}, value, dtype), {}, {});
      CHECK(max(sqrt(square(y))).item() < 1e-3);
    }
  }
}

TEST_CASE("Wrong use of layer_norm is an error that says what was expected") {
  const Tensor x = zeros({2, 3});
  check_messages(
      {{"layer_norm: x float32 (2, 3) needs gain and bias of shape (3) and its dtype, or neither",
        [&] { layer_norm(x, ones({3}), {}); }},
       {"layer_norm: expected at least one axis, got shape ()", [] { layer_norm(zeros({}), {}, {}); }},
       {"rms_norm: x float32 (2, 3) needs at least one axis, and a gain of its last one's size and of its dtype, or "
        "none; got float32 (2)",
        [&] { rms_norm(x, ones({2})); }},
       {"rms_norm: x float32 () needs at least one axis, and a gain of its last one's size and of its dtype, or none; "
        "got float32 ()",
        [] { rms_norm(zeros({}), {}); }}});
}
