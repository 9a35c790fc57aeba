#include "tests/autograd/helpers.h"

#include <heed/nn/more_layers.h>

using namespace heed;

TEST_CASE("RMSNorm divides by the root of the mean square, and needs no centre") {
  Parameters parameters;
  const RMSNorm norm(Scope(parameters, 1, DType::float64) / "norm", 4, 1e-3);
  Tensor gain = parameters["norm.gain"];
  gain.copy_from(tensor({4}, {1, 2, -1, 0.5}));
  Random random(1);
  const Tensor x = uniform({2, 3, 4}, random);
  const Tensor expected = x / sqrt(mean(square(x), {-1}, true) + 1e-3) * gain;
  CHECK(distance(norm(x), expected) < 1e-14);
  // Over several axes, which are made one: (2, 3, 4) over the last two.
  const Tensor wide = uniform({3, 4}, random);
  const Tensor both = reshape(rms_norm(flatten(x, 1), flatten(wide), 0.1), x.shape());
  CHECK(distance(both, x / sqrt(mean(square(x), {1, 2}, true) + 0.1) * wide) < 1e-14);
  CHECK(rms_norm(zeros({2, 0}), {}).shape() == Shape{2, 0});
  CHECK(rms_norm(zeros({2, 3}), {}).to_vector() == std::vector<double>(6, 0));
  CHECK(std::isnan(rms_norm(tensor({2}, {1, std::nan("")}), {}).at({0})));
  CHECK(max(abs(rms_norm(full({1, 768}, 1000.1), {}) - 1)).item() < 1e-5);
  CHECK(message([&] { RMSNorm(Scope(parameters, 1) / "bad", 4, -1); }) ==
        "RMSNorm: eps must be finite and at least 0, got -1");
}

TEST_CASE("SwiGLU is the product of its halves, and its gradients those of the composition") {
  Parameters parameters;
  const SwiGLU mlp(Scope(parameters, 1, DType::float64), 4, 6);
  CHECK(parameters.size() == 3);
  Random random(2);
  const Tensor x = variable(uniform({2, 3, 4}, random)), dy = uniform({2, 3, 4}, random);
  const Recording recording;
  const Tensor y = mlp(x), g = matmul(x, parameters["gate.weight"]);
  const Tensor expected = matmul(g * sigmoid(g) * matmul(x, parameters["up.weight"]), parameters["down.weight"]);
  CHECK(distance(y, expected) < 1e-14);
  const Gradients a = backward(y, dy), b = backward(expected, dy);
  CHECK(distance(a[x], b[x]) < 1e-13);
  for (const auto& [name, parameter] : parameters) CHECK(distance(a[parameter], b[parameter]) < 1e-13);
}

TEST_CASE("With rotary positions products depend on the distance alone") {
  const RotaryPairs pairs = GENERATE(RotaryPairs::halves, RotaryPairs::neighbours);
  const RotaryPositions turn(20, rotary_frequencies(6, 100), pairs, DType::float64);
  Random random(3);
  const Tensor q = uniform({1, 6}, random), k = uniform({1, 6}, random);
  const auto product = [&](std::int64_t i, std::int64_t j) { return sum(turn(q, i) * turn(k, j)).item(); };
  CHECK(product(5, 2) == Approx(product(17, 14)));
  CHECK(std::abs(product(5, 2) - product(5, 3)) > 1e-3);
  CHECK(rotary_frequencies(6, 100) == std::vector<double>{1, std::pow(100, -2.0 / 6), std::pow(100, -4.0 / 6)});
  CHECK(message([&] { turn(q, 20); }) ==
        "RotaryPositions: positions 20 and those after it, of x (1, 6), do not lie in the 20 there are");
}

TEST_CASE("Rotary positions of no length, of no frequency, or of an odd d are an error") {
  check_messages(
      {{"RotaryPositions: expected a max_length and frequencies, got 0 and 1 of them",
        [] { RotaryPositions(0, {1}, RotaryPairs::halves, DType::float32); }},
       {"RotaryPositions: expected a max_length and frequencies, got 4 and 0 of them",
        [] { RotaryPositions(4, {}, RotaryPairs::halves, DType::float32); }},
       {"rotary_frequencies: expected an even d and a base above 0, got 5, 100", [] { rotary_frequencies(5, 100); }},
       {"rotary_frequencies: expected an even d and a base above 0, got 4, nan",
        [] { rotary_frequencies(4, std::nan("")); }}});
}
