#pragma once
#include <heed/autograd/ops.h>

#include <cmath>

// Parts of layer_norm(), rms_norm(), batch_norm() and group_norm().
namespace heed {

inline void check_eps(const char* operation, double eps, const char* name = "eps") {
  if (!(eps >= 0 && std::isfinite(eps))) fail("{}: {} must be finite and at least 0, got {}", operation, name, eps);
}

// (C) -> (C, 1, ...), which broadcasts over x.
inline Tensor per_channel(const Tensor& values, const Tensor& x) {
  Shape shape{values.size(0)};
  for (int axis = 2; axis < x.rank(); ++axis) shape.append(1);
  return reshape(values, shape);
}

// Returns whether numbers with this 1 / sqrt(variance + eps), and their squares, lie in the range of T.
template <class T>
bool is_usual(T inverse) {
  constexpr T most = sizeof(T) == sizeof(float) ? T(1e18) : T(1e150);
  return inverse > 1 / most && inverse < most;
}

// Returns the sum of squares around the mean of `count` numbers x; sum(f) adds f(x). Corrects the rounding error of the mean of numbers
// far from 0: equal numbers must give exactly 0.
template <class T, class Sum>
[[gnu::always_inline]] inline double squares_around(T& mean, double count, const Sum& sum) {
  const auto squares = [&] { return sum([m = mean](T x) { return (x - m) * (x - m); }); };
  const double around = squares(), mu = static_cast<double>(mean);
  if (!(mu * mu * count > 4096 * around)) return around;
  mean = static_cast<T>(mu + sum([m = mean](T x) { return x - m; }) / count);
  return squares();
}

}  // namespace heed
