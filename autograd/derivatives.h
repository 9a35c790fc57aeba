#pragma once
#include <heed/autograd/record.h>

#include <functional>
#include <vector>

namespace heed {

/// @file
/// Derivatives of functions, of any order. Each function computes inside the open Recording, or in one of its own. Inside one, the
/// results are recorded where they depend on a variable: they may enter a loss, or be differentiated again. A function takes one
/// tensor; it may read others, which count as constants for the derivative.
///
///     const auto f = [](const Tensor& x) { return sum(square(x) * x); };
///     const Tensor x = tensor({2}, {1, 2}), v = tensor({2}, {1, 0});
///     vjp(square, x, v);   // (2, 0)
///     hvp(f, x, v);        // (6, 0)
///     hessian(f, x);       // ((6, 0), (0, 12))

namespace detail {
template <class T>
inline constexpr bool has_names = requires(const T& all) {
  all.begin()->second;
};
}  // namespace detail

/// A function of a tensor.
using TensorFunction = std::function<Tensor(const Tensor&)>;

/// Returns d(sum(output)) / dx, recorded. `output` was computed in the open Recording from x, which is a variable or the result of an
/// operation. The gradient is 0 if the output does not depend on x. Only the operations between both are differentiated.
///
///     const Tensor u = net(x), du = grad(u, x), ddu = grad(du, x);   // x (B, 1), a variable
///     const Tensor loss = mean(square(ddu + sin(x)));                // u'' = -sin(x)
Tensor grad(const Tensor& output, const Tensor& x);
/// Returns the gradients with respect to several tensors.
std::vector<Tensor> grad(const Tensor& output, const std::vector<Tensor>& x);

/// Returns J v, the derivative of f at x along v: v has the shape of x, the result that of f(x). It takes two backward passes.
Tensor jvp(const TensorFunction& f, const Tensor& x, const Tensor& v);

/// Returns v^T J, the gradient of sum(f(x) * v): v has the shape of f(x), the result that of x.
Tensor vjp(const TensorFunction& f, const Tensor& x, const Tensor& v);

/// Returns H v, with H the second derivatives of the scalar f at x. It takes two backward passes, whatever the size of x.
Tensor hvp(const TensorFunction& f, const Tensor& x, const Tensor& v);
/// Does the same for the variables `parameters` of a loss, such as those of a model. v and the result have their shapes.
///
///     const auto loss = [&] { return mse_loss(net(x), y); };
///     const std::vector<Tensor> Hv = hvp(loss, parameters, v);   // parameters: those of the store, too
std::vector<Tensor> hvp(const std::function<Tensor()>& loss, const std::vector<Tensor>& parameters,
                        const std::vector<Tensor>& v);
/// Takes the parameters from pairs of a name and a variable, as a store of parameters has them, without those that are frozen, as
/// buffers are.
template <class Named>
requires detail::has_names<Named> std::vector<Tensor> hvp(const std::function<Tensor()>& loss, const Named& parameters,
                                                          const std::vector<Tensor>& v) {
  std::vector<Tensor> variables;
  for (const auto& [name, variable] : parameters) {
    if (!variable.is_frozen()) variables.push_back(variable);
  }
  return hvp(loss, variables, v);
}

/// Returns all derivatives of f at x: (shape of f(x)..., shape of x...). It takes one backward pass per element of f(x).
Tensor jacobian(const TensorFunction& f, const Tensor& x);

/// Returns the second derivatives of the scalar f at x: (shape of x..., shape of x...).
Tensor hessian(const TensorFunction& f, const Tensor& x);

}  // namespace heed
