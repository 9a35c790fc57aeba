#include "autograd/internal/norm.h"

#include <heed/autograd/ops.h>
#include <heed/nn/hook.h>
#include <heed/nn/norm.h>

#include <cmath>

namespace heed {

Norm::Norm(Scope scope, int d, const NormConfig& given)
    : name(scope.name()),
      config(given),
      gain(scope.parameter("gain", {d}, config.gain_offset ? Init::zeros() : Init::ones())),
      bias(config.kind == NormKind::layer && config.bias ? scope.parameter("bias", {d}, Init::zeros()) : Tensor()) {
  if (config.kind == NormKind::none) fail("Norm: a norm of kind 'none' computes nothing: leave it out");
  check_eps("Norm", config.epsilon, "epsilon");
}

std::optional<Norm> Norm::make_if(bool wanted, Scope scope, int d, const NormConfig& config) {
  if (!wanted || config.kind == NormKind::none) return std::nullopt;
  return std::optional<Norm>(std::in_place, scope, d, config);
}

Tensor Norm::operator()(const Tensor& x) const {
  const LayerScope scope(name);
  const Tensor g = config.gain_offset ? gain + 1.0 : Tensor(gain);
  return Hook::shown_output(
      name, config.kind == NormKind::rms ? rms_norm(x, g, config.epsilon) : layer_norm(x, g, bias, config.epsilon));
}

Linearised Norm::linearised(const Tensor& at) const {
  const bool centred = config.kind == NormKind::layer;
  const Tensor residual = centred ? at - mean(at) : at;
  const double deviation = std::sqrt(mean(square(residual)).item() + config.epsilon);
  const Tensor scale = (config.gain_offset ? gain + 1.0 : Tensor(gain)) / deviation;
  return {[=](const Tensor& parts) { return (centred ? parts - mean(parts, {-1}, true) : parts) * scale; }, bias};
}

}  // namespace heed
