#pragma once
#include <heed/autograd/operation.h>
#include <heed/autograd/tensor.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace heed {

// While one stands, this thread records every operation that depends on a variable. One at a time a thread.
// Nodes are appended in creation order, which is a topological order: backward is a loop from the end to the
// start, and nothing here recurses.
class Recording {
 public:
  Recording();
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  std::int64_t size() const;  // recorded operations and variables
};

// dL/dv for each variable v that the loss depends on: a value, so none can be stale.
class Gradients {
 public:
  const Tensor& operator[](const Tensor& variable) const;  // Error when there is none
  bool contains(const Tensor& variable) const { return find(variable) != nullptr; }
  const Tensor* find(const Tensor& variable) const;   // nullptr when there is none
  void set(const Tensor& variable, Tensor gradient);  // same shape and dtype, else Error
  Gradients& operator+=(const Gradients& other);
  std::size_t size() const { return entries_.size(); }
  auto begin() { return entries_.begin(); }  // (variable's number, gradient)
  auto end() { return entries_.end(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  std::vector<std::pair<std::int64_t, Tensor>> entries_;  // sorted by the variable's number
};

// Gradients of a scalar that the open recording has recorded.
Gradients backward(const Tensor& loss);

// Gradients of sum(output * cotangent): the transposed Jacobian's product. Shapes must be equal.
Gradients backward(const Tensor& output, const Tensor& cotangent);

// While one stands, this thread's operations throw NotFinite at the first output with an infinite value or NaN that is
// recorded: "the output of layer_norm, shape (64, 13, 64)".
struct NotFinite : Error {
  using Error::Error;
};
class FiniteCheck {
 public:
  FiniteCheck();
  ~FiniteCheck();
  FiniteCheck(const FiniteCheck&) = delete;
};

}  // namespace heed
