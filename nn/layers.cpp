#include <heed/nn/layers.h>

#include <cmath>

namespace heed {
namespace {

Tensor shown(const std::string& layer, Tensor output) {
  Hook::show(layer, "output", output);
  return output;
}

double checked_eps(double eps) {
  if (!(eps >= 0 && std::isfinite(eps))) fail("LayerNorm: eps must be finite and at least 0, got {}", eps);
  return eps;
}

}  // namespace

Linear::Linear(Scope scope, int in, int out, Bias with_bias)
    : name(scope.name()),
      weight(scope.parameter("weight", {in, out}, Init::xavier(in, out))),
      bias(with_bias == Bias::yes ? scope.parameter("bias", {out}, Init::zeros()) : Tensor()) {}

Tensor Linear::operator()(const Tensor& x) const {
  const LayerScope scope(name);
  return shown(name, linear(x, weight, bias));
}

Embedding::Embedding(Scope scope, int count, int d, double deviation)
    : name(scope.name()), weight(scope.parameter("weight", {count, d}, Init::gaussian(deviation))) {}

Tensor Embedding::operator()(const Ids& ids) const {
  const LayerScope scope(name);
  return shown(name, embedding(weight, ids));
}

LayerNorm::LayerNorm(Scope scope, int d, double epsilon)
    : name(scope.name()),
      eps(checked_eps(epsilon)),
      gain(scope.parameter("gain", {d}, Init::ones())),
      bias(scope.parameter("bias", {d}, Init::zeros())) {}

Tensor LayerNorm::operator()(const Tensor& x) const {
  const LayerScope scope(name);
  return shown(name, layer_norm(x, gain, bias, eps));
}

LearnedPositions::LearnedPositions(Scope scope, int max_length, int d, double deviation)
    : name(scope.name()), weight(scope.parameter("weight", {max_length, d}, Init::gaussian(deviation))) {}

Tensor LearnedPositions::operator()(const Tensor& x, std::int64_t first) const {
  const LayerScope scope(name);
  const std::int64_t end = first + x.size(-2);
  if (end > weight.size(0)) fail("LearnedPositions: a text has {} tokens, but max_length is {}", end, weight.size(0));
  return shown(name, x + slice(weight, 0, first, end));
}

Tensor sinusoidal_positions(int T, int d, DType dtype, int first) {
  if (T < 1 || d < 1) fail("sinusoidal_positions: sizes must be positive, got ({}, {})", T, d);
  std::vector<double> values;
  for (int t = first; t < first + T; ++t) {
    for (int i = 0; i < d; ++i) {
      const int pair = i / 2;
      const double angle = t / std::pow(10000.0, 2.0 * pair / d);
      values.push_back(i % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  return tensor({T, d}, values, dtype);
}

}  // namespace heed
