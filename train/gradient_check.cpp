#include "train/gradient_check.h"

#include "train/experiment.h"

#include <heed/autograd/gradcheck/check.h>
#include <heed/autograd/record.h>

#include <cmath>

namespace heed {
namespace {

constexpr int directions = 3, elements = 5, sentences = 4;
// Behind layer norms of few features the loss bends within 1e-2: of this step the 8th-order difference is still wrong by
// less than 1e-10 there, and the loss's own rounding, 1e-14 or so, divided by it, too.
constexpr double difference_step = 5e-4;

// Unit vectors of `shape`: dense ones of random signs, then single elements.
std::vector<Tensor> unit_vectors(const Shape& shape, Random random) {
  std::vector<Tensor> result;
  const std::int64_t n = shape.numel();
  for (int i = 0; i < directions + elements; ++i) {
    std::vector<double> values(static_cast<std::size_t>(n), 0.0);
    if (i < directions) {
      for (double& value : values) value = (random.below(2) ? 1 : -1) / std::sqrt(static_cast<double>(n));
    } else {
      values[static_cast<std::size_t>(random.below(n))] = 1;
    }
    result.push_back(tensor(shape, values, DType::float64));
  }
  return result;
}

}  // namespace

ModelCheck check_model_gradients(const Config& config) {
  const Experiment e = make_experiment(config, DType::float64);
  const Batch batch = e.task.corpus
                          ? batch_of(held_out_windows(
                                *e.task.corpus, 0, std::min<std::int64_t>(sentences, held_out_windows(*e.task.corpus))))
                          : e.examples.batch(0, std::min<std::int64_t>(sentences, e.examples.size()));

  ModelCheck check;
  check.table = fmt::format("{:<44} {:<14} {:>10}\n", "parameter", "shape", "error");
  Gradients gradients;
  {
    const Recording recording;
    gradients = backward(answer_loss(*e.model.reader, batch));
  }
  const CheckOptions tolerance;
  int failed = 0;
  for (const auto& entry : e.model.parameters) {
    const std::string& name = entry.first;
    Tensor parameter = entry.second;
    const Tensor value = parameter.clone();
    double largest = 0;
    bool passed = gradients.contains(parameter), caught = false;
    // Steps that are small beside the parameter: a norm bends sharply where what it divides by is small.
    const double rms = std::sqrt(mean(square(value)).item()), length = rms > 0 && rms < 0.1 ? rms : 1;
    for (const Tensor& unit : unit_vectors(parameter.shape(), Random(config.seed).stream(name))) {
      const Tensor direction = unit * length;
      if (!passed) break;
      const auto along = [&](const Tensor& t) {
        parameter.copy_from(value + direction * t.item());
        return answer_loss(*e.model.reader, batch);
      };
      const double expected = derivative(along, 0, difference_step);
      const double computed = sum(gradients[parameter] * direction).item();
      const auto excess = [&](double scale) {
        return std::abs(scale * computed - expected) / (tolerance.atol + tolerance.rtol * std::abs(expected));
      };
      largest = std::max(largest, std::abs(computed - expected));
      passed = excess(1) <= 1;
      caught = caught || excess(1.01) > 1;
    }
    parameter.copy_from(value);
    failed += !(passed && caught);
    check.table += fmt::format("{:<44} {:<14} {:>10.1e}  {}\n", name, to_string(parameter.shape()), largest,
                               !passed  ? "FAIL"
                               : caught ? "pass"
                                        : "FAIL: a gradient 1 % too large would pass too");
  }
  check.passed = failed == 0;
  check.table +=
      fmt::format("{} of {} parameters pass: rtol {:.0e}, atol {:.0e}, 8th-order central differences in float64\n",
                  e.model.parameters.size() - static_cast<std::size_t>(failed), e.model.parameters.size(),
                  tolerance.rtol, tolerance.atol);
  return check;
}

}  // namespace heed
