#pragma once
#include "open.h"

namespace heed {

inline constexpr double tolerance = 1e-5;  // float32 compared with double

// Changes all parameters, so that biases are not 0 and gains are not 1.
inline Model shaken(Model model) {
  double phase = 0;
  for (const auto& [name, value] : model.parameters) {
    std::vector<double> values = value.to_vector();
    for (double& x : values) x += 0.4 * std::sin(phase += 1.7);
    Tensor parameter = value;
    parameter.copy_from(tensor(value.shape(), values));
  }
  return model;
}

// Returns the expected answer at the query: the weights of all layers and heads in turn, then all probabilities.
inline std::vector<double> expected(const Model& model, const Example& example) {
  const ModelOutput output = model.run(batch_of(model, example), {.weights = true});
  std::vector<double> numbers;
  for (const Tensor& layer : output.weights) {
    const std::vector<double> weights = layer.to_vector();
    numbers.insert(numbers.end(), weights.begin(), weights.end());
  }
  const std::vector<double> probabilities = softmax(output.logits.to(DType::float64)).to_vector();
  numbers.insert(numbers.end(), probabilities.begin(), probabilities.end());
  return numbers;
}

// Returns an expression for all weights of an Attention in the page.
inline std::string all_weights(const std::string& attention) {
  return fmt::format("allHeads({0}.heads).flatMap((at) => [...{0}.of(...at)])", attention);
}

// Weights and probabilities of the sentence that the page shows, as its engine computes them.
inline const std::string typed =
    "[..." + all_weights("shownNow().live.reading.attention") + ", ...shownNow().live.reading.found.probabilities]";

// Types a text into the view "Try it".
inline void type(Browser& chromium, const std::string& text) {
  chromium.run("(() => { const field = document.querySelector('#main textarea'); field.value = " + Json(text).dump() +
               "; field.dispatchEvent(new Event('input')); })()");
  chromium.settle();
}

// Types a text, and checks that the page reads, asks and answers it as the program does.
inline void check_as_program(Browser& chromium, const Model& model, const std::string& text) {
  INFO(text);
  type(chromium, text);
  const Example example = question(model, text);
  CHECK(chromium.run("asRead(subject()).tokens") == Json(example.tokens));
  CHECK(chromium.run("subject().query") == example.query);
  CHECK(largest_difference(chromium.run(typed), expected(model, example)) < tolerance);
}

}  // namespace heed
