#pragma once
#include <heed/autograd/tensor.h>

#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace heed {

/// An input of a gradient-check sample: how its float64 values are drawn.
struct Argument {
  /// The values that the derivative allows.
  enum class Values {
    any,       ///< uniform in [-2, 2)
    positive,  ///< uniform in [0.5, 2)
    nonzero,   ///< 0.3 <= |x| < 2, the first positive, for a kink at 0
    distinct,  ///< a shuffled grid with gaps of 0.1, for choices such as max
  };
  Shape shape;
  Values values = Values::any;
};

/// One call of an operation, whose gradient is checked.
struct GradientSample {
  std::string name;
  std::vector<Argument> arguments;
  std::function<Tensor(const std::vector<Tensor>&)> function;
  bool gradient_is_zero = false;  ///< zero everywhere, so scaling the gradient cannot make the check fail
};

/// The samples on which an operation's gradient is checked, or a written reason for leaving them out. An Operation needs one
/// of the two.
class Samples {
 public:
  /// A lambda without captures.
  using Make = std::vector<GradientSample> (*)();
  template <class Lambda>
  requires std::is_convertible_v<Lambda, Make> Samples(Lambda make) : make_(make) {}  ///< takes a lambda
  /// Returns no samples, for this reason.
  static Samples none(const char* reason) { return Samples(reason); }

  /// Returns all samples.
  std::vector<GradientSample> all() const { return make_ ? make_() : std::vector<GradientSample>{}; }
  /// Returns the reason given to none(), or nullptr.
  const char* reason_for_none() const { return reason_; }

 private:
  explicit Samples(const char* reason) : reason_(reason) {}
  Make make_ = nullptr;
  const char* reason_ = nullptr;
};

/// Whether the recorder sums gradients over broadcast axes.
enum class Broadcasting { no, yes };

/// A differentiable operation: one object of static lifetime, beside the function that computes it.
///
///     // y = x^3         dx = 3 dy x^2
///     static const Operation cube_operation("cube", [] { return unary_samples(cube); });  // autograd/gradcheck/samples.h
///     Tensor cube(const Tensor& x) {
///       const Tensor X = x.detach();  // its products are then not recorded
///       return record(cube_operation, {&x}, X * X * X, [X](const Tensor& dy) { return std::vector{3 * dy * square(X)}; });
///     }
class Operation {
 public:
  /// Registers the operation.
  Operation(const char* name, Samples samples, Broadcasting broadcasting = Broadcasting::no);
  Operation(const Operation&) = delete;

  /// Returns the name for messages and profiles.
  const char* name() const { return name_; }
  /// Returns the samples of the gradient check.
  const Samples& samples() const { return samples_; }
  /// Returns whether the recorder sums gradients over broadcast axes.
  bool broadcasts() const { return broadcasting_ == Broadcasting::yes; }

 private:
  const char* name_;
  Samples samples_;
  Broadcasting broadcasting_;
};

/// Returns every operation in the program.
const std::vector<const Operation*>& operations();

/// Tells a backward which inputs need a gradient. The backward may leave the others undefined.
class NeedsInputGrad {
 public:
  /// `inputs` holds the number of each input's node in the recording, negative for a constant.
  NeedsInputGrad(const std::int64_t* inputs, std::unique_ptr<Tensor>* total) : inputs_(inputs), total_(total) {}
  /// Returns whether this input needs a gradient.
  bool operator[](std::size_t input) const { return inputs_[input] >= 0; }

  /// Takes the sum of the input's gradients from other uses so far; for operations with one input. The backward adds to it in
  /// place and returns it. The sum is contiguous. It is undefined before the first gradient, or if another handle shares it.
  Tensor take_total() const;

 private:
  const std::int64_t* inputs_;
  std::unique_ptr<Tensor>* total_;  // null for operations with several inputs
};

/// Computes dL/d(input) for each input in order from dL/d(output). Each call gives the same result.
class Backward {
 public:
  virtual ~Backward() = default;
  /// Returns one gradient for each input; it may be undefined for an input that needs none.
  virtual std::vector<Tensor> operator()(const Tensor& dy, const NeedsInputGrad& needs_input_grad) const = 0;
  /// Copies the closure, and so each tensor that it holds.
  virtual std::unique_ptr<Backward> clone() const = 0;
};

/// The inputs, in the order in which a backward returns their gradients.
using Inputs = std::initializer_list<const Tensor*>;

/// The non-template part of record().
class Recorder {
 public:
  /// Adds the time to an open Profile.
  static void note(const Operation& operation, std::span<const Tensor* const> inputs, const Tensor& output);
  /// The part of an operation in the open recording: none; none, with a result that is marked because it was computed from
  /// gradients, which backward() refuses; or a node.
  enum class Part { none, of_gradients, recorded };
  /// Returns the operation's part.
  static Part part_of(const Operation& operation, std::span<const Tensor* const> inputs);
  /// Returns `x` marked as computed from gradients.
  static Tensor of_gradients(Tensor x);
  /// Appends a node. Returns `output` as its result.
  static Tensor record(const Operation& operation, std::span<const Tensor* const> inputs, const Tensor& output,
                       const Backward& backward);
  /// Returns whether an operation on `x` would be recorded now.
  static bool follows(const Tensor& x);
  /// Returns whether `input` gets no gradient. A closure then need not hold the tensors that only this gradient reads.
  static bool is_constant(const Tensor& input);
};

/// Returns `output`, recorded as operation(inputs) if a recording is open and an input depends on a variable. `backward` is
/// called as (dy, needs_input_grad) or (dy), and must capture by value. backward() throws Error if a captured tensor was
/// written since. Throws Error for an output that is recorded itself: compute it from the detach() of the inputs.
template <class Function>
Tensor record(const Operation& operation, std::span<const Tensor* const> inputs, const Tensor& output,
              Function backward) {
  Recorder::note(operation, inputs, output);
  const Recorder::Part part = Recorder::part_of(operation, inputs);
  if (part == Recorder::Part::of_gradients) return Recorder::of_gradients(output);
  if (part == Recorder::Part::none) return output;
  struct Closure final : Backward {
    explicit Closure(Function f) : function(std::move(f)) {}
    std::vector<Tensor> operator()(const Tensor& dy, const NeedsInputGrad& needs_input_grad) const override {
      if constexpr (std::is_invocable_v<const Function&, const Tensor&, const NeedsInputGrad&>) {
        return function(dy, needs_input_grad);
      } else {
        return function(dy);
      }
    }
    std::unique_ptr<Backward> clone() const override { return std::make_unique<Closure>(*this); }
    Function function;
  };
  return Recorder::record(operation, inputs, output, Closure(std::move(backward)));
}

/// Does the same for a list of inputs: record(operation, {&a, &b}, ...).
template <class Function>
Tensor record(const Operation& operation, Inputs inputs, const Tensor& output, Function backward) {
  return record(operation, std::span<const Tensor* const>(inputs.begin(), inputs.size()), output, std::move(backward));
}

}  // namespace heed
