#pragma once
#include <heed/nn/layers.h>

namespace heed {

/// Whether a layer that computes differently in the two trains or evaluates.
enum class Phase { train, evaluate };

/// Constants of BatchNorm and GroupNorm. @hideinitializer
struct ChannelNormConfig {
  double epsilon = 1e-5;  ///< added to the variance
  double momentum = 0.1;  ///< share of a batch in the running statistics
};

/// Normalises each channel over a batch (Ioffe & Szegedy 2015, arXiv:1502.03167): (B, C) or (B, C, ...), the same shape.
///
///     y = (x - mean) / sqrt(variance + epsilon) * gain + bias
///
/// Phase::train takes the batch's mean and variance, and moves the running ones towards them (the variance with n - 1, as PyTorch
/// does). Phase::evaluate takes the running ones. They are buffers: saved and loaded, not trained.
///
///     const BatchNorm norm(scope / "norm", 64);
///     const Tensor y = norm(conv(x), Phase::train);   // (B, 64, H, W)
struct BatchNorm {
  std::string name;
  ChannelNormConfig config;
  Parameter gain, bias, running_mean, running_variance;  ///< (C)
  /// Begins with gain 1, bias 0, mean 0 and variance 1. Throws Error for a negative epsilon, and a momentum outside [0, 1].
  BatchNorm(Scope scope, int channels, ChannelNormConfig config = {});
  /// Throws Error for another number of channels, and in Phase::train for fewer than two values per channel.
  Tensor operator()(const Tensor& x, Phase phase) const;
};

/// Normalises groups of channels of each example (Wu & He 2018, arXiv:1803.08494): (B, C, ...), the same shape. One group is a layer
/// norm over all channels, C groups are an instance norm.
///
///     const GroupNorm norm(scope / "norm", 8, 64);   // 8 groups of 8 channels
struct GroupNorm {
  std::string name;
  int groups;
  double epsilon;
  Parameter gain, bias;  ///< (C)
  /// Begins with gain 1 and bias 0. Throws Error for groups that do not divide the channels, and a negative epsilon.
  GroupNorm(Scope scope, int groups, int channels, double epsilon = 1e-5);
  Tensor operator()(const Tensor& x) const;  ///< throws Error for another number of channels
};

}  // namespace heed
