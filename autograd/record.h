#pragma once
#include <heed/autograd/operation.h>
#include <heed/autograd/tensor.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace heed {

// The tape.
//
//   const Recording recording;
//   const Tensor loss = mean(square(layer(x) - y));   // ()
//   const Gradients gradients = backward(loss);
//   optimizer.step(gradients, 0.1);
//
// While one is open, this thread records every operation that depends on a variable; without one, nothing is recorded. One
// at a time a thread, else Error. A recorded tensor keeps its value after the recording has ended, but no operation takes
// it any more (Error): use its detach().
//
// Nodes are appended in creation order, which is a topological order: backward is a loop from the end to the start, and
// nothing here recurses, neither backward nor the freeing of a million nodes.
//
// What is written between the forward and backward: a variable, or a tensor that a recorded operation holds for its
// backward, is an Error that names it, through whichever view it was written. All others may be written. Writes are seen
// when mutable_data() is called: a pointer kept from before it is not watched.
//
// Thread-safety: a recording and the tensors recorded in it belong to the thread that opened it; another thread's
// operations refuse them. Threads may each have their own, and share variables, as long as none of them writes those.
class Recording {
 public:
  [[nodiscard]] Recording();
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  std::int64_t size() const;  // recorded operations and variables
};

// While one is open, inside a Recording or not, this thread records nothing: what is computed is a constant.
class NoRecording {
 public:
  [[nodiscard]] NoRecording();
  ~NoRecording();
  NoRecording(const NoRecording&) = delete;

 private:
  bool before_;
};

/// Holds dL/dv for each variable v that the loss depends on: a value, so none can be stale.
///
///   for (const auto& [variable, gradient] : gradients) fmt::print("{} {}\n", variable.name(), gradient);
class Gradients {
 public:
  /// Returns the gradient, which has the variable's shape and dtype. Throws Error when there is none.
  const Tensor& operator[](const Tensor& variable) const;
  /// Returns whether the loss depends on the variable.
  bool contains(const Tensor& variable) const { return find(variable) != nullptr; }
  /// Returns the gradient, or nullptr when there is none.
  const Tensor* find(const Tensor& variable) const;
  /// Replaces the gradient of a variable. Throws Error for another shape or dtype than the variable's.
  void set(const Tensor& variable, Tensor gradient);
  /// Adds the gradients of `other`. A variable that only one of both has keeps its gradient.
  Gradients& operator+=(const Gradients& other);
  /// Returns the number of variables.
  std::size_t size() const { return entries_.size(); }
  /// Iterates over pairs (variable, gradient), in the order in which the variables were made.
  auto begin() { return entries_.begin(); }
  auto end() { return entries_.end(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  std::vector<std::pair<Tensor, Tensor>> entries_;  // sorted by the variable's number
};

/// Returns how messages call a variable: "parameter 'words.weight' of shape (9, 8)", or "a variable of shape (9, 8)".
std::string described(const Tensor& variable);

// Gradients of a scalar, of shape (), that the open recording has recorded. The record stays as it is: backward may be called
// again, of this or another output. Error for another shape, an output that was not recorded here, a gradient that does not
// fit its input, or a tensor written since.
Gradients backward(const Tensor& loss);

// The same, added to those of other losses that `total` holds, where they lie: of a batch that is too large to be computed at
// once, one part after the other, in no more memory than the gradients of one take. After an Error, `total` is of no use.
void backward(const Tensor& loss, Gradients& total);

// Gradients of sum(output * cotangent), the transposed Jacobian's product with it. Shapes and dtypes must be equal.
Gradients backward(const Tensor& output, const Tensor& cotangent);

/// The error of a value that is infinite or NaN.
struct NotFinite : Error {
  using Error::Error;
};

/// While one is open, this thread throws NotFinite at the first recorded output, loss or gradient that is infinite or NaN.
/// The message names the layer and the operation:
///
///   decoder.3.out: the output of linear, shape (64, 13, 64), holds NaN
///   decoder.3.norm: the gradient that the backward of layer_norm gives input 0, shape (64, 13, 64), holds inf
///
/// Infinities of a mask are no fault: those that masked_fill() sets, and those that an operation passes on from a constant or
/// from a recorded input with their sign. Checks nest. Each recorded operation reads its output once more.
class FiniteCheck {
 public:
  [[nodiscard]] FiniteCheck();
  ~FiniteCheck();
  FiniteCheck(const FiniteCheck&) = delete;
  FiniteCheck& operator=(const FiniteCheck&) = delete;

  /// Returns whether one is open on this thread.
  static bool is_open();

  // For the tape.
  static void check_output(const Operation& operation, std::span<const Tensor* const> inputs, const Tensor& output);
  static void check_gradient(const Operation& operation, std::size_t input, const Tensor& gradient);
  static void check_loss(const Tensor& loss);

 private:
  bool before_;
};

}  // namespace heed
