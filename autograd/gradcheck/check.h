#pragma once
#include <heed/autograd/operation.h>
#include <heed/autograd/tensor.h>

#include <functional>
#include <string>
#include <vector>

namespace heed {

/// Tolerances of a gradient check, and the step of its differences.
struct CheckOptions {
  double rtol = 1e-7;
  double atol = 1e-9;
  /// For the 8th-order central difference. A norm over few features bends so much that it needs 1e-3; relu and its like need a
  /// step smaller than the distance of each input to 0.
  double step = 4e-3;
  double scale_gradient = 1;  ///< multiplies the computed gradient; with 1.01 a check must fail
  std::uint64_t seed = 0;     ///< for the random cotangents
};

/// The entry with the largest error relative to its tolerance.
struct GradientError {
  std::string where;  ///< "input 1, element 7, output 3"
  double computed = 0, expected = 0;
  double excess = 0;  ///< |computed - expected| / (atol + rtol |expected|); at most 1 passes
};

/// Result of a gradient check.
struct CheckReport {
  bool passed = true;
  std::int64_t entries = 0;  ///< Jacobian entries compared
  GradientError worst;
};

/// Returns f'(x) by an 8th-order central difference. f maps a float64 scalar () to a float64 scalar ().
double derivative(const std::function<Tensor(const Tensor&)>& f, double x, double step);

/// Compares the Jacobian of `function` at `inputs` (float64), and its products with random cotangents, with central
/// differences. Throws `Error` when an input is not float64 or a gradient is missing.
CheckReport check_gradients(const std::function<Tensor(const std::vector<Tensor>&)>& function,
                            const std::vector<Tensor>& inputs, const CheckOptions& options = {});

/// Checks second derivatives: compares the derivatives of sum_i(w_i g_i) with central differences, where g_i is the gradient of
/// sum(c function(inputs)) with respect to input i, and w_i and c are random. It differentiates with respect to the inputs and c.
/// The differences are those of an ordinary backward, so that they also compare it with the recorded one.
CheckReport check_second_derivatives(const std::function<Tensor(const std::vector<Tensor>&)>& function,
                                     const std::vector<Tensor>& inputs, const CheckOptions& options = {});

/// Checks the gradient of an operation on each of its samples, and the second derivatives if its backward can be recorded. Throws
/// `Error` for an operation without samples, and for a sample that also passes with a gradient that is 1 % too large: such a
/// sample proves nothing.
///
///     static const Operation cube_operation("cube", [] { return unary_samples(cube); });  // operation.h shows cube()
///     const CheckReport report = check(cube_operation);
///     if (!report.passed) fmt::print("{}: {}\n", report.worst.where, report.worst.computed);
CheckReport check(const Operation& operation, const CheckOptions& options = {});

}  // namespace heed
