#pragma once
#include "autograd/cpu/kernels.h"

#include <heed/autograd/operation.h>
#include <heed/autograd/record.h>

// Functions of each element.
namespace heed {

// Returns dy f(v) in one pass; v is the saved input or output.
Tensor times(const Tensor& dy, const Tensor& v, auto f) {
  return cpu::map("backward", dy, v, [f](auto g, auto u) { return g * f(u); });
}
template <class F, class... Ts>
Tensor times(const Tensor& dy, const Tensor& v, cpu::OnLanes<F, Ts...> f) {
  return cpu::map("backward", dy, v, cpu::on_lanes<Ts...>([f](auto g, auto u) { return g * f(u); }));
}

// Returns y = f(x), recorded with dx = dy df(x). slope(x) computes df(x) with operations, for a recorded backward.
Tensor function(const Operation& operation, const Tensor& x, auto f, auto df, auto slope) {
  return record(
      operation, {&x}, cpu::map(operation.name(), x, f), Saved(x),
      [df](const Tensor& dy, const Tensor& X) { return std::vector{times(dy, X, df)}; },
      Recordable([slope](const Tensor& dy, const Tensor& X) { return std::vector{dy * slope(X)}; }));
}

// The slope of a function of straight pieces: a constant.
auto constant_slope(auto df) {
  return [df](const Tensor& X) { return cpu::map("backward", X, df); };
}

}  // namespace heed
