#include "train/gradient_check.h"

#include "train/experiment.h"

#include <heed/autograd/gradcheck/check.h>
#include <heed/autograd/ops.h>
#include <heed/autograd/record.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace heed {
namespace {

constexpr int dense_directions = 3, directions = 8, redraws = 20, sentences = 4;
constexpr double relative_tolerance = 1e-7, negligible = 1e-8, hardly_measurable = 1e-7;
// The usual step suits a smooth loss. A small derivative needs a larger step, to exceed the rounding error of the loss.
constexpr double usual_step = 5e-4, largest_step = 8e-3, smallest_step = 5e-6, small_derivative = 1e-6;

double rms(const Tensor& x) { return std::sqrt(mean(square(x)).item()); }

void move_at_random(const Parameters& parameters, const Random& random) {
  for (const auto& [name, value] : parameters) {
    Tensor parameter = value;
    const double scale = std::max(rms(value), 1 / std::sqrt(static_cast<double>(value.size(0))));
    Random own = random.stream(name);
    parameter.copy_from(value + random_normal(value.shape(), own, 0, 0.1 * scale, DType::float64));
  }
}

struct Direction {
  const char* name = nullptr;
  Tensor unit = {};
};

// Number 0 is the gradient's direction, 1 and 2 are random signs, the others are single elements.
Direction direction_of(int number, bool redrawn, const Tensor& gradient, double norm, Random& random) {
  const Shape& shape = gradient.shape();
  const std::int64_t n = shape.numel();
  if (number == 0 && !redrawn && norm > 0) return {"the gradient", gradient / norm};
  std::vector<double> values(static_cast<std::size_t>(n), 0.0);
  if (number < dense_directions) {
    for (double& value : values) value = (random.below(2) ? 1 : -1) / std::sqrt(static_cast<double>(n));
  } else {
    values[static_cast<std::size_t>(random.below(n))] = 1;
  }
  return {number < dense_directions ? "a random direction" : "a single element", tensor(shape, values, DType::float64)};
}

struct Counts {
  int compared = 0, zero = 0, shrunk = 0, redrawn = 0;
};

struct Difference {
  double value, tolerance;
  bool agrees(double computed) const { return std::abs(computed - value) <= tolerance; }
};

// Returns the difference at the largest step at which it agrees with `computed`, or else the first that agrees with the
// differences at the two steps before. Returns nothing when the loss bends within the range of all steps.
std::optional<Difference> difference(const std::function<Tensor(const Tensor&)>& along, double computed,
                                     double rounding, Counts& counts) {
  const double first = std::abs(computed) < small_derivative ? largest_step : usual_step;
  double before = std::numeric_limits<double>::quiet_NaN();
  int unchanged = 0;  // differences in a row that agree with the one before
  for (double step = first; step > smallest_step; step /= 4) {
    const double value = derivative(along, 0, step);
    const Difference found{value, rounding / step + relative_tolerance * std::abs(value)};
    if (found.agrees(computed)) counts.shrunk += step < first;
    unchanged = found.agrees(before) ? unchanged + 1 : 0;
    if (found.agrees(computed) || unchanged == 2) return found;
    before = value;
  }
  return {};
}

struct ParameterCheck {
  double error = 0;  // largest error, as a share of the gradient's norm
  bool is_zero = false;
  bool is_unclear = false;  // agrees, but is so small that 1 % of it is below the rounding of the loss
  std::string failure = {};
};

ParameterCheck check_parameter(Tensor parameter, const Tensor& gradient, const std::function<Tensor()>& loss,
                               double rounding, Random random, Counts& counts) {
  const Tensor value = parameter.clone();
  const double norm = std::sqrt(sum(square(gradient)).item());
  ParameterCheck verdict{.is_zero = norm <= negligible};
  bool caught = false;
  // The steps are small beside the parameter: a norm bends sharply where its divisor is small.
  const double length = std::min(1.0, 10 * rms(value));
  for (int number = 0; number < directions && verdict.failure.empty(); ++number) {
    std::optional<Difference> expected;
    Direction direction;
    double computed = 0;
    for (int attempt = 0; !expected && attempt <= redraws; ++attempt) {
      direction = direction_of(number, attempt > 0, gradient, norm, random);
      const Tensor whole_step = direction.unit * length;
      computed = sum(gradient * whole_step).item();
      const auto along = [&](const Tensor& t) {
        parameter.copy_from(value + whole_step * t.item());
        return loss();
      };
      expected = difference(along, computed, rounding, counts);
      counts.redrawn += !expected;
    }
    if (!expected) {
      verdict.failure = "the differences of no three steps agree";
    } else if (!expected->agrees(computed)) {
      verdict.failure = fmt::format("expected {:.6g}, got {:.6g} along {}", expected->value / length, computed / length,
                                    direction.name);
    } else {
      ++counts.compared;
      counts.zero += std::abs(computed) <= negligible;
      verdict.error = std::max(verdict.error, std::abs(computed - expected->value) / (length * norm));
      caught = caught || !expected->agrees(1.01 * computed);
    }
  }
  parameter.copy_from(value);
  if (verdict.failure.empty() && !verdict.is_zero && !caught) {
    verdict.is_unclear = norm <= hardly_measurable;
    if (!verdict.is_unclear) verdict.failure = "a gradient 1 % too large would pass too";
  }
  return verdict;
}

}  // namespace

