#include "autograd/cpu/kernels.h"

#include <heed/autograd/gradcheck/samples.h>
#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>
#include <heed/autograd/record.h>

namespace heed {

void detail::fail_assignment(const Tensor& variable, char sign) {
  fail(
      "operator{0}=: {1} would keep its values, since the result is a new tensor; write x = x {0} y for a new tensor, "
      "or x.copy_from(x {0} y) for new values",
      sign, described(variable));
}

static const Operation add("add", "y = a + b", "da = dy, db = dy",
                           [] { return broadcast_samples([](auto& a, auto& b) { return a + b; }); },
                           {.broadcasts = true});
Tensor operator+(const Tensor& a, const Tensor& b) {
  const Tensor y = cpu::map("add", a, b, [](auto u, auto v) { return u + v; });
  return record(add, {&a, &b}, y, Saved(), Recordable([](const Tensor& dy) { return std::vector{dy, dy}; }));
}

static const Operation subtract("subtract", "y = a - b", "da = dy, db = -dy",
                                [] { return broadcast_samples([](auto& a, auto& b) { return a - b; }); },
                                {.broadcasts = true});
Tensor operator-(const Tensor& a, const Tensor& b) {
  const Tensor y = cpu::map("subtract", a, b, [](auto u, auto v) { return u - v; });
  return record(subtract, {&a, &b}, y, Saved(),
                Recordable([](const Tensor& dy, const NeedsInputGrad& needs_input_grad) {
                  return std::vector{dy, needs_input_grad[1] ? -dy : Tensor()};
                }));
}

static const Operation multiply("multiply", "y = a b", "da = dy b, db = dy a",
                                [] { return broadcast_samples([](auto& a, auto& b) { return a * b; }); },
                                {.broadcasts = true});
Tensor operator*(const Tensor& a, const Tensor& b) {
  const Tensor y = cpu::map("multiply", a, b, [](auto u, auto v) { return u * v; });
  return record(multiply, {&a, &b}, y, Saved(a, b),
                Recordable([](const Tensor& dy, const NeedsInputGrad& needs, auto& A, auto& B) {
                  return std::vector{needs[0] ? dy * B : Tensor(), needs[1] ? dy * A : Tensor()};
                }));
}

// Returns -dy a / b^2. The product of any two of these may exceed the range of a float, so floats are computed in double.
static Tensor quotient_gradient(const Tensor& dy, const Tensor& a, const Tensor& b) {
  return cpu::map("divide", dy, a, b, [](auto g, auto u, auto v) {
    const double divisor = static_cast<double>(v);
    return static_cast<decltype(g)>(-(static_cast<double>(g) * static_cast<double>(u) / divisor / divisor));
  });
}

static const Operation divide("divide", "y = a / b", "da = dy / b, db = -dy a / b^2",
                              [] {
                                return broadcast_samples([](auto& a, auto& b) { return a / b; }, Argument::Values::any,
                                                         Argument::Values::nonzero);
                              },
                              {.broadcasts = true});
Tensor operator/(const Tensor& a, const Tensor& b) {
  const Tensor y = cpu::map("divide", a, b, [](auto u, auto v) { return u / v; });
  return record(
      divide, {&a, &b}, y, Saved(a, b),
      [](const Tensor& dy, const NeedsInputGrad& needs, auto& A, auto& B) {
        return std::vector{needs[0] ? dy / B : Tensor(), needs[1] ? quotient_gradient(dy, A, B) : Tensor()};
      },
      Recordable([](const Tensor& dy, const NeedsInputGrad& needs, auto& A, auto& B) {
        const Tensor da = dy / B;
        return std::vector{da, needs[1] ? -(da * (A / B)) : Tensor()};
      }));
}

static const Operation add_scalar("add scalar", "y = x + s", "dx = dy",
                                  [] { return unary_samples([](const Tensor& x) { return 2 + x - 0.5; }); });
static Tensor plus(const char* name, const Tensor& x, double s) {
  const Tensor y = cpu::map(name, x, [s](auto v) { return v + static_cast<decltype(v)>(s); });
  return record(add_scalar, {&x}, y, Saved(), Recordable([](const Tensor& dy) { return std::vector{dy}; }));
}
Tensor operator+(const Tensor& x, double s) { return plus("add", x, s); }
Tensor operator-(const Tensor& x, double s) { return plus("subtract", x, -s); }
Tensor operator+(double s, const Tensor& x) { return plus("add", x, s); }

static const Operation scale("multiply by scalar", "y = s x", "dx = s dy",
                             [] { return unary_samples([](const Tensor& x) { return 3 * x * 0.5; }); });
static Tensor times_scalar(const char* name, const Tensor& x, double s) {
  const Tensor y = cpu::map(name, x, [s](auto v) { return v * static_cast<decltype(v)>(s); });
  return record(scale, {&x}, y, Saved(), Recordable([s](const Tensor& dy) { return std::vector{dy * s}; }));
}
Tensor operator*(const Tensor& x, double s) { return times_scalar("multiply", x, s); }
Tensor operator*(double s, const Tensor& x) { return times_scalar("multiply", x, s); }
Tensor operator-(const Tensor& x) { return times_scalar("negate", x, -1); }
Tensor operator-(double s, const Tensor& x) { return plus("subtract", times_scalar("subtract", x, -1), s); }

static const Operation divide_by("divide by scalar", "y = x / s", "dx = dy / s",
                                 [] { return unary_samples([](const Tensor& x) { return x / 3; }); });
Tensor operator/(const Tensor& x, double s) {
  const Tensor y = cpu::map("divide", x, [s](auto v) { return v / static_cast<decltype(v)>(s); });
  return record(divide_by, {&x}, y, Saved(), Recordable([s](const Tensor& dy) { return std::vector{dy / s}; }));
}

static const Operation divide_scalar("divide scalar", "y = s / x", "dx = -dy s / x^2", [] {
  return unary_samples([](const Tensor& x) { return 2 / x; }, Argument::Values::nonzero);
});
Tensor operator/(double s, const Tensor& x) {
  const Tensor y = cpu::map("divide", x, [s](auto v) { return static_cast<decltype(v)>(s) / v; });
  return record(
      divide_scalar, {&x}, y, Saved(x),
      [s](const Tensor& dy, const Tensor& X) { return std::vector{quotient_gradient(dy, full({}, s, X.dtype()), X)}; },
      Recordable([s](const Tensor& dy, const Tensor& X) { return std::vector{-(dy / X * (s / X))}; }));
}

}  // namespace heed
