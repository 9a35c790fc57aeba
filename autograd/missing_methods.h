#pragma once
#include <heed/autograd/shape.h>

#include <concepts>
#include <vector>

namespace heed {
class Tensor;
}

namespace heed::detail {

/// Methods of PyTorch's tensors that Tensor does not have. They do not compile, and the compiler's message shows the line that says what to
/// write.
struct MissingMethods {
  static constexpr struct GradientsAreValues {
    operator const Tensor&() const = delete;  // gradients are a value: Gradients gradients = backward(loss)
    void operator()() const = delete;         // gradients are a value: Gradients gradients = backward(loss)
    void operator[](auto&&) const = delete;   // gradients are a value: Gradients gradients = backward(loss)
  } grad{};
  void backward(auto&&...) const = delete;        // gradients are a value: Gradients gradients = backward(loss)
  void requires_grad_(auto&&...) const = delete;  // variable(x) makes the leaf to differentiate by
  void abs(auto&&...) const = delete;             // operations are functions: abs(x)
  void argmax(auto&&...) const = delete;          // operations are functions: argmax(x, 1)
  void argmin(auto&&...) const = delete;          // operations are functions: argmin(x, 1)
  void chunk(auto&&...) const = delete;           // operations are functions: split(x, {2, 2}, 1)
  void clamp(auto&&...) const = delete;           // operations are functions: clamp(x, 0, 1), clamp(x, 0)
  void contiguous(auto&&...) const = delete;      // operations are functions: contiguous(x)
  void cos(auto&&...) const = delete;             // operations are functions: cos(x)
  void cumsum(auto&&...) const = delete;          // operations are functions: cumsum(x, 0)
  void dim() const = delete;                      // the number of axes is rank()
  void exp(auto&&...) const = delete;             // operations are functions: exp(x)
  void expand(auto&&...) const = delete;          // operations are functions: broadcast_to(x, {2, 3})
  void flatten(auto&&...) const = delete;         // operations are functions: flatten(x, 1)
  void gather(auto&&...) const = delete;          // operations are functions: gather(x, ids, 1)
  void index_add(auto&&...) const = delete;       // operations are functions: index_add(x, ids, y, 0)
  void index_select(auto&&...) const = delete;    // operations are functions: index_select(x, ids, 0)
  void log(auto&&...) const = delete;             // operations are functions: log(x)
  void logsumexp(auto&&...) const = delete;       // operations are functions: logsumexp(x), logsumexp(x, 1)
  void masked_fill(auto&&...) const = delete;     // operations are functions: masked_fill(x, x > 0, 0)
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
  void sin(auto&&...) const = delete;             // operations are functions: sin(x)
  void softmax(auto&&...) const = delete;         // operations are functions: softmax(x, 1)
  void sort(auto&&...) const = delete;            // operations are functions: sort(x, 1).values
  void split(auto&&...) const = delete;           // operations are functions: split(x, {2, 2}, 1)
  void sqrt(auto&&...) const = delete;            // operations are functions: sqrt(x)
  void square(auto&&...) const = delete;          // operations are functions: square(x)
  void squeeze(auto&&...) const = delete;         // operations are functions: squeeze(x, 1)
  void sum(auto&&...) const = delete;             // operations are functions: sum(x), sum(x, 1)
  void t() const = delete;                        // operations are functions: transpose(x)
  void tanh(auto&&...) const = delete;            // operations are functions: tanh(x)
  void topk(auto&&...) const = delete;            // operations are functions: topk(x, 2), topk(x, 2, 0)
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

namespace heed {

/// Functions of PyTorch that have another name here.
///@{
void bmm(const std::same_as<Tensor> auto&, auto&&...) = delete;         // matmul(x, y)
void cat(const std::vector<Tensor>&, auto&&...) = delete;               // concat({x, y}, 1)
void eye(std::integral auto, auto&&...) = delete;                       // one_hot(arange_ids(n), n)
void linspace(double, double, std::integral auto, auto&&...) = delete;  // arange(n) * ((end - begin) / (n - 1)) + begin
void ones_like(const std::same_as<Tensor> auto&, auto&&...) = delete;   // ones(x.shape(), x.dtype())
void randn(const Shape&, auto&&...) = delete;                           // random_normal({2, 3}, random)
void randn(std::integral auto, auto&&...) = delete;                     // random_normal({2, 3}, random)
void zeros_like(const std::same_as<Tensor> auto&, auto&&...) = delete;  // zeros(x.shape(), x.dtype())
///@}

// A flag in the place of the axis.
void cumsum(const Tensor&, std::same_as<bool> auto, auto&&...) = delete;            // along an axis: cumsum(x, 1)
void argmax(const Tensor&, std::same_as<bool> auto, auto...) = delete;              // keepdim: argmax(x, 1, true)
void argmin(const Tensor&, std::same_as<bool> auto, auto...) = delete;              // keepdim: argmin(x, 1, true)
void topk(const Tensor&, std::int64_t, std::same_as<bool> auto, auto...) = delete;  // largest: topk(x, 2, 1, false)
void sort(const Tensor&, std::same_as<bool> auto, auto...) = delete;                // descending: sort(x, 1, true)
void softmax(const Tensor&, std::same_as<bool> auto) = delete;                      // along an axis: softmax(x, 1)
void log_softmax(const Tensor&, std::same_as<bool> auto) = delete;                  // along an axis: log_softmax(x, 1)
void squeeze(const Tensor&, std::same_as<bool> auto) = delete;  // an axis: squeeze(x, 1), or all: squeeze(x)

// keepdim is true or false, and axes stand in braces: sum(x, {0, 1}), norm(x, 1, true), var(x, 1, false, 1)
void sum(const Tensor&, const Axes&, std::same_as<int> auto, auto...) = delete;   // sum(x, {0, 1})
void mean(const Tensor&, const Axes&, std::same_as<int> auto, auto...) = delete;  // mean(x, {0, 1})
void max(const Tensor&, const Axes&, std::same_as<int> auto, auto...) = delete;   // max(x, {0, 1})
void min(const Tensor&, const Axes&, std::same_as<int> auto, auto...) = delete;   // min(x, {0, 1})
void var(const Tensor&, const Axes&, std::same_as<int> auto, auto...) = delete;   // correction: var(x, 1, false, 1)
void stddev(const Tensor&, const Axes&, std::same_as<int> auto,
            auto...) = delete;                                                    // correction: stddev(x, 1, false, 1)
void prod(const Tensor&, const Axes&, std::same_as<int> auto, auto...) = delete;  // prod(x, {0, 1})
void norm(const Tensor&, const Axes&, std::same_as<int> auto, auto...) = delete;  // of order 2 along axis 1: norm(x, 1)
void logsumexp(const Tensor&, const Axes&, std::same_as<int> auto, auto...) = delete;  // logsumexp(x, {0, 1})

}  // namespace heed
