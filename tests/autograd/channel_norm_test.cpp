#include "tests/autograd/helpers.h"

#include <heed/autograd/convolution.h>
#include <heed/autograd/ops.h>

using namespace heed;

namespace {

double largest_difference(const Tensor& a, const Tensor& b) { return max(abs(a - b)).item(); }

}  // namespace

TEST_CASE("batch_norm and group_norm equal their formulas, for views and rows of any length") {
  Random random(3);
  for (const Shape& shape : {Shape{3, 4, 3, 5}, Shape{5, 4, 9}, Shape{6, 4}, Shape{2, 4, 7}}) {
    INFO(to_string(shape));
    const Tensor x = 3 + random_normal(shape, random, DType::float64);
    const Tensor gain = random_normal({4}, random, DType::float64), bias = random_normal({4}, random, DType::float64);
    std::vector<int> axes{0};
    Shape channels{4};
    for (int axis = 2; axis < x.rank(); ++axis) axes.push_back(axis), channels.append(1);
    const Tensor a = reshape(gain, channels), b = reshape(bias, channels);
    const BatchNormResult y = batch_norm(x, gain, bias, 0.1);
    CHECK(largest_difference(y.output, (x - mean(x, axes, true)) / sqrt(var(x, axes, true) + 0.1) * a + b) < 1e-13);
    CHECK(largest_difference(y.mean, mean(x, axes)) < 1e-13);
    CHECK(largest_difference(y.variance, var(x, axes)) < 1e-13);
    CHECK(largest_difference(batch_norm(flip(flip(x, 0), 0), gain, bias, 0.1).output, y.output) == 0);
    const Tensor swapped = transpose(contiguous(transpose(x, 0, -1)), 0, -1);
    CHECK(largest_difference(batch_norm(swapped, gain, bias, 0.1).output, y.output) == 0);
    const Tensor grouped = reshape(x, {shape[0], 2, -1});
    const Tensor h = (grouped - mean(grouped, {2}, true)) / sqrt(var(grouped, {2}, true) + 0.1);
    CHECK(largest_difference(group_norm(x, 2, gain, bias, 0.1), reshape(h, shape) * a + b) < 1e-13);
  }
}

TEST_CASE("batch_norm gives equal numbers exactly the bias, and stays finite at the ends of the range of float32") {
  const Tensor gain = tensor({2, 3}), bias = tensor({0.5, -1});
  const Tensor equal_numbers = batch_norm(full({7, 2, 11}, 1234.567), gain, bias).output;
  CHECK(largest_difference(equal_numbers, broadcast_to(reshape(bias, {2, 1}), {7, 2, 11})) == 0);
  Random random(4);
  for (const Shape& shape : {Shape{4, 2, 16}, Shape{64, 2}, Shape{5, 2, 3}}) {
    const Tensor x = random_normal(shape, random), dy = random_normal(shape, random);
    const auto norm = [&](const Tensor& v) { return batch_norm(v, gain, bias, 0).output; };
    const auto gradient = [&](double scale) {
      const Tensor v = variable(x * scale);
      const Recording recording;
      return backward(norm(v), dy)[v] * scale;
    };
    const Tensor groups = group_norm(x, 1, gain, bias, 0);
    for (const double scale : {1e25, 1e-25}) {
      INFO(shape << " times " << scale);
      CHECK(largest_difference(norm(x * scale), norm(x)) < 1e-4);
      CHECK(largest_difference(gradient(scale), gradient(1)) < 1e-4);
      CHECK(largest_difference(group_norm(x * scale, 1, gain, bias, 0), groups) < 1e-3);
    }
  }
}

TEST_CASE("Wrong use of batch_norm and group_norm throws an Error that states what was expected") {
  const Tensor x = ones({2, 4, 8}), four = ones({4});
  CHECK(
      message([&] { batch_norm(x, ones({3}), four); }) ==
      "batch_norm: expected x (B, C, ...), gain (C) and bias (C) of one dtype, got float32 (2, 4, 8), float32 (3) and "
      "float32 (4)");
  CHECK(message([&] { batch_norm(x, four, four, -1); }) == "batch_norm: eps must be finite and at least 0, got -1");
  CHECK(message([&] { group_norm(x, 3, four, four); }) == "group_norm: 4 channels cannot form 3 equal groups");
  CHECK(group_norm(zeros({0, 4, 8}), 2, four, four).shape() == Shape{0, 4, 8});
}
