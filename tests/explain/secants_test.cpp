#include "explain/internal/secants.h"

#include "tests/catch.h"

#include <heed/autograd/record.h>

#include <cmath>

using namespace heed;

namespace {

Tensor drawn(const Shape& shape, std::uint64_t seed, double scale = 1) {
  Random random(seed);
  return random_normal(shape, random, 0, scale, DType::float64);
}

// Returns f(x) - f(y) in the direction of g, and what the derivatives of the secant give for it.
template <class Secant, class Function>
void check_slopes(const Secant& secant_of, const Function& f, const std::vector<Tensor>& x,
                  const std::vector<Tensor>& y) {
  const Recording recording;
  std::vector<Tensor> at;
  for (const Tensor& one : x) at.push_back(variable(one));
  const Tensor value = secant_of(at, y), expected = f(x), g = drawn(expected.shape(), 77);
  CHECK(max(abs(value.detach() - expected)).item() < 1e-12);
  const Gradients gradients = backward(sum(value * g));
  double product = 0;
  for (std::size_t i = 0; i < x.size(); ++i) product += sum(gradients[at[i]] * (x[i] - y[i])).item();
  const double difference = sum((expected - f(y)) * g).item();
  CHECK(std::abs(product - difference) < 1e-9 * (1 + std::abs(difference)));
}

}  // namespace

TEST_CASE("Secants of attention give f(x) and multiply x - y to f(x) - f(y), however saturated its softmax") {
  for (const double scale : {0.5, 3.0, 100.0}) {
    for (const double cap : {0.0, 5.0}) {
      CAPTURE(scale, cap);
      Parameters parameters;
      const AttentionConfig config{
          .d_model = 8, .heads = 4, .kv_heads = 2, .bias = true, .scale = scale, .soft_cap = cap, .window = 3};
      const MultiHeadAttention layer(Scope(parameters, 3, DType::float64), config.complete());
      const std::vector<Tensor> x{drawn({4, 2, 6, 8}, 1), drawn({2, 2, 6, 8}, 2), drawn({2, 2, 6, 8}, 3)};
      const std::vector<Tensor> y{drawn({4, 2, 6, 8}, 4), drawn({2, 2, 6, 8}, 5), drawn({2, 2, 6, 8}, 6)};
      const auto inputs = [](const std::vector<Tensor>& of) { return HeadInputs{of[0], of[1], of[2]}; };
      const Mask mask = Mask::causal() & Mask::padding(std::vector{6, 4}, 6);
      check_slopes([&](const auto& a, const auto& b) { return secant_values(layer, inputs(a), inputs(b), mask); },
                   [&](const auto& a) { return weighted_values(layer, inputs(a), mask); }, x, y);
      // Where both agree, the slopes are gradients.
      check_slopes([&](const auto& a, const auto&) { return secant_values(layer, inputs(a), inputs(x), mask); },
                   [&](const auto& a) { return weighted_values(layer, inputs(a), mask); }, x, x);
    }
  }
}

TEST_CASE("Secants of MLPs multiply x - y to f(x) - f(y)") {
  for (const ActivationFunction& function : activation_functions()) {
    for (const bool gated : {false, true}) {
      CAPTURE(name_of(function.activation), gated);
      Parameters parameters;
      const Mlp mlp(Scope(parameters, 3, DType::float64), 6,
                    {.width = 12, .activation = function.activation, .gated = gated});
      for (const auto& [name, parameter] : parameters) parameter.copy_from(drawn(parameter.shape(), name.size()));
      check_slopes([&](const auto& a, const auto& b) { return secant_mlp(mlp, a[0], b[0]); },
                   [&](const auto& a) { return mlp(a[0]); }, {drawn({5, 6}, 1)}, {drawn({5, 6}, 2)});
    }
  }
}
