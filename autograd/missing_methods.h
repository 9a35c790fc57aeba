#pragma once
#include <heed/autograd/shape.h>

namespace heed::detail {

/// Methods of PyTorch's tensors that Tensor lacks. They do not compile, and the compiler's message shows the line that says what to
/// write.
struct MissingMethods {
  void backward(auto&&...) const = delete;        // gradients are a value: Gradients gradients = backward(loss)
  void grad() const = delete;                     // gradients are a value: Gradients gradients = backward(loss)
  void requires_grad_(auto&&...) const = delete;  // variable(x) makes the leaf to differentiate by
  void abs(auto&&...) const = delete;             // operations are functions: abs(x)
  void argmax(auto&&...) const = delete;          // operations are functions: argmax(x, 1)
  void argmin(auto&&...) const = delete;          // operations are functions: argmin(x, 1)
  void exp(auto&&...) const = delete;             // operations are functions: exp(x)
  void flatten(auto&&...) const = delete;         // operations are functions: flatten(x, 1)
  void log(auto&&...) const = delete;             // operations are functions: log(x)
  void matmul(auto&&...) const = delete;          // operations are functions: matmul(x, y)
  void max(auto&&...) const = delete;             // operations are functions: max(x), max(x, 1)
  void mean(auto&&...) const = delete;            // operations are functions: mean(x), mean(x, 1)
  void min(auto&&...) const = delete;             // operations are functions: min(x), min(x, 1)
  void mm(auto&&...) const = delete;              // operations are functions: matmul(x, y)
  void norm(auto&&...) const = delete;            // operations are functions: norm(x), norm(x, 1)
  void permute(auto&&...) const = delete;         // operations are functions: permute(x, {1, 0})
  void pow(auto&&...) const = delete;             // operations are functions: pow(x, 2)
  void relu(auto&&...) const = delete;            // operations are functions: relu(x)
  void reshape(auto&&...) const = delete;         // operations are functions: reshape(x, {2, 3})
  void reshape(const Shape&) const = delete;      // operations are functions: reshape(x, {2, 3})
  void sigmoid(auto&&...) const = delete;         // operations are functions: sigmoid(x)
  void softmax(auto&&...) const = delete;         // operations are functions: softmax(x, 1)
  void sqrt(auto&&...) const = delete;            // operations are functions: sqrt(x)
  void squeeze(auto&&...) const = delete;         // operations are functions: squeeze(x, 1)
  void sum(auto&&...) const = delete;             // operations are functions: sum(x), sum(x, 1)
  void t() const = delete;                        // operations are functions: transpose(x)
  void tanh(auto&&...) const = delete;            // operations are functions: tanh(x)
  void transpose(auto&&...) const = delete;       // operations are functions: transpose(x, 0, 1)
  void unsqueeze(auto&&...) const = delete;       // operations are functions: unsqueeze(x, 1)
  void var(auto&&...) const = delete;             // operations are functions: var(x), var(x, 1)
  void T() const = delete;                        // operations are functions: transpose(x)
  void begin() const = delete;                    // rows: for (const Tensor& row : unbind(x)); numbers: x.to_vector()
  void end() const = delete;                      // as begin()
  void add_(auto&&...) const = delete;            // x = x + y, or for new values of a variable x.copy_from(x + y)
  void copy_(auto&&...) const = delete;           // x.copy_from(y)
  void fill_(auto&&...) const = delete;           // x.copy_from(full(x.shape(), value))
  void zero_(auto&&...) const = delete;           // x.copy_from(zeros(x.shape()))
};

}  // namespace heed::detail
