#include <heed/autograd/gradcheck/check.h>
#include <heed/autograd/gradcheck/samples.h>
#include <heed/autograd/ops.h>
#include <heed/autograd/random.h>
#include <heed/autograd/record.h>

#include <array>
#include <cmath>
#include <limits>

namespace heed {
namespace {

using Function = std::function<Tensor(const std::vector<Tensor>&)>;

// f'(x) ~ sum_k c_k (f(x + k h) - f(x - k h)) / h, with an error of order h^8.
constexpr std::array<double, 4> coefficients = {4.0 / 5, -1.0 / 5, 4.0 / 105, -1.0 / 280};

// The derivative of a vector-valued f; f(offset) is its value at x + offset.
std::vector<double> central_difference(const std::function<Tensor(double)>& f, double h) {
  std::vector<double> result;
  for (std::size_t k = 0; k < coefficients.size(); ++k) {
    for (const double sign : {1.0, -1.0}) {
      const std::vector<double> y = f(sign * static_cast<double>(k + 1) * h).to_vector();
      result.resize(y.size());
      for (std::size_t i = 0; i < y.size(); ++i) result[i] += sign * coefficients[k] * y[i] / h;
    }
  }
  return result;
}

std::vector<Tensor> variables_of(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> variables;
  for (const Tensor& input : inputs) variables.push_back(variable(input));
  return variables;
}

// Records the function, so that it may take gradients itself, by grad().
Tensor value_of(const Function& function, const std::vector<Tensor>& inputs) {
  const Recording recording;
  return function(variables_of(inputs)).detach();
}

// Column `element` of the Jacobian for input `input`: d(output) / d(that element).
std::vector<double> numerical_column(const Function& function, std::vector<Tensor> inputs, std::size_t input,
                                     std::int64_t element, double h) {
  inputs[input] = inputs[input].clone();
  double& value = inputs[input].mutable_data<double>()[element];
  const double centre = value;
  return central_difference(
      [&](double offset) {
        value = centre + offset;
        return value_of(function, inputs);
      },
      h);
}

// Whether an input that the loss does not depend on is an error, or has gradient 0.
enum class Missing { error, zero };

std::vector<std::vector<double>> gradients_of(const Function& function, const std::vector<Tensor>& inputs,
                                              const Tensor& cotangent, double scale, Missing missing) {
  const Recording recording;
  const std::vector<Tensor> variables = variables_of(inputs);
  const Gradients gradients = backward(function(variables), cotangent);
  std::vector<std::vector<double>> result;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const Tensor* const gradient = gradients.find(variables[i]);
    if (!gradient && missing == Missing::error) {
      fail("check_gradients: input {} received no gradient: the function must compute with the tensors it is given", i);
    }
    result.push_back(gradient ? gradient->to_vector()
                              : std::vector<double>(static_cast<std::size_t>(inputs[i].numel()), 0.0));
    for (double& value : result.back()) value *= scale;
  }
  return result;
}

void compare(CheckReport& report, const CheckOptions& options, double computed, double expected,
             const std::string& where) {
  ++report.entries;
  double excess = std::abs(computed - expected) / (options.atol + options.rtol * std::abs(expected));
  if (std::isnan(excess)) excess = std::numeric_limits<double>::infinity();
  if (excess > report.worst.excess) report.worst = {where, computed, expected, excess};
  if (excess > 1) report.passed = false;
}

}  // namespace

double derivative(const std::function<Tensor(const Tensor&)>& f, double x, double step) {
  if (!f) fail("derivative: the function is empty");
  return central_difference(
      [&](double offset) {
        const Tensor y = f(full({}, x + offset, DType::float64));
        if (!y.defined() || y.numel() != 1) {
          fail("derivative: the function must give one number, got {}",
               y.defined() ? to_string(y.shape()) : "an undefined tensor");
        }
        return y;
      },
      step)[0];
}

namespace {

void check_inputs(const char* name, const Function& function, const std::vector<Tensor>& inputs) {
  if (!function) fail("{}: the function is empty", name);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].dtype() != DType::float64) fail("{}: input {} must be float64: x.to(DType::float64)", name, i);
  }
}

// Numbers of either sign, none of which is small.
Tensor random_cotangent(const Shape& shape, Random& random) {
  std::vector<double> values(static_cast<std::size_t>(shape.numel()));
  for (double& value : values) value = random.uniform(0.5, 2) * (random.below(2) ? 1 : -1);
  return tensor(shape, values, DType::float64);
}

