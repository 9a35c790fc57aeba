#include <heed/nn/batch_norm.h>

namespace heed {
namespace {

void check_channels(const char* what, const Tensor& x, std::int64_t channels) {
  check_defined(what, {&x});
  if (x.rank() < 2 || x.size(1) != channels) {
    fail("{}: expected (B, {}) or (B, {}, ...), got {}", what, channels, channels, to_string(x.shape()));
  }
}

// (C) -> (C, 1, ...), which broadcasts over x.
Tensor per_channel(const Tensor& values, const Tensor& x) {
  Shape shape{values.size(0)};
  for (int axis = 2; axis < x.rank(); ++axis) shape.append(1);
  return reshape(values, shape);
}

}  // namespace

BatchNorm::BatchNorm(Scope scope, int channels, ChannelNormConfig constants)
    : config(constants),
      gain(scope.parameter("gain", {channels}, Init::ones())),
      bias(scope.parameter("bias", {channels}, Init::zeros())),
      running_mean(scope.buffer("running_mean", {channels}, 0)),
      running_variance(scope.buffer("running_variance", {channels}, 1)) {}

Tensor BatchNorm::operator()(const Tensor& x, Phase phase) const {
  check_channels("BatchNorm", x, gain.size(0));
  Tensor mean = per_channel(running_mean, x), variance = per_channel(running_variance, x);
  if (phase == Phase::train) {
    const double n = static_cast<double>(x.numel()) / static_cast<double>(x.size(1));
    if (n < 2) {
      fail("BatchNorm: training needs at least two values per channel, got {}; use Phase::evaluate or a larger batch",
           to_string(x.shape()));
    }
    std::vector<int> axes{0};
    for (int axis = 2; axis < x.rank(); ++axis) axes.push_back(axis);
    mean = heed::mean(x, axes, true);
    variance = var(x, axes, true);
    const NoRecording constants;
    const auto move = [&](const Tensor& running, const Tensor& batch, double factor) {
      running.copy_from(running * (1 - config.momentum) + reshape(batch.detach(), running.shape()) * factor);
    };
    move(running_mean, mean, config.momentum);
    move(running_variance, variance, config.momentum * n / (n - 1));
  }
  return (x - mean) / sqrt(variance + config.epsilon) * per_channel(gain, x) + per_channel(bias, x);
}

GroupNorm::GroupNorm(Scope scope, int number, int channels, double constant)
    : groups(number),
      epsilon(constant),
      gain(scope.parameter("gain", {channels}, Init::ones())),
      bias(scope.parameter("bias", {channels}, Init::zeros())) {
  if (groups < 1 || channels % groups != 0) {
    fail("GroupNorm: {} channels cannot form {} equal groups", channels, groups);
  }
}

Tensor GroupNorm::operator()(const Tensor& x) const {
  check_channels("GroupNorm", x, gain.size(0));
  const Tensor grouped = reshape(x, {x.size(0), groups, x.numel() / std::max<std::int64_t>(1, x.size(0) * groups)});
  const Tensor centred = grouped - mean(grouped, -1, true);
  const Tensor normalised = centred / sqrt(var(grouped, {-1}, true) + epsilon);
  return reshape(normalised, x.shape()) * per_channel(gain, x) + per_channel(bias, x);
}

}  // namespace heed
