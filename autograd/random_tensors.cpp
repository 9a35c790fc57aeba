#include "autograd/cpu/checks.h"
#include "autograd/cpu/lanes.h"
#include "autograd/cpu/vector_math.h"

#include <heed/autograd/ops.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <numeric>
#include <span>
#include <vector>

// Tensors and arrays of random numbers.
namespace heed {
namespace {

constexpr std::int64_t drawn_together = 128;  // elements

// Draws `each` uniform numbers in [0, 1) for each of n elements. use(first, count, u) gets those for the elements from `first`
// on: the number `e` of element first + j is u[j][e].
template <std::size_t each, class Use>
void draw_uniform(std::int64_t n, Random& random, Use use) {
  double u[drawn_together][each];
  for (std::int64_t i = 0; i < n; i += drawn_together) {
    const std::int64_t count = std::min(drawn_together, n - i);
    random.uniform(std::span(u[0], each * static_cast<std::size_t>(count)));
    use(i, count, u);
  }
}

// Returns cos(x) for x in [0, 2 pi], within 2^-48: sin(|x - pi| - pi / 2) by its Taylor series up to s^19.
[[gnu::always_inline]] inline double cosine(double x) {
  constexpr double pi = std::numbers::pi, rest = 1.2246467991473532e-16;  // pi to 106 bits
  const double s = std::abs(x - pi - rest) - pi / 2 - rest / 2, s2 = s * s;
  constexpr double factors[] = {-1 / 6.0,          1 / 120.0,          -1 / 5040.0,
                                1 / 362880.0,      -1 / 39916800.0,    1 / 6227020800.0,
                                -1 / 1307674368e3, 1 / 355687428096e3, -1 / 121645100408832e3};
  double p = factors[8];
  for (int i = 7; i >= 0; --i) p = p * s2 + factors[i];
  return s + s * (s2 * p);
}

}  // namespace

Tensor random_uniform(const Shape& shape, Random& random, double low, double high, DType dtype) {
  if (!(low <= high && std::isfinite(high - low))) {
    fail("random_uniform: expected finite bounds, low at most high, got {} and {}", low, high);
  }
  Tensor y(shape, dtype, "random_uniform");
  dispatch(dtype, [&]<class T>() {
    // rounding may reach the bound
    const T bound = static_cast<T>(high), least = static_cast<T>(low);
    const T below = bound > least ? std::nextafter(bound, least) : bound;
    T* const to = y.mutable_data<T>();
    draw_uniform<1>(y.numel(), random, [=](std::int64_t first, std::int64_t count, const auto& u) {
      for (std::int64_t j = 0; j < count; ++j) {
        const T value = static_cast<T>(low + (high - low) * u[j][0]);
        to[first + j] = value < bound ? value : below;
      }
    });
  });
  return y;
}

Tensor random_uniform(const Shape& shape, Random& random, DType dtype) {
  return random_uniform(shape, random, 0, 1, dtype);
}

// Box & Muller (1958), as in Random::normal().
Tensor random_normal(const Shape& shape, Random& random, double mean, double deviation, DType dtype) {
  if (!(deviation >= 0 && std::isfinite(deviation) && std::isfinite(mean))) {
    fail("random_normal: expected a finite mean and a finite deviation of at least 0, got {} and {}", mean, deviation);
  }
  Tensor y(shape, dtype, "random_normal");
  if (dtype != DType::float32) {
    dispatch(dtype, [&]<class T>() {
      std::generate_n(y.mutable_data<T>(), y.numel(),
                      [&] { return static_cast<T>(mean + deviation * random.normal()); });
    });
    return y;
  }
  float* const to = y.mutable_data<float>();
  draw_uniform<2>(y.numel(), random, [=](std::int64_t first, std::int64_t count, const auto& u) {
    constexpr double two_pi = 2 * std::numbers::pi;
    constexpr std::int64_t width = cpu::lane_count<double>;
    double logarithms[drawn_together], cosines[drawn_together];
    for (std::int64_t j = 0; j < count; ++j) {
      logarithms[j] = 1 - u[j][0];
      cosines[j] = cosine(two_pi * u[j][1]);
    }
    for (std::int64_t j = 0; j < count; j += width) {
      const auto logarithm = cpu::log(cpu::load_lanes(logarithms + j, 1, std::min(width, count - j)));
      std::memcpy(logarithms + j, &logarithm, sizeof logarithm);
    }
    // The C library's functions of single numbers are more exact. A float differs only where a number lies between two floats.
    constexpr double error = 0x1p-47;  // of a cosine
    int unsure = 0;
    for (std::int64_t j = 0; j < count; ++j) {
      const double radius = std::sqrt(-2 * logarithms[j]);
      const float a = static_cast<float>(mean + deviation * (radius * (cosines[j] - error)));
      to[first + j] = a;
      unsure |= a != static_cast<float>(mean + deviation * (radius * (cosines[j] + error)));
    }
    for (std::int64_t j = 0; j < count && unsure; ++j) {
      const double radius = std::sqrt(-2 * std::log(1 - u[j][0])), z = radius * std::cos(two_pi * u[j][1]);
      to[first + j] = static_cast<float>(mean + deviation * z);
    }
  });
  return y;
}

Tensor random_normal(const Shape& shape, Random& random, DType dtype) {
  return random_normal(shape, random, 0, 1, dtype);
}

Ids random_ids(const Shape& shape, Random& random, std::int32_t end) {
  if (end < 1) fail("random_ids: expected an end above 0, got {}", end);
  std::vector<std::int32_t> values = cpu::new_values<std::int32_t>("random_ids", shape);
  random.below(end, values);
  return Ids(shape, std::move(values));
}

Ids random_ids(const Shape& shape, Random& random, const Tensor& weights) {
  check_defined("random_ids", {&weights});
  if (weights.rank() != 1) fail("random_ids: expected weights (n), got {}", to_string(weights.shape()));
  std::vector<double> ends = weights.to_vector();  // of the part of [0, total) of each id
  for (const double weight : ends) {
    if (!(weight >= 0 && std::isfinite(weight)))
      fail("random_ids: expected finite weights of at least 0, got {}", weight);
  }
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  if (ends.empty() || !(ends.back() > 0 && std::isfinite(ends.back()))) {
    fail("random_ids: expected weights with a finite sum above 0, got {}", ends.empty() ? 0 : ends.back());
  }
  std::vector<std::int32_t> values = cpu::new_values<std::int32_t>("random_ids", shape);
  const auto last =
      std::ranges::lower_bound(ends, ends.back());  // the last id with a weight: rounding may reach the total
  for (std::int32_t& value : values) {
    const auto found = std::upper_bound(ends.begin(), last, random.uniform() * ends.back());
    value = static_cast<std::int32_t>(found - ends.begin());
  }
  return Ids(shape, std::move(values));
}

Ids random_permutation(std::int32_t n, Random& random) {
  if (n < 0) fail("random_permutation: expected a size of at least 0, got {}", n);
  std::vector<std::int32_t> values = cpu::new_values<std::int32_t>("random_permutation", {n});
  std::iota(values.begin(), values.end(), 0);
  random.shuffle(values);
  return Ids({n}, std::move(values));
}

}  // namespace heed
