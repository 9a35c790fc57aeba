#pragma once
#include "tests/catch.h"

#include <heed/autograd/ops.h>
#include <heed/formats/safetensors.h>
#include <heed/nn/parameters.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace heed {

// One file of tests/golden; make_golden.py describes its cases.
class Golden {
 public:
  explicit Golden(const std::string& name) : content_(read_safetensors("tests/golden/" + name + ".safetensors")) {}

  Tensor operator()(const std::string& name, DType dtype = DType::float64) const { return content_[name].to(dtype); }

  Booleans booleans(const std::string& name) const {
    const std::vector<double> values = content_[name].to_vector();
    return {content_[name].shape(), std::vector<std::uint8_t>(values.begin(), values.end())};
  }

  // Returns the number of inputs of a case that names them "0", "1", ...
  std::size_t inputs(const std::string& name) const {
    const auto& all = content_.tensors;
    std::size_t count = 0;
    const auto exists = [&](const auto& entry) { return entry.first == name + "." + std::to_string(count); };
    while (std::any_of(all.begin(), all.end(), exists)) ++count;
    return count;
  }

  // Sets the parameters to the values in the case.
  void load(const std::string& name, Parameters& parameters) const {
    NamedTensors values;
    for (const auto& [key, parameter] : parameters) values.emplace_back(key, content_[name + "." + key]);
    parameters.load(values, name);
  }

 private:
  SafeTensors content_;
};

inline double tolerance(DType dtype) { return dtype == DType::float32 ? 1e-6 : 1e-12; }

// Returns the largest |computed - expected| / max(1, |expected|); infinite for a different shape or a NaN.
inline double error(const Tensor& computed, const Tensor& expected) {
  if (!computed.defined() || computed.shape() != expected.shape()) {
    return std::numeric_limits<double>::infinity();
  }
  const std::vector<double> x = computed.to_vector(), y = expected.to_vector();
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double difference = std::abs(x[i] - y[i]) / std::max(1.0, std::abs(y[i]));
    if (!(difference <= largest)) largest = difference;
    if (std::isnan(difference)) return std::numeric_limits<double>::infinity();
  }
  return largest;
}

// Compares function() and its gradients for the named variables with the case's.
template <class Function>
void check_case(const Golden& golden, const std::string& name, const NamedTensors& variables,
                const Function& function) {
  CAPTURE(name);
  const Recording recording;
  const Tensor output = function();
  const double allowed = tolerance(output.dtype());
  CHECK(error(output, golden(name + ".output")) <= allowed);
  const Gradients gradients = backward(output, golden(name + ".cotangent", output.dtype()));
  for (const auto& [key, value] : variables) {
    CAPTURE(key);
    CHECK(error(gradients[value], golden(name + ".gradient." + key)) <= allowed);
  }
}

inline NamedTensors joined(NamedTensors variables, const Parameters& parameters) {
  variables.insert(variables.end(), parameters.begin(), parameters.end());
  return variables;
}

}  // namespace heed
