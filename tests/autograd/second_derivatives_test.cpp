#include "tests/autograd/helpers.h"

#include <heed/autograd/gradcheck/check.h>

#include <exception>
#include <set>
#include <string>

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

namespace {

// Checks that the gradients of a call with empty inputs can be recorded and differentiated. Returns false if it does not accept them.
bool takes_empty(const GradientSample& sample, const std::vector<Shape>& shapes) {
  Random random(3);
  std::vector<Tensor> x;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    x.push_back(variable(draw({shapes[i], sample.arguments[i].values}, random)));
  }
  const Recording recording;
  Tensor y;
  try {
    y = sample.function(x);
  } catch (const std::exception&) {
    return false;
  }
  if (y.tape_node().recording == 0) return false;
  const Tensor dy = uniform(y.shape(), random);
  const Gradients plain = backward(y, dy), recorded = backward(y, dy, {.record = true});
  Tensor total = sum(y);
  for (const Tensor& each : x) {
    CHECK(recorded.contains(each) == plain.contains(each));
    if (!plain.contains(each)) continue;
    CHECK(distance(recorded[each].detach(), plain[each].detach()) < 1e-12);
    total = total + sum(recorded[each]);
  }
  CHECK(message([&] { backward(total); }) == "no error");
  return true;
}

}  // namespace

TEST_CASE("The gradient of every operation on empty inputs can be recorded") {
  const Threads one(1);
  // These serve recorded backwards alone, and do not check the shapes that they are given.
  const std::set<std::string> internal{"place", "avg_pool2d transposed", "conv2d weights"};
  std::set<std::string> taken;
  for (const Operation* operation : operations()) {
    if (operation->reason_for_no_second() || internal.contains(operation->name())) continue;
    for (const GradientSample& sample : operation->samples().all()) {
      for (std::size_t input = 0; input < sample.arguments.size(); ++input) {
        for (int axis = 0; axis < sample.arguments[input].shape.rank(); ++axis) {
          for (const bool everywhere : {false, true}) {  // the same axis of the other inputs of this shape, too
            std::vector<Shape> shapes;
            for (const Argument& argument : sample.arguments) shapes.push_back(argument.shape);
            const Shape changed = shapes[input];
            for (std::size_t i = 0; i < shapes.size(); ++i) {
              if (i == input || (everywhere && shapes[i] == changed)) shapes[i][axis] = 0;
            }
            INFO(operation->name() << ", " << sample.name << ", input " << input << " " << to_string(shapes[input]));
            bool is_taken = false;
            CHECK_NOTHROW(is_taken = takes_empty(sample, shapes));
            if (is_taken) taken.insert(operation->name());
          }
        }
      }
    }
  }
  CHECK(taken.size() > 80);
}
