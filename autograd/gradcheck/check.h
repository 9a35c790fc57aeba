#pragma once
#include <heed/autograd/operation.h>
#include <heed/autograd/tensor.h>

#include <functional>
#include <string>
#include <vector>

namespace heed {

// How close computed and expected must be, and how the latter is found.
struct CheckOptions {
  double rtol = 1e-7;
  double atol = 1e-9;
  double step = 4e-3;         // of the 8th-order central difference
  double scale_gradient = 1;  // multiplies the computed gradient: a check with 1.01 must fail
  std::uint64_t seed = 0;     // of the random signed cotangents
};

// The entry that is farthest from its difference.
struct GradientError {
  std::string where;  // "input 1, element 7, output 3"
  double computed = 0, expected = 0;
  double excess = 0;  // |computed - expected| / (atol + rtol |expected|): passes up to 1
};

// Whether every entry passed.
struct CheckReport {
  bool passed = true;
  std::int64_t entries = 0;  // Jacobian entries compared
  GradientError worst;
};

// f'(x) by an 8th-order central difference of step `step`; f takes and gives float64 scalars.
double derivative(const std::function<Tensor(const Tensor&)>& f, double x, double step);

// Compares the whole Jacobian of `function` at `inputs` (float64), and random signed cotangents' products
// with it, with central differences. Error when an input is not float64 or a gradient is missing.
CheckReport check_gradients(const std::function<Tensor(const std::vector<Tensor>&)>& function,
                            const std::vector<Tensor>& inputs, const CheckOptions& options = {});

// Checks the gradient of an operation on its samples, each with inputs drawn as it says. Throws Error when the operation has no
// samples, and when a sample passes with a gradient that is 1 % too large, and so proves nothing.
//
//   static const Operation cube_operation("cube", [] { return unary_samples(cube); });  // operation.h shows cube()
//   const CheckReport report = check(cube_operation);
//   if (!report.passed) fmt::print("{}: {}\n", report.worst.where, report.worst.computed);
CheckReport check(const Operation& operation, const CheckOptions& options = {});

}  // namespace heed
