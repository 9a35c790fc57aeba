#include "autograd/cpu/kernels.h"
#include "autograd/cpu/vector_math.h"

#include <heed/autograd/gradcheck/samples.h>
#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>

#include <cmath>
#include <numbers>

namespace heed {
namespace {

using cpu::on_lanes;

// Returns dy f(v) in one pass; v is the saved input or output.
template <class F>
Tensor times(const Tensor& dy, const Tensor& v, F f) {
  return cpu::map("backward", dy, v, [f](auto g, auto u) { return g * f(u); });
}
template <class F, class... Ts>
Tensor times(const Tensor& dy, const Tensor& v, cpu::OnLanes<F, Ts...> f) {
  return cpu::map("backward", dy, v, on_lanes<Ts...>([f](auto g, auto u) { return g * f(u); }));
}

// Returns y = f(x), recorded with dx = dy df(x). slope(x) computes df(x) with operations, for a recorded backward.
template <class F, class D, class Slope>
Tensor function(const Operation& operation, const Tensor& x, F f, D df, Slope slope) {
  return record(
      operation, {&x}, cpu::map(operation.name(), x, f), Saved(x),
      [df](const Tensor& dy, const Tensor& X) { return std::vector{times(dy, X, df)}; },
      Recordable([slope](const Tensor& dy, const Tensor& X) { return std::vector{dy * slope(X)}; }));
}

// The slope of a function of straight pieces: a constant.
template <class D>
auto constant_slope(D df) {
  return [df](const Tensor& X) { return cpu::map("backward", X, df); };
}

}  // namespace

static const Operation exp_operation("exp", "y = e^x", "dx = dy y", [] { return unary_samples(exp); });
Tensor exp(const Tensor& x) {
  const Tensor y = cpu::map("exp", x, on_lanes<double>([](auto v) { return cpu::exp(v); }));
  return record(exp_operation, {&x}, y, Saved(y),
                Recordable([](const Tensor& dy, const Tensor& Y) { return std::vector{dy * Y}; }));
}

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

static const Operation tanh_operation("tanh", "y = tanh(x)", "dx = dy (1 - y^2)", [] { return unary_samples(tanh); });
Tensor tanh(const Tensor& x) {
  const Tensor y = cpu::map("tanh", x, on_lanes<double>([](auto v) { return cpu::tanh(v); }));
  return record(
      tanh_operation, {&x}, y, Saved(y),
      [](const Tensor& dy, const Tensor& Y) { return std::vector{times(dy, Y, [](auto v) { return 1 - v * v; })}; },
      Recordable([](const Tensor& dy, const Tensor& Y) { return std::vector{dy * (1 - square(Y))}; }));
}

static const Operation sigmoid_operation("sigmoid", "y = 1 / (1 + e^-x)", "dx = dy y (1 - y)",
                                         [] { return unary_samples(sigmoid); });
Tensor sigmoid(const Tensor& x) {
  const Tensor y = cpu::map("sigmoid", x, on_lanes<double>([](auto v) { return cpu::sigmoid(v); }));
  return record(
      sigmoid_operation, {&x}, y, Saved(y),
      [](const Tensor& dy, const Tensor& Y) { return std::vector{times(dy, Y, [](auto v) { return v * (1 - v); })}; },
      Recordable([](const Tensor& dy, const Tensor& Y) { return std::vector{dy * (Y * (1 - Y))}; }));
}

static const Operation relu_operation("relu", "y = max(x, 0)", "dx = dy where x > 0, else 0",
                                      [] { return unary_samples(relu, Argument::Values::nonzero); });
Tensor relu(const Tensor& x) {
  const Tensor y = cpu::map("relu", x, [](auto v) { return v < 0 ? decltype(v){0} : v; });
  return record(
      relu_operation, {&x}, y, Saved(y),
      [](const Tensor& dy, const Tensor& Y) {
        return std::vector{cpu::map("relu", dy, Y, [](auto g, auto v) { return v > 0 ? g : decltype(g){0}; })};
      },
      Recordable([](const Tensor& dy, const Tensor& Y) { return std::vector{masked_fill(dy, !(Y > 0), 0)}; }));
}

static const Operation gelu_operation("gelu", "y = x Phi(x), Phi the normal distribution",
                                      "dx = dy (Phi(x) + x phi(x)), phi the normal density",
                                      [] { return unary_samples(gelu); });
Tensor gelu(const Tensor& x) {
  return function(gelu_operation, x, on_lanes<double>([](auto v) { return v * cpu::normal(v).distribution; }),
                  on_lanes<double>([](auto v) {
                    const auto [distribution, density] = cpu::normal(v);
                    return distribution + v * density;
                  }),
                  [](const Tensor& X) {
                    const Tensor density = exp(square(X) * -0.5) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
                    return (1 + erf(X / std::numbers::sqrt2)) * 0.5 + X * density;
                  });
}

namespace {
constexpr double gelu_c = std::numbers::sqrt2 * std::numbers::inv_sqrtpi, gelu_a = 0.044715;
}

static const Operation gelu_tanh_operation("gelu_tanh",
                                           "y = x (1 + t) / 2, t = tanh(c (x + a x^3)), c = sqrt(2 / pi), a = 0.044715",
                                           "dx = dy ((1 + t) + x (1 - t^2) c (1 + 3 a x^2)) / 2",
                                           [] { return unary_samples(gelu_tanh); });
Tensor gelu_tanh(const Tensor& x) {
  const auto t = [](auto v) {
    using T = cpu::Element<decltype(v)>;
    return cpu::tanh(static_cast<T>(gelu_c) * (v + static_cast<T>(gelu_a) * v * v * v));
  };
  return function(
      gelu_tanh_operation, x, on_lanes<double>([t](auto v) { return v * ((1 + t(v)) / 2); }),
      on_lanes<double>([t](auto v) {
        using V = decltype(v);
        using T = cpu::Element<V>;
        // beyond the bounds 1 - t^2 is 0; clamping keeps w^3 finite
        const V low = cpu::splat<V>(-10), high = cpu::splat<V>(10);
        const V u = t(v), above = v < low ? low : v, w = above > high ? high : above;
        return ((1 + u) + w * (1 - u * u) * static_cast<T>(gelu_c) * (1 + static_cast<T>(3 * gelu_a) * w * w)) / 2;
      }),
      [](const Tensor& X) {
        const Tensor w = clamp(X, -10, 10), w2 = square(w), u = tanh((w + w * w2 * gelu_a) * gelu_c);
        return ((1 + u) + w * (1 - square(u)) * gelu_c * (1 + w2 * (3 * gelu_a))) * 0.5;
      });
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

static const Operation erf_operation("erf", "y = erf(x)", "dx = dy 2 / sqrt(pi) e^(-x^2)",
                                     [] { return unary_samples(erf); });
Tensor erf(const Tensor& x) {
  return function(erf_operation, x, on_lanes([](auto v) { return cpu::erf(v); }), on_lanes<double>([](auto v) {
                    return static_cast<cpu::Element<decltype(v)>>(2 * std::numbers::inv_sqrtpi) * cpu::exp(-v * v);
                  }),
                  [](const Tensor& X) { return exp(-square(X)) * (2 * std::numbers::inv_sqrtpi); });
}

static const Operation log1p_operation("log1p", "y = ln(1 + x)", "dx = dy / (1 + x)",
                                       [] { return unary_samples(log1p, Argument::Values::positive); });
Tensor log1p(const Tensor& x) {
  return function(
      log1p_operation, x, on_lanes([](auto v) { return cpu::log1p(v); }), [](auto v) { return 1 / (1 + v); },
      [](const Tensor& X) { return 1 / (1 + X); });
}

static const Operation expm1_operation("expm1", "y = e^x - 1", "dx = dy e^x", [] { return unary_samples(expm1); });
Tensor expm1(const Tensor& x) {
  return function(expm1_operation, x, on_lanes([](auto v) { return cpu::expm1(v); }),
                  on_lanes<double>([](auto v) { return cpu::exp(v); }), [](const Tensor& X) { return exp(X); });
}

static const Operation softplus_operation("softplus", "y = max(x, 0) + ln(1 + e^-|x|)", "dx = dy sigmoid(x)",
                                          [] { return unary_samples(softplus); });
Tensor softplus(const Tensor& x) {
  return function(softplus_operation, x, on_lanes([](auto v) {
                    const decltype(v) zero{};
                    return (v > zero ? v : zero) + cpu::log1p(cpu::exp(v > zero ? -v : v));
                  }),
                  on_lanes<double>([](auto v) { return cpu::sigmoid(v); }), [](const Tensor& X) { return sigmoid(X); });
}

static const Operation silu_operation("silu", "y = x s, s = sigmoid(x)", "dx = dy s (1 + x (1 - s))",
                                      [] { return unary_samples(silu); });
Tensor silu(const Tensor& x) {
  return function(silu_operation, x, on_lanes<double>([](auto v) { return v * cpu::sigmoid(v); }),
                  on_lanes<double>([](auto v) {
                    const auto s = cpu::sigmoid(v);
                    return s * (1 + v * (1 - s));
                  }),
                  [](const Tensor& X) {
                    const Tensor s = sigmoid(X);
                    return s * (1 + X * (1 - s));
                  });
}

static const Operation swiglu_operation(
    "swiglu", "y = u s v, s = sigmoid(u)", "du = dy v s (1 + u (1 - s)), dv = dy u s", [] {
      std::vector<GradientSample> samples;
      for (const Shape& shape : {Shape{}, Shape{3}, Shape{0}, Shape{2, 3}}) {
        samples.push_back({to_string(shape), {{shape}, {shape}}, [](auto& x) { return swiglu(x[0], x[1]); }});
      }
      return samples;
    });
Tensor swiglu(const Tensor& gate, const Tensor& value) {
  cpu::check_one_dtype("swiglu", gate, value);
  if (gate.shape() != value.shape()) {
    fail("swiglu: gate and value must have one shape, got {} and {}", to_string(gate.shape()),
         to_string(value.shape()));
  }
  const Tensor y =
      cpu::map("swiglu", gate, value, on_lanes<double>([](auto u, auto v) { return u * cpu::sigmoid(u) * v; }));
  const auto backward = [](const Tensor& dy, const Tensor& U, const Tensor& V) {
    if (U.dtype() == DType::float64) {
      return std::vector{
          cpu::map("swiglu", dy, U, V, on_lanes<double>([](auto g, auto u, auto v) {
                     const auto s = cpu::sigmoid(u);
                     return g * v * s * (1 + u * (1 - s));
                   })),
          cpu::map("swiglu", dy, U, on_lanes<double>([](auto g, auto u) { return g * u * cpu::sigmoid(u); }))};
    }
    Tensor dgate(U.shape(), U.dtype()), dvalue(U.shape(), U.dtype());
    const Tensor dense_dy = contiguous(dy), u_all = contiguous(U.detach()), v_all = contiguous(V.detach());
    dispatch(U.dtype(), [&]<class T>() {
      const T *g = dense_dy.data<T>(), *u = u_all.data<T>(), *v = v_all.data<T>();
      T *du = dgate.mutable_data<T>(), *dv = dvalue.mutable_data<T>();
      cpu::parallel_for(U.numel(), cpu::row_grain(U.numel()), [=](std::int64_t begin, std::int64_t end) {
#pragma omp simd
        for (std::int64_t i = begin; i < end; ++i) {
          const T s = cpu::sigmoid(u[i]);
          du[i] = g[i] * v[i] * s * (1 + u[i] * (1 - s));
          dv[i] = g[i] * u[i] * s;
        }
      });
    });
    return std::vector{dgate, dvalue};
  };
  return record(swiglu_operation, {&gate, &value}, y, Saved(gate, value), backward,
                Recordable([](const Tensor& dy, const Tensor& U, const Tensor& V) {
                  const Tensor s = sigmoid(U);
                  return std::vector{dy * V * (s * (1 + U * (1 - s))), dy * U * s};
                }));
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

// Calls use(f) with a function f(v) = factor v^p. Small integers p need no logarithm.
template <class Use>
static Tensor with_power(double p, double factor, Use use) {
  const auto number = [](auto v, double s) { return static_cast<cpu::Element<decltype(v)>>(s); };
  if (p == 0) return use([=](auto v) { return number(v, factor); });
  if (p == 1) return use([=](auto v) { return number(v, factor) * v; });
  if (p == 2) return use([=](auto v) { return number(v, factor) * (v * v); });
  if (p == 3) return use([=](auto v) { return number(v, factor) * (v * v * v); });
  if (p == 4) return use([=](auto v) { return number(v, factor) * ((v * v) * (v * v)); });
  if (p == -1) return use([=](auto v) { return number(v, factor) / v; });
  return use(on_lanes([=](auto v) { return number(v, factor) * cpu::pow(v, cpu::splat<decltype(v)>(number(v, p))); }));
}

static const Operation power_operation("power", "y = x^p", "dx = dy p x^(p - 1), 0 for p = 0", [] {
  std::vector<GradientSample> samples;
  using Power = Tensor (*)(const Tensor&);
  for (const Power f :
       {Power([](const Tensor& x) { return pow(x, 2.5); }), Power([](const Tensor& x) { return pow(x, 5); }),
        Power([](const Tensor& x) { return pow(x, 3); }), Power([](const Tensor& x) { return pow(x, -1); })}) {
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
                  return std::vector{p == 0 ? dy * 0 : dy * (pow(X, p - 1) * p)};
                }));
}

static const Operation pow_operation(
    "pow", "y = a^b", "da = dy b a^(b - 1), 0 for b = 0; db = dy y ln a, 0 for a = 0",
    [] { return broadcast_samples([](auto& a, auto& b) { return pow(a, b); }, Argument::Values::positive); },
    Broadcasting::yes);
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
                      return g * (u == zero ? (w == w ? zero : slope) : slope);
                    }));
    }
    return std::vector{da, db};
  };
  return record(pow_operation, {&a, &b}, y, Saved(a, b, y), backward,
                Recordable([](const Tensor& dy, const NeedsInputGrad& needs, auto& A, auto& B, auto& Y) {
                  const Booleans is_zero = equal(A, 0);
                  Tensor da, db;
                  if (needs[0]) da = dy * (B * pow(masked_fill(A, is_zero & equal(B, 0), 1), B - 1));
                  if (needs[1]) db = dy * (Y * log(masked_fill(A, is_zero, 1)));
                  return std::vector{da, db};
                }));
}

}  // namespace heed
