#include "tests/autograd/helpers.h"

#include <heed/autograd/gradcheck/check.h>

using namespace heed;

TEST_CASE("The second derivatives of every operation equal those of its gradient, or it says why there are none") {
  const Threads one(1);
  for (const Operation* operation : operations()) {
    if (operation->samples().reason_for_none()) continue;
    INFO("operation " << operation->name());
    for (const GradientSample& sample : operation->samples().all()) {
      INFO("sample " << sample.name);
      Random random(std::hash<std::string>{}(sample.name));
      std::vector<Tensor> x, variables;
      for (const Argument& argument : sample.arguments) x.push_back(draw(argument, random));
      for (const Tensor& each : x) variables.push_back(variable(each));
      {
        const Recording recording;
        const Tensor y = sample.function(variables);
        if (operation->reason_for_no_second()) {
          CHECK(std::string(operation->reason_for_no_second()).size() > 10);
          CHECK(message([&] {
                  backward(y, ones(y.shape(), y.dtype()), {.record = true});
                }).find(operation->reason_for_no_second()) != std::string::npos);
          continue;
        }
        CHECK(Recorder::can_record_backward(*operation));
        if (!Recorder::can_record_backward(*operation)) continue;
        const Tensor dy = uniform(y.shape(), random);
        const Gradients plain = backward(y, dy), recorded = backward(y, dy, {.record = true});
        for (const Tensor& each : variables) CHECK(distance(recorded[each].detach(), plain[each].detach()) < 1e-12);
      }
      bool is_empty = sample.function(x).numel() == 0, has_elements = false;
      for (const Tensor& each : x) has_elements = has_elements || each.numel() > 0;
      is_empty = is_empty || !has_elements;
      const CheckReport report = check_second_derivatives(sample.function, x);
      INFO(report.worst.where << ": computed " << report.worst.computed << ", expected " << report.worst.expected);
      CHECK(report.passed);
      const bool blind = check_second_derivatives(sample.function, x, {.scale_gradient = 1.01}).passed;
      CHECK(blind == (sample.gradient_is_zero || is_empty));
    }
  }
}
