#pragma once
#include <heed/autograd/operation.h>
#include <heed/autograd/tensor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace heed {
namespace tape {
struct Tape;
}

/// The tape. While one is open, this thread records every operation that depends on a variable.
///
///     const Recording recording;
///     const Tensor loss = mean(square(layer(x) - y));   // ()
///     const Gradients gradients = backward(loss);
///     optimizer.step(gradients, 0.1);
///
/// A thread has one at a time; opening a second throws Error. Only the backward of an operation may open one of its own, in which it
/// differentiates: that of the loss goes on when it ends. A recorded tensor keeps its value after the recording has ended, but operations
/// reject it then: use its detach().
///
/// Nodes are appended in creation order, which is a topological order. backward() is a loop from the end to the start, and
/// nothing recurses.
///
/// Between the forward pass and backward(), do not write to a variable or to a tensor that a recorded operation holds, directly
/// or through a view: backward() throws Error that names it. Each mutable_data() counts as a write; writes through an older
/// pointer are not detected.
///
/// Thread safety: a recording and its tensors belong to the thread that opened it; operations of other threads reject them.
/// Several threads may each have a recording and share variables while no thread writes the variables.
class Recording {
 public:
  [[nodiscard]] Recording();
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  /// Returns the number of recorded operations and variables.
  std::int64_t size() const;
  /// Returns whether one is open on this thread.
  static bool is_open();

 private:
  tape::Tape* own_;
};

/// While one is open, inside a Recording or outside, this thread records nothing: results are constants. They nest.
class NoRecording {
 public:
  [[nodiscard]] NoRecording();
  ~NoRecording();
  NoRecording(const NoRecording&) = delete;
  NoRecording& operator=(const NoRecording&) = delete;

 private:
  bool before_;
};

/// Holds dL/dv for each variable v that the loss depends on. It is a value: later backward passes do not change it.
///
///     for (const auto& [variable, gradient] : gradients) fmt::print("{} {}\n", variable.name(), gradient);
///     for (auto [variable, gradient] : gradients) gradient *= 0.5;   // the names are references
///
/// Gradients are constants, unless backward() recorded them. Such a constant is contiguous and shares no memory with another tensor, so
/// that you may write into it. backward() throws Error for a loss that was computed inside a Recording
/// from a gradient that was not recorded; take the gradient's detach() to use it as a constant there.
class [[nodiscard]] Gradients {
 public:
  /// Returns the gradient, which has the variable's shape and dtype. Throws Error if it is missing.
  const Tensor& operator[](const Tensor& variable) const&;
  Tensor operator[](const Tensor& variable) && { return std::as_const(*this)[variable]; }  ///< of a temporary: a handle
  void operator[](const std::string&) const = delete;  // by the variable, not by its name: gradients[parameters["W"]]
  /// Returns whether the loss depends on the variable.
  bool contains(const Tensor& variable) const { return find(variable) != nullptr; }
  /// Returns the gradient, or nullptr if it is missing.
  const Tensor* find(const Tensor& variable) const&;
  const Tensor* find(const Tensor& variable) && = delete;  // the gradient would end with the temporary
  /// Replaces the gradient of a variable. Throws Error for another shape or dtype than the variable's. A recorded tensor stays
  /// recorded.
  void set(const Tensor& variable, Tensor gradient);
  /// Adds the gradients of `other`. A variable in only one of the two keeps its gradient.
  Gradients& operator+=(const Gradients& other);
  Gradients& operator+=(Gradients&& other);  ///< takes the gradients of variables that only `other` has
  /// Returns the number of variables.
  std::size_t size() const { return entries_.size(); }

 private:
  friend class Recorder;
  using Entries = std::vector<std::pair<Tensor, Tensor>>;

 public:
  /// A variable and its gradient. Copies refer to the same gradient.
  template <class Gradient>
  struct Entry {
    const Tensor& variable;
    Gradient& gradient;
    /// Refers to both.
    Entry(const Tensor& v, Gradient& g) : variable(v), gradient(g) {}
  };
  /// An input iterator over entries.
  template <class At, class Gradient>
  class Iterator {
   public:
    using value_type = Entry<Gradient>;                                          ///< for standard algorithms
    using difference_type = std::ptrdiff_t;                                      ///< for standard algorithms
    explicit Iterator(At at) : at_(at) {}                                        ///< the entry at `at`
    value_type& operator*() { return entry_.emplace(at_->first, at_->second); }  ///< valid until the iterator moves
    Iterator& operator++() { return ++at_, *this; }                              ///< the next entry
    bool operator==(const Iterator& other) const { return at_ == other.at_; }    ///< whether both are at one entry

