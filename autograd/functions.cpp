#include "autograd/internal/function.h"

#include <heed/autograd/gradcheck/samples.h>
#include <heed/autograd/ops.h>

#include <cmath>
#include <limits>

namespace heed {

using cpu::on_lanes;

static const Operation log_operation("log", "y = ln x", "dx = dy / x",
                                     [] { return unary_samples(log, Argument::Values::positive); });
Tensor log(const Tensor& x) {
  const Tensor y = cpu::map("log", x, on_lanes([](auto v) { return cpu::log(v); }));
  return record(log_operation, {&x}, y, Saved(x),
                Recordable([](const Tensor& dy, const Tensor& X) { return std::vector{dy / X}; }));
}

static const Operation sqrt_operation("sqrt", "y = sqrt(x)", "dx = dy / (2 y)",
                                      [] { return unary_samples(sqrt, Argument::Values::positive); });
Tensor sqrt(const Tensor& x) {
  const Tensor y = cpu::map("sqrt", x, [](auto v) { return std::sqrt(v); });
  return record(
      sqrt_operation, {&x}, y, Saved(y),
      [](const Tensor& dy, const Tensor& Y) {
        return std::vector{cpu::map("sqrt", dy, Y, [](auto g, auto v) { return g / (v * 2); })};
      },
      Recordable([](const Tensor& dy, const Tensor& Y) { return std::vector{dy / (Y * 2)}; }));
}

static const Operation square_operation("square", "y = x^2", "dx = 2 x dy", [] { return unary_samples(square); });
Tensor square(const Tensor& x) {
  return function(
      square_operation, x, [](auto v) { return v * v; }, [](auto v) { return v * 2; },
      [](const Tensor& X) { return X * 2; });
}

static const Operation relu_operation("relu", "y = max(x, 0)", "dx = dy where x > 0, else 0",
                                      [] { return unary_samples(relu, Argument::Values::nonzero); });
Tensor relu(const Tensor& x) {
  const Tensor y = cpu::map("relu", x, [](auto v) { return v < 0 ? decltype(v){0} : v; });
  return record(
      relu_operation, {&x}, y, Saved(y),
      [](const Tensor& dy, const Tensor& Y) {
        return std::vector{
            cpu::map("relu", dy, Y, [](auto g, auto v) { return v <= 0 ? decltype(g){0} : g; })};  // NaN passes it on
      },
      Recordable([](const Tensor& dy, const Tensor& Y) { return std::vector{masked_fill(dy, Y <= 0, 0)}; }));
}

static const Operation abs_operation("abs", "y = |x|", "dx = dy sign(x)",
                                     [] { return unary_samples(abs, Argument::Values::nonzero); });
Tensor abs(const Tensor& x) {
  const auto sign = [](auto v) { return static_cast<decltype(v)>((v > 0) - (v < 0)); };
  return function(
      abs_operation, x, [](auto v) { return std::abs(v); }, sign, constant_slope(sign));
}

static const Operation sin_operation("sin", "y = sin(x)", "dx = dy cos(x)", [] { return unary_samples(sin); });
Tensor sin(const Tensor& x) {
  return function(sin_operation, x, on_lanes([](auto v) { return cpu::sin(v); }),
                  on_lanes([](auto v) { return cpu::cos(v); }), [](const Tensor& X) { return cos(X); });
}

static const Operation cos_operation("cos", "y = cos(x)", "dx = -dy sin(x)", [] { return unary_samples(cos); });
Tensor cos(const Tensor& x) {
  return function(cos_operation, x, on_lanes([](auto v) { return cpu::cos(v); }),
                  on_lanes([](auto v) { return -cpu::sin(v); }), [](const Tensor& X) { return -sin(X); });
}

static const Operation log1p_operation("log1p", "y = ln(1 + x)", "dx = dy / (1 + x)",
                                       [] { return unary_samples(log1p, Argument::Values::positive); });
Tensor log1p(const Tensor& x) {
  return function(
      log1p_operation, x, on_lanes([](auto v) { return cpu::log1p(v); }), [](auto v) { return 1 / (1 + v); },
      [](const Tensor& X) { return 1 / (1 + X); });
}

static const Operation leaky_relu_operation("leaky_relu", "y = x where x > 0, else slope x",
                                            "dx = dy where x > 0, else slope dy", [] {
                                              return unary_samples([](const Tensor& x) { return leaky_relu(x, 0.1); },
                                                                   Argument::Values::nonzero);
                                            });
Tensor leaky_relu(const Tensor& x, double slope) {
  const auto factor = [slope](auto v) { return v > 0 ? decltype(v){1} : static_cast<decltype(v)>(slope); };
  return function(
      // a product with one of two numbers vectorises; a choice between the products does not
      leaky_relu_operation, x,
      [slope](auto v) { return v * (v > 0 ? decltype(v){1} : static_cast<decltype(v)>(slope)); }, factor,
      constant_slope(factor));
}

static const Operation clamp_operation("clamp", "y = min(max(x, low), high)", "dx = dy where low <= x <= high, else 0",
                                       [] {
                                         return unary_samples([](const Tensor& x) { return clamp(x, -0.05, 0.25); },
                                                              Argument::Values::distinct);
                                       });
Tensor clamp(const Tensor& x, double low, double high) {
  if (!(low <= high)) fail("clamp: low must be at most high, got {} and {}", low, high);
  const auto is_inside = [=](auto v) {
    using T = decltype(v);
    return static_cast<T>(!(v < static_cast<T>(low)) && !(v > static_cast<T>(high)));
  };
  return function(
      clamp_operation, x,
      [=](auto v) {
        using T = decltype(v);
        const T least = static_cast<T>(low), most = static_cast<T>(high), w = v < least ? least : v;
        return w > most ? most : w;
      },
      is_inside, constant_slope(is_inside));
}

// Calls use(f) with a function f(v) = factor v^p. Small integers and roots need no logarithm.
static Tensor with_power(double p, double factor, auto use) {
  const auto number = [](auto v, double s) { return static_cast<cpu::Element<decltype(v)>>(s); };
  if (p == 0) return use([=](auto v) { return number(v, factor); });
  if (p == 1) return use([=](auto v) { return number(v, factor) * v; });
  if (p == 2) return use([=](auto v) { return number(v, factor) * (v * v); });
  if (p == 3) return use([=](auto v) { return number(v, factor) * (v * v * v); });
  if (p == 4) return use([=](auto v) { return number(v, factor) * ((v * v) * (v * v)); });
  if (p == -1) return use([=](auto v) { return number(v, factor) / v; });
  const auto root = [](auto v) {  // 0 at -0 and infinity at -infinity, as pow() of the C library
    constexpr auto endless = std::numeric_limits<decltype(v)>::infinity();
    return std::sqrt(v == -endless ? endless : v + 0);
  };
  if (p == 0.5) return use([=](auto v) { return number(v, factor) * root(v); });
  if (p == -0.5) return use([=](auto v) { return number(v, factor) / root(v); });
  return use(on_lanes([=](auto v) { return number(v, factor) * cpu::pow(v, cpu::splat<decltype(v)>(number(v, p))); }));
}

static const Operation power_operation("power", "y = x^p", "dx = dy p x^(p - 1), 0 for p = 0", [] {
  std::vector<GradientSample> samples;
  using Power = Tensor (*)(const Tensor&);
  for (const Power f :
       {Power([](const Tensor& x) { return pow(x, 2.5); }), Power([](const Tensor& x) { return pow(x, 5); }),
        Power([](const Tensor& x) { return pow(x, 3); }), Power([](const Tensor& x) { return pow(x, 0.5); }),
        Power([](const Tensor& x) { return pow(x, -1); })}) {
    for (GradientSample& sample : unary_samples(f, Argument::Values::positive)) samples.push_back(std::move(sample));
  }
  return samples;
});
Tensor pow(const Tensor& x, double exponent) {
  check_defined("pow", {&x});
  const Tensor y = with_power(exponent, 1, [&x](auto f) { return cpu::map("power", x, f); });
  const auto backward = [p = exponent](const Tensor& dy, const Tensor& X) {
    if (p == 0) return std::vector{zeros(X.shape(), X.dtype())};
    if (p == -1) {  // in double: 1 / x^2 may exceed the range of a float where dy / x^2 does not
      return std::vector{cpu::map("power", dy, X, [](auto g, auto v) {
        const double base = static_cast<double>(v);
        return static_cast<decltype(g)>(-(static_cast<double>(g) / base / base));
      })};
    }
    return std::vector{with_power(p - 1, p, [&](auto f) { return times(dy, X, f); })};
  };
  return record(power_operation, {&x}, y, Saved(x), backward,
                Recordable([p = exponent](const Tensor& dy, const Tensor& X) {
                  return std::vector{p == 0 ? masked_fill(dy, Booleans(Shape{}, {true}), 0) : dy * (pow(X, p - 1) * p)};
                }));
}

static const Operation pow_operation(
    "pow", "y = a^b", "da = dy b a^(b - 1), 0 for b = 0; db = dy y ln a, 0 for a = 0 <= b",
    [] { return broadcast_samples([](auto& a, auto& b) { return pow(a, b); }, Argument::Values::positive); },
    {.broadcasts = true});
Tensor pow(const Tensor& a, const Tensor& b) {
  const Tensor y = cpu::map("pow", a, b, on_lanes([](auto u, auto v) { return cpu::pow(u, v); }));
  const auto backward = [](const Tensor& dy, const NeedsInputGrad& needs, auto& A, auto& B, auto& Y) {
    Tensor da, db;
    if (needs[0]) {
      da = cpu::map("pow", dy, A, B, on_lanes([](auto g, auto u, auto v) {
                      const decltype(v) zero{};
                      return g * (v == zero ? v : v * cpu::pow(u, v - 1));
                    }));
    }
    if (needs[1]) {
      db = cpu::map("pow", dy, A, Y, on_lanes([](auto g, auto u, auto w) {
                      const decltype(u) zero{}, slope = w * cpu::log(u);
                      return g * (u == zero ? (w - w == zero ? zero : slope) : slope);  // y is infinite for b < 0
                    }));
    }
    return std::vector{da, db};
  };
  return record(pow_operation, {&a, &b}, y, Saved(a, b, y), backward,
                Recordable([](const Tensor& dy, const NeedsInputGrad& needs, auto& A, auto& B, auto& Y) {
                  const Booleans is_zero = equal(A, 0);
                  Tensor da, db;
                  if (needs[0]) da = dy * (B * pow(masked_fill(A, (is_zero | (A != A)) & equal(B, 0), 1), B - 1));
                  if (needs[1]) db = dy * (Y * log(masked_fill(A, is_zero & (B >= 0), 1)));
                  return std::vector{da, db};
                }));
}

Tensor pow(double base, const Tensor& exponent) {
  check_defined("pow", {&exponent});
  return pow(full({}, base, exponent.dtype()), exponent);
}

}  // namespace heed
