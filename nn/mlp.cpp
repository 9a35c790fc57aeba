#include <heed/autograd/ops.h>
#include <heed/nn/hook.h>
#include <heed/nn/mlp.h>

namespace heed {

const std::vector<ActivationFunction>& activation_functions() {
  using enum Activation;
  static const std::vector<ActivationFunction> all{
      {heed::gelu, 1, gelu, geglu, {"gelu", "gelu_python"}},
      {heed::gelu_tanh,
       1,
       gelu_tanh,
       geglu_tanh,
       {"gelu_pytorch_tanh", "gelu_new", "gelu_fast", "gelu_python_tanh", "gelu_accurate"}},
      {[](const Tensor& x) { return heed::silu(x * 1.702) / 1.702; }, 3, quick_gelu, quick_geglu, {"quick_gelu"}},
      {heed::relu, 1, relu, reglu, {"relu"}},
      {[](const Tensor& x) { return square(heed::relu(x)); }, 2, relu2, reglu2, {"relu2"}},
      {heed::silu, 1, silu, swiglu, {"silu", "swish"}}};
  return all;
}

const ActivationFunction& function_of(Activation activation) {
  for (const ActivationFunction& function : activation_functions()) {
    if (activation == function.plain || activation == function.gated) return function;
  }
  fail("Mlp: {} is not an activation", static_cast<int>(activation));
}

bool is_gated(Activation activation) { return activation == function_of(activation).gated; }

Tensor activated(Activation activation, const Tensor& x) { return function_of(activation).of(x); }

Mlp::Mlp(Scope scope, int d_model, const MlpConfig& config)
    : name(scope.name()),
      activation(config.activation),
      gate(is_gated(activation)
               ? std::optional<Linear>(std::in_place, scope / "gate", d_model, config.width, config.bias)
               : std::nullopt),
      in(scope / "in", d_model, config.width, config.bias),
      out(scope / "out", config.width, d_model, config.bias) {}

Tensor Mlp::operator()(const Tensor& x) const {
  const LayerScope scope(name);
  const Tensor gates = gate ? (*gate)(x) : Tensor(), values = in(x);
  Tensor hidden = activation == Activation::swiglu ? swiglu(gates, values)
                  : gate                           ? activated(activation, gates) * values
                                                   : activated(activation, values);
  Hook::show(name, "hidden", hidden);
  return out(hidden);
}

}  // namespace heed
