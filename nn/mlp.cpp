#include <heed/autograd/ops.h>
#include <heed/nn/hook.h>
#include <heed/nn/mlp.h>

namespace heed {

const std::vector<ActivationFunction>& activation_functions() {
  using enum Activation;
  static const std::vector<ActivationFunction> all{
      {gelu, heed::gelu, 1, {"gelu", "gelu_python"}, "geglu"},
      {gelu_tanh,
       heed::gelu_tanh,
       1,
       {"gelu_pytorch_tanh", "gelu_new", "gelu_fast", "gelu_python_tanh", "gelu_accurate"},
       "geglu_tanh"},
      {quick_gelu, [](const Tensor& x) { return heed::silu(x * 1.702) / 1.702; }, 3, {"quick_gelu"}, "quick_geglu"},
      {relu, heed::relu, 1, {"relu"}, "reglu"},
      {relu2, [](const Tensor& x) { return square(heed::relu(x)); }, 2, {"relu2"}, "reglu2"},
      {silu, heed::silu, 1, {"silu", "swish"}, "swiglu"},
      {tanh, heed::tanh, 1, {"tanh"}, ""}};
  return all;
}

const ActivationFunction& function_of(Activation activation) {
  for (const ActivationFunction& function : activation_functions()) {
    if (activation == function.activation) return function;
  }
  fail("Mlp: {} is not an activation", static_cast<int>(activation));
}

std::optional<Activation> gate_named(std::string_view name) {
  for (const ActivationFunction& function : activation_functions()) {
    if (!name.empty() && name == function.gated_name) return function.activation;
  }
  return {};
}

Tensor activated(Activation activation, const Tensor& x) { return function_of(activation).of(x); }

Mlp::Mlp(Scope scope, int d_model, const MlpConfig& config)
    : name(scope.name()),
      activation(function_of(config.activation).activation),
      gate(config.gated ? std::optional<Linear>(std::in_place, scope / "gate", d_model, config.width,
                                                LinearOptions{.bias = config.bias})
                        : std::nullopt),
      in(scope / "in", d_model, config.width, {.bias = config.bias}),
      out(scope / "out", config.width, d_model, {.bias = config.bias}) {}

Tensor Mlp::operator()(const Tensor& x) const {
  const LayerScope scope(name);
  const Tensor gates = gate ? (*gate)(x) : Tensor(), values = in(x);
  Tensor hidden = !gate                            ? activated(activation, values)
                  : activation == Activation::silu ? swiglu(gates, values)
                                                   : activated(activation, gates) * values;
  Hook::show(name, "hidden", hidden);
  return out(hidden);
}

}  // namespace heed
