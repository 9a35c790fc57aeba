#include <heed/autograd/gradcheck/check.h>
#include <heed/autograd/gradcheck/samples.h>
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

// Column `element` of the Jacobian for input `input`: d(output) / d(that element).
std::vector<double> numerical_column(const Function& function, std::vector<Tensor> inputs, std::size_t input,
                                     std::int64_t element, double h) {
  inputs[input] = inputs[input].clone();
  double& value = inputs[input].mutable_data<double>()[element];
  const double centre = value;
  return central_difference(
      [&](double offset) {
        value = centre + offset;
        return function(inputs);
      },
      h);
}

std::vector<std::vector<double>> gradients_of(const Function& function, const std::vector<Tensor>& inputs,
                                              const Tensor& cotangent, double scale) {
  const Recording recording;
  std::vector<Tensor> variables;
  for (const Tensor& input : inputs) variables.push_back(variable(input));
  const Gradients gradients = backward(function(variables), cotangent);
  std::vector<std::vector<double>> result;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (!gradients.contains(variables[i])) {
      fail("check_gradients: input {} received no gradient: the function must compute with the tensors it is given", i);
    }
    result.push_back(gradients[variables[i]].to_vector());
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

CheckReport check_gradients(const Function& function, const std::vector<Tensor>& inputs, const CheckOptions& options) {
  if (!function) fail("check_gradients: the function is empty");
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].dtype() != DType::float64) fail("check_gradients: input {} must be float64", i);
  }
  const Tensor y = function(inputs);
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
  const auto check = [&](const std::vector<double>& cotangent, const std::string& name) {
    const auto computed =
        gradients_of(function, inputs, tensor(y.shape(), cotangent, DType::float64), options.scale_gradient);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      for (std::size_t e = 0; e < jacobian[i].size(); ++e) {
        double expected = 0;
        for (std::size_t o = 0; o < outputs; ++o) expected += cotangent[o] * jacobian[i][e][o];
        compare(report, options, computed[i][e], expected, fmt::format("input {}, element {}, {}", i, e, name));
      }
    }
  };
  for (std::size_t o = 0; o < outputs; ++o) {
    std::vector<double> one_hot(outputs, 0.0);
    one_hot[o] = 1;
    check(one_hot, fmt::format("output {}", o));
  }
  Random random(options.seed);
  for (int draw = 0; draw < 2; ++draw) {
    std::vector<double> cotangent(outputs);
    for (double& value : cotangent) value = random.uniform(0.5, 2) * (random.below(2) ? 1 : -1);
    check(cotangent, fmt::format("random cotangent {}", draw));
  }
  return report;
}

CheckReport check(const Operation& operation, const CheckOptions& options) {
  const std::vector<GradientSample> samples = operation.samples().all();
  if (samples.empty()) {
    const char* reason = operation.samples().reason_for_none();
    fail("check: samples of {} are missing{}{}", operation.name(), reason ? ": " : "", reason ? reason : "");
  }
  CheckReport all;
  Random random(options.seed);
  for (const GradientSample& sample : samples) {
    std::vector<Tensor> inputs;
    for (const Argument& argument : sample.arguments) inputs.push_back(draw(argument, random));
    CheckReport report = check_gradients(sample.function, inputs, options);
    CheckOptions scaled = options;
    scaled.scale_gradient *= 1.01;
    const bool is_blind = report.passed && check_gradients(sample.function, inputs, scaled).passed;
    const bool may_be_blind = sample.gradient_is_zero || report.entries == 0 || sample.function(inputs).numel() == 0;
    if (is_blind && !may_be_blind) {
      fail("check: sample '{}' of {} passes with a gradient that is 1 % too large; set gradient_is_zero where it is 0",
           sample.name, operation.name());
    }
    all.entries += report.entries;
    all.passed = all.passed && report.passed;
    if (report.worst.excess <= all.worst.excess) continue;
    all.worst = report.worst;
    all.worst.where = fmt::format("sample '{}', {}", sample.name, report.worst.where);
  }
  return all;
}

}  // namespace heed
