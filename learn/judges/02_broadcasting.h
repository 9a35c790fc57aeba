#pragma once
#include "judge.h"
#include "python.h"

namespace learn {

/// The code that the learner wrote.
struct BroadcastingSolution {
  std::vector<int> (*broadcast_shape)(const std::vector<int>&, const std::vector<int>&);
  std::size_t (*offset)(const Array&, const std::vector<int>&);
  Array (*multiply)(const Array&, const Array&);
  Array (*sum_to)(const Array&, const std::vector<int>&);
  std::pair<Array, Array> (*multiply_backward)(const Array&, const Array&, const Array&);
};
#define LEARN_02 \
  BroadcastingSolution { broadcast_shape, offset, multiply, sum_to, multiply_backward }

inline BroadcastingSolution python_02() {
  using Sizes = std::vector<int>;
  return {[](const Sizes& a, const Sizes& b) {
            const Array shape = python_one("broadcast_shape", {a, b});
            return Sizes(shape.values.begin(), shape.values.end());
          },
          [](const Array& x, const Sizes& index) {
            return static_cast<std::size_t>(python_one("offset", {x, index}).values.at(0));
          },
          [](const Array& a, const Array& b) {
            return python_one("multiply", {a, b});
          },
          [](const Array& dy, const Sizes& shape) {
            return python_one("sum_to", {dy, shape});
          },
          [](const Array& dy, const Array& a, const Array& b) {
            return python_pair("multiply_backward", {dy, a, b});
          }};
}

Step step_02(const BroadcastingSolution& yours);

}  // namespace learn