   private:
    At at_;
    std::optional<value_type> entry_{};
  };
  /// Iterates over entries (variable, gradient), in the order in which the variables were made.
  auto begin() { return Iterator<Entries::iterator, Tensor>(entries_.begin()); }
  auto end() { return Iterator<Entries::iterator, Tensor>(entries_.end()); }  ///< behind the last entry
  /// Iterates over entries whose gradients are const, in the order in which the
  /// variables were made.
  auto begin() const { return Iterator<Entries::const_iterator, const Tensor>(entries_.begin()); }
  /// Returns the end of these.
  auto end() const { return Iterator<Entries::const_iterator, const Tensor>(entries_.end()); }

 private:
  Entries entries_;  // sorted by the variable's number
};

/// Returns the name of a variable for messages: "parameter 'words.weight' of shape (9, 8)", or "a variable of shape (9, 8)".
std::string described(const Tensor& variable);

/// Options of backward().
struct BackwardOptions {
  /// Records the gradients too, so that a later backward() differentiates what you compute from them: second derivatives. Throws
  /// Error that names an operation whose backward cannot be recorded.
  bool record = false;
};

/// Returns the gradients of a scalar, of shape (), from the open recording. The recording stays valid, so you may call
/// backward() again for this or another output. Throws Error for another shape, for an output from elsewhere, for a gradient
/// that does not match its input, and for a tensor written since it was recorded.
///
///     const Gradients slopes = backward(sum(u), {.record = true});          // autograd/derivatives.h has shorter forms
///     const Gradients gradients = backward(loss + mean(square(slopes[x])));  // a gradient penalty
Gradients backward(const Tensor& loss, const BackwardOptions& options = {});

/// Adds the gradients of `loss` to `total`, in the memory of `total`. Use it to accumulate gradients over the parts of a batch
/// that is too large for one pass. After an Error, discard `total`.
void backward(const Tensor& loss, Gradients& total);

/// Passes the gradient of each variable to `take` as soon as it is final, while the rest of backward is still to come. Variables
/// come in the reverse order of their first use. `take` runs on this thread, and its operations are not recorded.
///
///     backward(loss, [&](const Tensor& variable, Tensor gradient) { send(variable.name(), std::move(gradient)); });
void backward(const Tensor& loss, const std::function<void(const Tensor& variable, Tensor gradient)>& take);

/// Returns the gradients of sum(output * cotangent), which is a vector-Jacobian product. Throws Error if their shapes or
/// dtypes differ. With {.record = true} the gradients depend on the cotangent too.
Gradients backward(const Tensor& output, const Tensor& cotangent, const BackwardOptions& options = {});

/// The error of a value that is infinite or NaN.
struct NotFinite : Error {
  using Error::Error;
};

/// While one is open, this thread throws NotFinite at the first recorded output, loss or gradient that is infinite or NaN.
/// The message names the layer and the operation:
///
///     decoder.3.out: the output of linear, shape (64, 13, 64), holds NaN
///     decoder.3.norm: the gradient that the backward of layer_norm gives input 0, shape (64, 13, 64), holds inf
///
/// It allows the infinities of masks: those that masked_fill() sets, and those that an operation passes on, with their sign,
/// from a constant or a recorded input. Checks nest. While one is open, each recorded operation reads its output once more.
class FiniteCheck {
 public:
  [[nodiscard]] FiniteCheck();
  ~FiniteCheck();
  FiniteCheck(const FiniteCheck&) = delete;
  FiniteCheck& operator=(const FiniteCheck&) = delete;

  /// Returns whether one is open on this thread.
  static bool is_open();

  /// Throw NotFinite; the tape calls them.
  static void check_output(const Operation& operation, std::span<const Tensor* const> inputs, const Tensor& output);
  /// Checks the gradient of one input.
  static void check_gradient(const Operation& operation, std::size_t input, const Tensor& gradient);
  static void check_loss(const Tensor& loss);  ///< checks the loss

 private:
  bool before_;
};

}  // namespace heed
