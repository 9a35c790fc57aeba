#include <heed/autograd/ops.h>
#include <heed/nn/hook.h>
#include <heed/nn/mlp.h>

namespace heed {

bool is_gated(Activation activation) {
  return activation == Activation::swiglu || activation == Activation::geglu || activation == Activation::geglu_tanh;
}

Tensor activated(Activation activation, const Tensor& x) {
  switch (activation) {
    case Activation::gelu:
    case Activation::geglu:
      return gelu(x);
    case Activation::gelu_tanh:
    case Activation::geglu_tanh:
      return gelu_tanh(x);
    case Activation::relu:
      return relu(x);
    case Activation::silu:
    case Activation::swiglu:
      return silu(x);
  }
  fail("Mlp: {} is not an activation", static_cast<int>(activation));
}

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