CheckReport compared(const Function& function, const std::vector<Tensor>& inputs, const CheckOptions& options,
                     Missing missing) {
  const Tensor y = value_of(function, inputs);
  if (!y.defined()) fail("check_gradients: the function gave an undefined tensor");
  const std::size_t outputs = static_cast<std::size_t>(y.numel());
  std::vector<std::vector<std::vector<double>>> jacobian;  // [input][element][output]
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    jacobian.emplace_back();
    for (std::int64_t e = 0; e < inputs[i].numel(); ++e) {
      jacobian[i].push_back(numerical_column(function, inputs, i, e, options.step));
    }
  }
  CheckReport report;
  const auto check = [&](const Tensor& cotangent, const std::string& name) {
    const std::vector<double> factors = cotangent.to_vector();
    const auto computed = gradients_of(function, inputs, cotangent, options.scale_gradient, missing);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      for (std::size_t e = 0; e < jacobian[i].size(); ++e) {
        double expected = 0;
        for (std::size_t o = 0; o < outputs; ++o) expected += factors[o] * jacobian[i][e][o];
        compare(report, options, computed[i][e], expected, fmt::format("input {}, element {}, {}", i, e, name));
      }
    }
  };
  for (std::size_t o = 0; o < outputs; ++o) {
    std::vector<double> one_hot(outputs, 0.0);
    one_hot[o] = 1;
    check(tensor(y.shape(), one_hot, DType::float64), fmt::format("output {}", o));
  }
  Random random(options.seed);
  for (int draw = 0; draw < (missing == Missing::error ? 2 : 0); ++draw) {
    check(random_cotangent(y.shape(), random), fmt::format("random cotangent {}", draw));
  }
  return report;
}

}  // namespace

CheckReport check_gradients(const Function& function, const std::vector<Tensor>& inputs, const CheckOptions& options) {
  check_inputs("check_gradients", function, inputs);
  return compared(function, inputs, options, Missing::error);
}

CheckReport check_second_derivatives(const Function& function, const std::vector<Tensor>& inputs,
                                     const CheckOptions& options) {
  check_inputs("check_second_derivatives", function, inputs);
  Random random = Random(options.seed).stream("second derivatives");
  std::vector<Tensor> all = inputs, weights;
  for (const Tensor& input : inputs) weights.push_back(random_cotangent(input.shape(), random));
  all.push_back(random_cotangent(function(inputs).shape(), random));
  // Returns sum_i(w_i g_i) at x = (inputs, c).
  const auto weighted = [&](const std::vector<Tensor>& x, bool record) {
    const std::vector<Tensor> variables(x.begin(), x.end() - 1);
    const Gradients gradients = backward(function(variables), x.back(), {.record = record});
    Tensor total = zeros({}, DType::float64);
    for (std::size_t i = 0; i < variables.size(); ++i) total = total + sum(gradients[variables[i]] * weights[i]);
    return total;
  };
  const Function slope = [&](const std::vector<Tensor>& x) {
    if (x.back().is_variable()) return weighted(x, true);
    const Recording recording;
    return weighted(variables_of(x), false).detach();
  };
  CheckReport report = compared(slope, all, options, Missing::zero);
  report.worst.where = "second derivative, " + report.worst.where;
  return report;
}

static bool can_record_backward(const Operation& operation, const Function& function,
                                const std::vector<Tensor>& inputs) {
  const Recording recording;
  const Tensor y = function(variables_of(inputs));
  return Recorder::can_record_backward(operation);
}

CheckReport check(const Operation& operation, const CheckOptions& options) {
  const std::vector<GradientSample> samples = operation.samples().all();
  if (samples.empty()) {
    const char* reason = operation.samples().reason_for_none();
    fail("check: samples of {} are missing{}{}", operation.name(), reason ? ": " : "", reason ? reason : "");
  }
  CheckReport all;
  CheckOptions scaled = options;
  scaled.scale_gradient *= 1.01;
  const auto include = [&](const GradientSample& sample, const std::vector<Tensor>& inputs, auto check_with) {
    const CheckReport report = check_with(sample.function, inputs, options);
    const bool is_blind = report.passed && check_with(sample.function, inputs, scaled).passed;
    const bool may_be_blind = sample.gradient_is_zero || report.entries == 0 || sample.function(inputs).numel() == 0;
    if (is_blind && !may_be_blind) {
      fail("check: sample '{}' of {} passes with a gradient that is 1 % too large; set gradient_is_zero where it is 0",
           sample.name, operation.name());
    }
    all.entries += report.entries;
    all.passed = all.passed && report.passed;
    if (report.worst.excess <= all.worst.excess) return;
    all.worst = report.worst;
    all.worst.where = fmt::format("sample '{}', {}", sample.name, report.worst.where);
  };
  Random random(options.seed);
  for (const GradientSample& sample : samples) {
    std::vector<Tensor> inputs;
    for (const Argument& argument : sample.arguments) inputs.push_back(draw(argument, random));
    include(sample, inputs, check_gradients);
    if (can_record_backward(operation, sample.function, inputs)) include(sample, inputs, check_second_derivatives);
  }
  return all;
}

}  // namespace heed