ModelCheck check_parameters(const Parameters& parameters, const std::function<Tensor()>& loss, std::uint64_t seed) {
  const Random random(seed);
  move_at_random(parameters, random.stream("move"));
  Gradients gradients;
  double rounding = 2e-14;  // of the loss
  {
    const Recording recording;
    const Tensor value = loss();
    rounding *= std::max(1.0, std::abs(value.item()));
    gradients = backward(value);
  }
  ModelCheck check;
  check.table = fmt::format("{:<44} {:<14} {:>10}\n", "parameter", "shape", "error");
  Counts counts;
  std::size_t failed = 0, zero = 0, frozen = 0;
  std::pair<double, std::string> worst;
  for (const auto& [name, parameter] : parameters) {
    if (parameter.is_frozen()) {
      ++frozen;
      continue;
    }
    const Tensor* gradient = gradients.find(parameter);
    const ParameterCheck verdict =
        gradient ? check_parameter(parameter, *gradient, loss, rounding, random.stream(name), counts)
                 : ParameterCheck{.failure = "the loss does not depend on it"};
    const bool passes = verdict.failure.empty();
    failed += !passes;
    zero += passes && verdict.is_zero;
    if (passes && !verdict.is_zero) worst = std::max(worst, {verdict.error, name});
    check.table += fmt::format("{:<44} {:<14} {:>10}  {}\n", name, to_string(parameter.shape()),
                               verdict.is_zero ? "" : fmt::format("{:.1e}", verdict.error),
                               !passes           ? "FAIL: " + verdict.failure
                               : verdict.is_zero ? fmt::format("pass: below {:.0e}", negligible)
                               : verdict.is_unclear
                                   ? fmt::format("pass: below {:.0e}, 1 % of it is below rounding", hardly_measurable)
                                   : "pass");
  }
  check.passed = failed == 0;
  check.table += fmt::format(
      "{} of {} parameters pass, {} of them with a gradient below {:.0e}.\n"
      "Worst error: {:.1e} of a gradient's norm{}.\n"
      "{} derivatives agree with 8th-order central differences in float64, to {:.0e}\n"
      "and the rounding of the loss; {} of them are below {:.0e}.\n",
      parameters.size() - frozen - failed, parameters.size() - frozen, zero, negligible, worst.first,
      worst.second.empty() ? "" : ", " + worst.second, counts.compared, relative_tolerance, counts.zero, negligible);
  if (frozen > 0) check.table += fmt::format("{} frozen parameters have no gradient.\n", frozen);
  if (counts.shrunk + counts.redrawn > 0) {
    check.table += fmt::format(
        "Where the loss bends sharply, as with relu, {} of them took a smaller step\nand {} another direction.\n",
        counts.shrunk, counts.redrawn);
  }
  return check;
}

ModelCheck check_model_gradients(const Config& config) {
  Config drawn = config;
  drawn.from.clear();  // a trained model's gradients may all be too small to check
  const Experiment e = make_experiment(drawn, {.dtype = DType::float64});
  const auto up_to = [](std::int64_t count) { return std::min<std::int64_t>(sentences, count); };
  Batch batch;
  if (const auto& corpus = e.task.corpus) {
    batch = held_out_windows(*corpus, 0, up_to(held_out_windows(*corpus)));
  } else {
    batch = e.examples.batch(0, up_to(e.examples.size()));
  }
  return check_parameters(
      e.model.parameters, [&] { return e.model.loss(batch); }, config.seed);
}

}  // namespace heed
