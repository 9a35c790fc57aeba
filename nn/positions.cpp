#include <heed/nn/positions.h>

#include <cmath>
#include <cstdint>

namespace heed {

LearnedPositions::LearnedPositions(Scope scope, int max_length, int d, double deviation, int first_row)
    : name(scope.name()),
      weight(scope.parameter("weight", {max_length + first_row, d}, Init::normal(deviation))),
      offset(first_row) {}

Tensor LearnedPositions::operator()(const Tensor& x, std::int64_t first) const {
  const LayerScope scope(name);
  return Hook::shown_output(name, x + rows(first, x.size(-2)));
}

Tensor LearnedPositions::rows(std::int64_t first, std::int64_t count) const {
  const std::int64_t end = first + count, max_length = weight.size(0) - offset;
  if (end > max_length) fail("LearnedPositions: the text has {} tokens, but max_length is {}", end, max_length);
  return slice(weight, 0, first + offset, end + offset);
}

Tensor sinusoidal_positions(int T, int d, DType dtype, int first) {
  if (T < 1 || d < 1) fail("sinusoidal_positions: sizes must be positive, got ({}, {})", T, d);
  Tensor vectors({T, d}, dtype,
                 "sinusoidal_positions");  // before the computation, so that sizes that do not fit fail at once
  dispatch(dtype, [&]<class N>() {
    N* to = vectors.mutable_data<N>();
    for (std::int64_t t = first; t < first + std::int64_t{T}; ++t) {
      for (int i = 0; i < d; ++i) {
        const int pair = i / 2;
        const double angle = static_cast<double>(t) / std::pow(10000.0, 2.0 * pair / d);
        *to++ = static_cast<N>(i % 2 == 0 ? std::sin(angle) : std::cos(angle));
      }
    }
  });
  return vectors;
}

}  // namespace heed
