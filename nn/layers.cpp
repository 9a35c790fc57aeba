#include <heed/nn/layers.h>

#include <cmath>
#include <vector>

namespace heed {
namespace {

Tensor shown(const std::string& layer, Tensor output) {
  Hook::show(layer, "output", output);
  return output;
}

}  // namespace

Linear::Linear(Scope scope, int in, int out, LinearOptions options)
    : name(scope.name()),
      weight(scope.parameter("weight", {in, out}, options.init)),
      bias(options.bias ? scope.parameter("bias", {out}, options.bias_init) : Tensor()) {}

Tensor Linear::operator()(const Tensor& x) const {
  const LayerScope scope(name);
  return shown(name, linear(x, weight, bias));
}

Linearised Linear::linearised(std::int64_t begin, std::int64_t end) const {
  if (end < 0) end = weight.size(1);
  const Tensor columns = slice(weight, 1, begin, end);
  return {[columns](const Tensor& parts) { return matmul(parts, columns); },
          bias.defined() ? slice(bias, 0, begin, end) : Tensor()};
}

Embedding::Embedding(Scope scope, int count, int d, double deviation)
    : name(scope.name()),
      weight(scope.parameter("weight", {count, d}, Init::normal(deviation))),
      dtype(scope.dtype()) {}

Tensor Embedding::operator()(const Ids& ids) const {
  const LayerScope scope(name);
  const Tensor rows = embedding(weight, ids);
  return shown(name, rows.dtype() == dtype ? rows : rows.to(dtype));  // constants: a weight that is only stored
}

LearnedPositions::LearnedPositions(Scope scope, int max_length, int d, double deviation, int first_row)
    : name(scope.name()),
      weight(scope.parameter("weight", {max_length + first_row, d}, Init::normal(deviation))),
      offset(first_row) {}

Tensor LearnedPositions::operator()(const Tensor& x, std::int64_t first) const {
  const LayerScope scope(name);
  return shown(name, x + rows(first, x.size(-2)));
}

Tensor LearnedPositions::rows(std::int64_t first, std::int64_t count) const {
  const std::int64_t end = first + count, max_length = weight.size(0) - offset;
  if (end > max_length) fail("LearnedPositions: the text has {} tokens, but max_length is {}", end, max_length);
  return slice(weight, 0, first + offset, end + offset);
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
