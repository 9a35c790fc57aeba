#include "autograd/cpu/kernels.h"

#include <heed/autograd/ops.h>

#include <limits>

// Arithmetic of integers, and comparisons by == and !=. Sums that leave the 32 bits of an Id are errors.
namespace heed {
namespace {

// Returns f(a, b, y), which sets y, for each pair of elements. Throws where f returns false.
Ids calculated(const char* operation, const Ids& a, const Ids& b, const char* needs, auto f) {
  const Shape shape = broadcast_shapes(operation, a.shape(), b.shape());
  const auto values = cpu::unset_values<std::int32_t>(operation, shape);
  const Ids left = broadcast_to(a, shape), right = broadcast_to(b, shape);
  const std::int32_t *const u = left.data(), *const v = right.data();
  for (std::int64_t i = 0; i < left.numel(); ++i) {
    if (!f(u[i], v[i], values[i])) fail("{}: {} {} {} at position {}: {}", operation, u[i], operation, v[i], i, needs);
  }
  return Ids(shape, values);
}

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

Ids operator+(const Ids& a, const Ids& b) {
  return calculated("+", a, b, id_fits, [](auto u, auto v, auto& y) { return !__builtin_add_overflow(u, v, &y); });
}
Ids operator-(const Ids& a, const Ids& b) {
  return calculated("-", a, b, id_fits, [](auto u, auto v, auto& y) { return !__builtin_sub_overflow(u, v, &y); });
}
Ids operator*(const Ids& a, const Ids& b) {
  return calculated("*", a, b, id_fits, [](auto u, auto v, auto& y) { return !__builtin_mul_overflow(u, v, &y); });
}
Ids operator/(const Ids& a, const Ids& b) {
  return calculated("/", a, b, id_divides, [](std::int32_t u, std::int32_t v, std::int32_t& y) {
    if (v == 0 || (u == std::numeric_limits<std::int32_t>::min() && v == -1)) return false;
    y = u / v - (u % v != 0 && (u < 0) != (v < 0));
    return true;
  });
}
Ids operator%(const Ids& a, const Ids& b) {
  return calculated("%", a, b, id_divides, [](std::int32_t u, std::int32_t v, std::int32_t& y) {
    if (v == 0) return false;
    y = v == -1 ? 0 : u % v;
    if (y != 0 && (y < 0) != (v < 0)) y += v;
    return true;
  });
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
