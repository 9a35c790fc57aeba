#include "tests/autograd/helpers.h"

#include <heed/autograd/ops.h>
#include <heed/nn/hook.h>
#include <heed/nn/mlp.h>

using namespace heed;

namespace {

Tensor activation_function(Activation activation, const Tensor& x) {
  if (activation == Activation::gelu || activation == Activation::geglu) return gelu(x);
  if (activation == Activation::gelu_tanh || activation == Activation::geglu_tanh) return gelu_tanh(x);
  if (activation == Activation::relu || activation == Activation::reglu) return relu(x);
  if (activation == Activation::relu2 || activation == Activation::reglu2) return relu(x) * relu(x);
  const bool is_quick = activation == Activation::quick_gelu || activation == Activation::quick_geglu;
  return x * sigmoid(x * (is_quick ? 1.702 : 1));
}

}  // namespace

TEST_CASE("Mlp and its gradients equal the formula for every activation, gated or not") {
  using enum Activation;
  const Activation activation =
      GENERATE(gelu, gelu_tanh, quick_gelu, relu, relu2, silu, swiglu, geglu, geglu_tanh, quick_geglu, reglu, reglu2);
  const Bias bias = GENERATE(Bias::no, Bias::yes);
  CAPTURE(name_of(activation), bias == Bias::yes);
  const bool gated = std::string(name_of(activation)).find("glu") != std::string::npos;
  CHECK(is_gated(activation) == gated);
  Parameters parameters;
  const Mlp mlp(Scope(parameters, 1, DType::float64), 4, {.width = 6, .activation = activation, .bias = bias});
  CHECK(parameters.size() == (gated ? 3U : 2U) * (bias == Bias::yes ? 2 : 1));
  Random random(2);
  for (const auto& [name, parameter] : parameters) Tensor(parameter).copy_from(uniform(parameter.shape(), random));
  const Tensor x = variable(uniform({2, 3, 4}, random)), dy = uniform({2, 3, 4}, random);
  const Recording recording;
  const auto layer = [&](const std::string& name, const Tensor& input) {
    const Tensor product = matmul(input, parameters[name + ".weight"]);
    return bias == Bias::yes ? product + parameters[name + ".bias"] : product;
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
  const Mlp mlp(Scope(parameters, 1) / "mlp", 4, {.width = 6, .activation = Activation::swiglu});
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
