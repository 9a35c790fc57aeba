#include "autograd/cpu/kernels.h"

#include <heed/autograd/ops.h>

#include <cmath>
#include <functional>
#include <limits>
#include <type_traits>

// Arithmetic of integers, and comparisons by == and !=. Sums that leave the 32 bits of an Id are errors.
namespace heed {

bool cpu::narrow(const std::int64_t* from, std::int64_t n, std::int32_t* to) {
  bool all_fit = true;  // without an early exit the loop vectorises
  for (std::int64_t i = 0; i < n; ++i) {
    to[i] = static_cast<std::int32_t>(from[i]);
    all_fit &= to[i] == from[i];
  }
  return all_fit;
}
namespace {

// Returns f(a, b) of each pair of elements, computed in double, which is exact. Throws where the result does not fit in 32 bits.
Ids calculated(const char* operation, const Ids& a, const Ids& b, const char* needs, auto f) {
  const Shape shape = broadcast_shapes(operation, a.shape(), b.shape());
  const auto values = cpu::unset_values<std::int32_t>(operation, shape);
  const std::int64_t n = shape.numel();
  const bool has_one_left = a.numel() == 1, has_one_right = b.numel() == 1;
  const Ids left = has_one_left ? a : broadcast_to(a, shape), right = has_one_right ? b : broadcast_to(b, shape);
  const std::int32_t *const u = left.data(), *const v = right.data();
  constexpr double min = std::numeric_limits<std::int32_t>::min(), max = std::numeric_limits<std::int32_t>::max();
  const auto calculate = [=, to = values.get()](auto step_u, auto step_v) {
    bool all_fit = true;
    for (std::int64_t i = 0; i < n; ++i) {
      const double value = f(static_cast<double>(u[i * step_u]), static_cast<double>(v[i * step_v]));
      const bool fits = value >= min && value <= max;
      all_fit &= fits;
      to[i] = static_cast<std::int32_t>(fits ? value : 0);
    }
    return all_fit;
  };
  const std::integral_constant<std::int64_t, 0> none;
  const std::integral_constant<std::int64_t, 1> one;
  if (has_one_right ? (has_one_left ? calculate(none, none) : calculate(one, none))
                    : (has_one_left ? calculate(none, one) : calculate(one, one))) {
    return Ids(shape, values);
  }
  for (std::int64_t i = 0;; ++i) {
    const std::int32_t x = u[has_one_left ? 0 : i], y = v[has_one_right ? 0 : i];
    const double value = f(static_cast<double>(x), static_cast<double>(y));
    if (!(value >= min && value <= max)) fail("{}: {} {} {} at position {}: {}", operation, x, operation, y, i, needs);
  }
}

constexpr auto floor_quotient = [](double u, double v) { return std::floor(u / v); };

constexpr const char* id_fits = "the result must fit in 32 bits";
constexpr const char* id_divides = "the divisor must not be 0, and the result must fit in 32 bits";

}  // namespace

Ids broadcast_to(const Ids& x, const Shape& shape) {
  if (!cpu::broadcasts_to(x.shape(), shape)) {
    fail("broadcast_to: {} does not broadcast to {}", to_string(x.shape()), to_string(shape));
  }
  if (x.shape() == shape) return x;
  const auto values = cpu::unset_values<std::int32_t>("broadcast_to", shape);
  cpu::map(
      shape, values.get(), [](std::int32_t v) { return v; }, cpu::operand(x, shape));
  return Ids(shape, values);
}

Ids operator+(const Ids& a, const Ids& b) { return calculated("+", a, b, id_fits, std::plus<>()); }
Ids operator-(const Ids& a, const Ids& b) { return calculated("-", a, b, id_fits, std::minus<>()); }
Ids operator*(const Ids& a, const Ids& b) { return calculated("*", a, b, id_fits, std::multiplies<>()); }
Ids operator/(const Ids& a, const Ids& b) { return calculated("/", a, b, id_divides, floor_quotient); }
Ids operator%(const Ids& a, const Ids& b) {
  return calculated("%", a, b, id_divides, [](double u, double v) { return u - v * floor_quotient(u, v); });
}
Ids operator+(const Ids& a, std::int32_t b) { return a + full_ids({}, b); }
Ids operator-(const Ids& a, std::int32_t b) { return a - full_ids({}, b); }
Ids operator*(const Ids& a, std::int32_t b) { return a * full_ids({}, b); }
Ids operator/(const Ids& a, std::int32_t b) { return a / full_ids({}, b); }
Ids operator%(const Ids& a, std::int32_t b) { return a % full_ids({}, b); }
Ids operator+(std::int32_t a, const Ids& b) { return full_ids({}, a) + b; }
Ids operator-(std::int32_t a, const Ids& b) { return full_ids({}, a) - b; }
Ids operator*(std::int32_t a, const Ids& b) { return full_ids({}, a) * b; }
Ids operator-(const Ids& x) { return 0 - x; }

Booleans operator==(const Tensor& a, const Tensor& b) { return equal(a, b); }
Booleans operator==(const Tensor& a, double b) { return equal(a, b); }
Booleans operator==(const Ids& a, const Ids& b) { return equal(a, b); }
Booleans operator==(const Ids& a, std::int32_t b) { return equal(a, b); }
Booleans operator!=(const Ids& a, const Ids& b) { return !equal(a, b); }
Booleans operator!=(const Ids& a, std::int32_t b) { return !equal(a, b); }
Booleans operator==(const Booleans& a, const Booleans& b) { return equal(a, b); }
Booleans operator!=(const Booleans& a, const Booleans& b) { return !equal(a, b); }
Booleans operator==(const Booleans& a, const Ids& b) { return equal(to_ids(a), b); }
Booleans operator!=(const Booleans& a, const Ids& b) { return !equal(to_ids(a), b); }
Booleans operator==(const Ids& a, const Booleans& b) { return equal(a, to_ids(b)); }
Booleans operator!=(const Ids& a, const Booleans& b) { return !equal(a, to_ids(b)); }

}  // namespace heed
