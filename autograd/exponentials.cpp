#include "autograd/cpu/vector_math.h"
#include "autograd/internal/function.h"

#include <heed/autograd/gradcheck/samples.h>
#include <heed/autograd/ops.h>

#include <numbers>

namespace heed {

using cpu::on_lanes;

static const Operation exp_operation("exp", "y = e^x", "dx = dy y", [] { return unary_samples(exp); });
Tensor exp(const Tensor& x) {
  const Tensor y = cpu::map("exp", x, on_lanes<double>([](auto v) { return cpu::exp(v); }));
  return record(exp_operation, {&x}, y, Saved(y),
                Recordable([](const Tensor& dy, const Tensor& Y) { return std::vector{dy * Y}; }));
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

static const Operation erf_operation("erf", "y = erf(x)", "dx = dy 2 / sqrt(pi) e^(-x^2)",
                                     [] { return unary_samples(erf); });
Tensor erf(const Tensor& x) {
  return function(erf_operation, x, on_lanes([](auto v) { return cpu::erf(v); }), on_lanes<double>([](auto v) {
                    return static_cast<cpu::Element<decltype(v)>>(2 * std::numbers::inv_sqrtpi) * cpu::exp(-v * v);
                  }),
                  [](const Tensor& X) { return exp(-square(X)) * (2 * std::numbers::inv_sqrtpi); });
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

}  // namespace heed
