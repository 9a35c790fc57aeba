#include <heed/nn/convolution.h>
#include <heed/nn/hook.h>

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

void check_channels(const char* layer, int in, int out, int groups) {
  if (groups >= 1 && in % groups == 0 && out % groups == 0) return;
  fail("{}: groups must divide the {} input and {} output channels, got {}", layer, in, out, groups);
}

Parameter bias_of(const Scope& scope, int out, const auto& o) {
  return o.bias ? scope.parameter("bias", {out}, o.bias_init) : Parameter();
}

ConvOptions options_of(const ConvLayerOptions& o) { return {o.stride, o.padding, o.dilation, o.groups}; }

}  // namespace

Conv2d::Conv2d(Scope scope, int in, int out, HeightWidth kernel, const ConvLayerOptions& o)
    : name(scope.name()), options(options_of(o)) {
  check_channels("Conv2d", in, out, o.groups);
  weight = scope.parameter("weight", {out, in / o.groups, kernel.height, kernel.width}, o.init);
  bias = bias_of(scope, out, o);
}

Tensor Conv2d::operator()(const Tensor& x) const {
  const LayerScope scope(name);
  return Hook::shown_output(name, conv2d(x, weight, bias, options));
}

Conv1d::Conv1d(Scope scope, int in, int out, int kernel, const ConvLayerOptions& o)
    : name(scope.name()), options(options_of(o)) {
  check_channels("Conv1d", in, out, o.groups);
  weight = scope.parameter("weight", {out, in / o.groups, kernel}, o.init);
  bias = bias_of(scope, out, o);
}

Tensor Conv1d::operator()(const Tensor& x) const {
  const LayerScope scope(name);
  return Hook::shown_output(name, conv1d(x, weight, bias, options));
}

ConvTranspose2d::ConvTranspose2d(Scope scope, int in, int out, HeightWidth kernel, const ConvTransposeLayerOptions& o)
    : name(scope.name()), options{o.stride, o.padding, o.output_padding, o.dilation, o.groups} {
  check_channels("ConvTranspose2d", in, out, o.groups);
  const double terms = static_cast<double>(in / o.groups * kernel.height * kernel.width);
  const double windows = static_cast<double>(std::max<std::int64_t>(1, o.stride.height * o.stride.width));
  weight = scope.parameter("weight", {in, out / o.groups, kernel.height, kernel.width},
                           o.init ? *o.init : Init::uniform(std::sqrt(6 * windows / terms)));
  bias = bias_of(scope, out, o);
}

Tensor ConvTranspose2d::operator()(const Tensor& x) const {
  const LayerScope scope(name);
  return Hook::shown_output(name, conv_transpose2d(x, weight, bias, options));
}

}  // namespace heed
