#include "autograd/internal/norm.h"

#include <heed/autograd/convolution.h>
#include <heed/nn/batch_norm.h>

namespace heed {
namespace {

void check_input(const char* what, const Tensor& x, const Tensor& gain) {
  check_defined(what, {&x});
  const std::int64_t channels = gain.size(0);
  if (x.rank() < 2 || x.size(1) != channels) {
    fail("{}: expected (B, {}) or (B, {}, ...), got {}", what, channels, channels, to_string(x.shape()));
  }
  if (x.dtype() != gain.dtype()) {
    fail("{}: expected {} as its parameters have, got {} {}; convert x with x.to(), or make the Scope with this dtype",
         what, to_string(gain.dtype()), to_string(x.dtype()), to_string(x.shape()));
  }
}

}  // namespace

BatchNorm::BatchNorm(Scope scope, int channels, ChannelNormConfig constants)
    : name(scope.name()),
      config(constants),
      gain(scope.parameter("gain", {channels}, Init::ones())),
      bias(scope.parameter("bias", {channels}, Init::zeros())),
      running_mean(scope.buffer("running_mean", {channels}, 0)),
      running_variance(scope.buffer("running_variance", {channels}, 1)) {
  check_eps("BatchNorm", config.epsilon, "epsilon");
  if (!(config.momentum >= 0 && config.momentum <= 1)) {
    fail("BatchNorm: momentum must be from 0 to 1, got {}", config.momentum);
  }
}

Tensor BatchNorm::operator()(const Tensor& x, Phase phase) const {
  const LayerScope scope(name);
  check_input("BatchNorm", x, gain);
  Tensor y;
  if (phase == Phase::train) {
    const double n = static_cast<double>(x.numel()) / static_cast<double>(x.size(1));
    if (n < 2) {
      fail("BatchNorm: training needs at least two values per channel, got {}; use Phase::evaluate or a larger batch",
           to_string(x.shape()));
    }
    const BatchNormResult result = batch_norm(x, gain, bias, config.epsilon);
    y = result.output;
    const NoRecording constants;
    const auto move = [&](const Tensor& running, const Tensor& batch, double factor) {
      running.copy_from(running * (1 - config.momentum) + batch * factor);
    };
    move(running_mean, result.mean, config.momentum);
    move(running_variance, result.variance, config.momentum * n / (n - 1));
  } else {
    const Tensor factor = gain / sqrt(running_variance + config.epsilon);
    y = (x - per_channel(running_mean, x)) * per_channel(factor, x) + per_channel(bias, x);
  }
  return Hook::shown_output(name, y);
}

GroupNorm::GroupNorm(Scope scope, int number, int channels, double constant)
    : name(scope.name()),
      groups(number),
      epsilon(constant),
      gain(scope.parameter("gain", {channels}, Init::ones())),
      bias(scope.parameter("bias", {channels}, Init::zeros())) {
  check_eps("GroupNorm", epsilon, "epsilon");
  if (groups < 1 || channels % groups != 0) {
    fail("GroupNorm: {} channels cannot form {} equal groups", channels, groups);
  }
}

Tensor GroupNorm::operator()(const Tensor& x) const {
  const LayerScope scope(name);
  check_input("GroupNorm", x, gain);
  return Hook::shown_output(name, group_norm(x, groups, gain, bias, epsilon));
}

}  // namespace heed
