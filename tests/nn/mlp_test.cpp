#include "tests/autograd/helpers.h"

#include <heed/autograd/ops.h>
#include <heed/nn/hook.h>
#include <heed/nn/mlp.h>

using namespace heed;

namespace {

Tensor activation_function(Activation activation, const Tensor& x) {
  if (activation == Activation::gelu) return gelu(x);
  if (activation == Activation::gelu_tanh) return gelu_tanh(x);
  if (activation == Activation::relu) return relu(x);
  if (activation == Activation::relu2) return relu(x) * relu(x);
  if (activation == Activation::tanh) return tanh(x);
  return x * sigmoid(x * (activation == Activation::quick_gelu ? 1.702 : 1));
}

}  // namespace

TEST_CASE("Mlp and its gradients equal the formula for every activation, gated or not") {
  using enum Activation;
  const Activation activation = GENERATE(gelu, gelu_tanh, quick_gelu, relu, relu2, silu, Activation::tanh);
  const bool gated = GENERATE(false, true);
  const bool bias = GENERATE(false, true);
  CAPTURE(name_of(activation), gated, bias);
  Parameters parameters;
  const Mlp mlp(Scope(parameters, 1, DType::float64), 4,
                {.width = 6, .activation = activation, .gated = gated, .bias = bias});
  CHECK(parameters.size() == (gated ? 3U : 2U) * (bias ? 2 : 1));
  Random random(2);
  for (const auto& [name, parameter] : parameters) Tensor(parameter).copy_from(uniform(parameter.shape(), random));
  const Tensor x = variable(uniform({2, 3, 4}, random)), dy = uniform({2, 3, 4}, random);
  const Recording recording;
  const auto layer = [&](const std::string& name, const Tensor& input) {
    const Tensor product = matmul(input, parameters[name + ".weight"]);
    return bias ? product + parameters[name + ".bias"] : product;
  };
  const Tensor hidden = gated ? activation_function(activation, layer("gate", x)) * layer("in", x)
                              : activation_function(activation, layer("in", x));
  const Tensor y = mlp(x), expected = layer("out", hidden);
  CHECK(distance(y, expected) < 1e-13);
  const Gradients a = backward(y, dy), b = backward(expected, dy);
  CHECK(distance(a[x], b[x]) < 1e-12);
  for (const auto& [name, parameter] : parameters) CHECK(distance(a[parameter], b[parameter]) < 1e-12);
}

TEST_CASE("A hook can read and replace the hidden features of an MLP") {
  Parameters parameters;
  const Mlp mlp(Scope(parameters, 1) / "mlp", 4, {.width = 6, .activation = Activation::silu, .gated = true});
  const Tensor x = ones({2, 4});
  std::vector<std::string> names;
  const Hook hook([&](const std::string& name, Tensor& value) {
    names.push_back(name);
    if (name == "mlp.hidden") value = zeros(value.shape());
  });
  CHECK(mlp(x).to_vector() == std::vector<double>(8, 0));
  CHECK(names == std::vector<std::string>{"mlp.gate.output", "mlp.in.output", "mlp.hidden", "mlp.out.output"});
}

TEST_CASE("Mlp rejects an unknown activation and a width of 0") {
  Parameters parameters;
  CHECK(message([&] { Mlp(Scope(parameters, 1), 4, {.width = 6, .activation = static_cast<Activation>(99)}); }) ==
        "Mlp: 99 is not an activation");
  CHECK(message([&] { Mlp(Scope(parameters, 1) / "none", 4, {.width = 0}); }) ==
        "parameter 'none.in.weight': every size must be positive, got (4, 0)");
}
