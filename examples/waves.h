#pragma once
#include <heed/heed.h>

#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

namespace heed {

// Numbers that are easy to make in another language, so that a program in PyTorch can compute the same.
struct Numbers {
  std::uint64_t state = 1;
  // Returns a number in [0, 1).
  double next() {
    state = (state * 1103515245 + 12345) % 2147483648;
    return static_cast<double>(state) / 2147483648;
  }
  std::int32_t below(int end) { return static_cast<std::int32_t>(end * next()); }
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - next()));
    return radius * std::cos(2 * std::numbers::pi * next());
  }
  // Returns normal numbers in float64.
  Tensor normal(const Shape& shape) {
    std::vector<double> values(static_cast<std::size_t>(shape.numel()));
    for (double& value : values) value = normal();
    return tensor(shape, values, DType::float64);
  }
};

// Sets the matrices to scale / sqrt(rows) times sin(1), sin(2), ..., and all vectors but gains to 0.
inline void set_to_waves(const Parameters& parameters, double scale = 1) {
  int number = 0;
  for (const auto& [name, parameter] : parameters) {
    if (name.ends_with(".gain")) continue;
    std::vector<double> values(static_cast<std::size_t>(parameter.numel()));
    const double factor = parameter.rank() < 2 ? 0 : scale / std::sqrt(static_cast<double>(parameter.size(0)));
    for (double& value : values) value = factor * std::sin(++number);
    assign(parameter, tensor(parameter.shape(), values, parameter.dtype()));
  }
}

}  // namespace heed
