#include <heed/nn/more_layers.h>

#include <cmath>

namespace heed {

RMSNorm::RMSNorm(Scope scope, int d, double epsilon)
    : name(scope.name()), eps(epsilon), gain(scope.parameter("gain", {d}, Init::ones())) {
  if (!(eps >= 0 && std::isfinite(eps))) fail("RMSNorm: eps must be finite and at least 0, got {}", eps);
}

Tensor RMSNorm::operator()(const Tensor& x) const {
  const LayerScope scope(name);
  Tensor y = rms_norm(x, gain, eps);
  Hook::show(name, "output", y);
  return y;
}

SwiGLU::SwiGLU(Scope scope, int d_model, int width, Bias bias)
    : name(scope.name()),
      gate(scope / "gate", d_model, width, bias),
      up(scope / "up", d_model, width, bias),
      down(scope / "down", width, d_model, bias) {}

Tensor SwiGLU::operator()(const Tensor& x) const {
  const LayerScope scope(name);
  Tensor hidden = swiglu(gate(x), up(x));
  Hook::show(name, "hidden", hidden);
  Tensor y = down(hidden);
  Hook::show(name, "output", y);
  return y;
}

RotaryPositions::RotaryPositions(int max_length, const std::vector<double>& frequencies, RotaryPairs pairing,
                                 DType dtype)
    : pairs(pairing) {
  if (max_length < 1 || frequencies.empty()) {
    fail("RotaryPositions: expected a max_length and frequencies, got {} and {} of them", max_length,
         frequencies.size());
  }
  std::vector<double> cosines, sines;
  for (int t = 0; t < max_length; ++t) {
    for (const double frequency : frequencies) {
      cosines.push_back(std::cos(t * frequency));
      sines.push_back(std::sin(t * frequency));
    }
  }
  const Shape shape{max_length, std::ssize(frequencies)};
  cosine = tensor(shape, cosines, dtype);
  sine = tensor(shape, sines, dtype);
}

Tensor RotaryPositions::operator()(const Tensor& x, std::int64_t first) const {
  if (x.rank() < 2 || first < 0 || first + x.size(-2) > cosine.size(0)) {
    fail("RotaryPositions: positions {} and those after it, of x {}, do not lie in the {} there are", first,
         to_string(x.shape()), cosine.size(0));
  }
  const std::int64_t end = first + x.size(-2);
  return rotary(x, slice(cosine, 0, first, end), slice(sine, 0, first, end), pairs);
}

std::vector<double> rotary_frequencies(int d, double base) {
  if (d < 2 || d % 2 != 0 || !(base > 0))
    fail("rotary_frequencies: expected an even d and a base above 0, got {}, {}", d, base);
  std::vector<double> frequencies;
  for (int i = 0; i < d; i += 2) frequencies.push_back(std::pow(base, -static_cast<double>(i) / d));
  return frequencies;
}

}  // namespace heed
