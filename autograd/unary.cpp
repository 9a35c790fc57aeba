#include "autograd/cpu/kernels.h"
#include "autograd/cpu/vector_math.h"

#include <heed/autograd/gradcheck/samples.h>
#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>

#include <numbers>

namespace heed {
namespace {

// dx = dy f(v), where v is the saved input or output, in one pass.
template <class F>
Tensor times(const Tensor& dy, const Tensor& v, F f) {
  return cpu::map("backward", dy, v, [f](auto g, auto u) { return g * f(u); });
}

}  // namespace

// y = e^x          dx = dy y
static const Operation exp_operation("exp", [] { return unary_samples(exp); });
Tensor exp(const Tensor& x) {
  const Tensor y = cpu::map("exp", x, [](auto v) { return cpu::exp(v); });
  return record(exp_operation, {&x}, y, [y](const Tensor& dy) { return std::vector{dy * y}; });
}

// y = ln x         dx = dy / x
static const Operation log_operation("log", [] { return unary_samples(log, Argument::Values::positive); });
Tensor log(const Tensor& x) {
  const Tensor y = cpu::map("log", x, [](auto v) { return std::log(v); });
  return record(log_operation, {&x}, y, [x](const Tensor& dy) { return std::vector{dy / x}; });
}

// y = sqrt(x)      dx = dy / (2 y)
static const Operation sqrt_operation("sqrt", [] { return unary_samples(sqrt, Argument::Values::positive); });
Tensor sqrt(const Tensor& x) {
  const Tensor y = cpu::map("sqrt", x, [](auto v) { return std::sqrt(v); });
  return record(sqrt_operation, {&x}, y, [y](const Tensor& dy) { return std::vector{dy / (y * 2)}; });
}

// y = x^2          dx = 2 x dy
static const Operation square_operation("square", [] { return unary_samples(square); });
Tensor square(const Tensor& x) {
  const Tensor y = cpu::map("square", x, [](auto v) { return v * v; });
  return record(square_operation, {&x}, y,
                [x](const Tensor& dy) { return std::vector{times(dy, x, [](auto v) { return v * 2; })}; });
}

// y = tanh(x)      dx = dy (1 - y^2)
static const Operation tanh_operation("tanh", [] { return unary_samples(tanh); });
Tensor tanh(const Tensor& x) {
  const Tensor y = cpu::map("tanh", x, [](auto v) { return cpu::tanh(v); });
  return record(tanh_operation, {&x}, y,
                [y](const Tensor& dy) { return std::vector{times(dy, y, [](auto v) { return 1 - v * v; })}; });
}

// y = 1 / (1 + e^-x)           dx = dy y (1 - y)
static const Operation sigmoid_operation("sigmoid", [] { return unary_samples(sigmoid); });
Tensor sigmoid(const Tensor& x) {
  const Tensor y = cpu::map("sigmoid", x, [](auto v) { return cpu::sigmoid(v); });
  return record(sigmoid_operation, {&x}, y,
                [y](const Tensor& dy) { return std::vector{times(dy, y, [](auto v) { return v * (1 - v); })}; });
}

// y = max(x, 0)    dx = x > 0 ? dy : 0
static const Operation relu_operation("relu", [] { return unary_samples(relu, Argument::Values::nonzero); });
Tensor relu(const Tensor& x) {
  const Tensor y = cpu::map("relu", x, [](auto v) { return v < 0 ? decltype(v){0} : v; });
  return record(relu_operation, {&x}, y, [y](const Tensor& dy) {
    return std::vector{cpu::map("relu", dy, y, [](auto g, auto v) { return v > 0 ? g : decltype(g){0}; })};
  });
}

// y = x Phi(x), Phi the normal distribution          dx = dy (Phi(x) + x phi(x)), phi its density
static const Operation gelu_operation("gelu", [] { return unary_samples(gelu); });
Tensor gelu(const Tensor& x) {
  const Tensor y = cpu::map("gelu", x, [](auto v) { return v * cpu::normal(v).distribution; });
  return record(gelu_operation, {&x}, y, [x](const Tensor& dy) {
    return std::vector{times(dy, x, [](auto v) {
      const auto [distribution, density] = cpu::normal(v);
      return distribution + v * density;
    })};
  });
}

namespace {
constexpr double c = std::numbers::sqrt2 * std::numbers::inv_sqrtpi, a = 0.044715;
}

// y = x (1 + t) / 2, t = tanh(c (x + a x^3)), c = sqrt(2 / pi), a = 0.044715
// dx = dy ((1 + t) + x (1 - t^2) c (1 + 3 a x^2)) / 2
static const Operation gelu_tanh_operation("gelu_tanh", [] { return unary_samples(gelu_tanh); });
Tensor gelu_tanh(const Tensor& x) {
  const auto t = [](auto v) {
    using T = decltype(v);
    return cpu::tanh(static_cast<T>(c) * (v + static_cast<T>(a) * v * v * v));
  };
  const Tensor y = cpu::map("gelu_tanh", x, [t](auto v) { return v * ((1 + t(v)) / 2); });
  return record(gelu_tanh_operation, {&x}, y, [x, t](const Tensor& dy) {
    return std::vector{times(dy, x, [t](auto v) {
      using T = decltype(v);
      const T u = t(v), w = v < -10 ? T{-10} : v > 10 ? T{10} : v;  // beyond, 1 - t^2 is 0, and w^3 stays finite
      return ((1 + u) + w * (1 - u * u) * static_cast<T>(c) * (1 + static_cast<T>(3 * a) * w * w)) / 2;
    })};
  });
}

}  // namespace heed
