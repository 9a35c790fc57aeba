#pragma once
#include <heed/autograd/array.h>
#include <heed/autograd/tensor.h>

#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <tuple>
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
  /// A function, or a lambda without captures.
  using Make = std::vector<GradientSample> (*)();
  template <class Lambda>
  requires std::is_convertible_v<Lambda, Make> Samples(Lambda make) : make_(make) {}  ///< takes one
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

/// Options of an Operation.
struct OperationOptions {
  bool broadcasts = false;          ///< whether the recorder sums gradients over broadcast axes
  const char* no_second = nullptr;  ///< reason why the second derivative is missing
};

/// A differentiable operation: one object of static lifetime, beside the function that computes it.
///
///     static const Operation cube_operation("cube", "y = x^3", "dx = 3 dy x^2",
///                                           [] { return unary_samples(cube); });  // autograd/gradcheck/samples.h
///     Tensor cube(const Tensor& x) {
///       const Tensor v = x.detach();  // its products are then not recorded
///       return record(cube_operation, {&x}, v * v * v, Saved(x),
///                     Recordable([](const Tensor& dy, const Tensor& X) { return std::vector{3 * dy * square(X)}; }));
///     }
///
/// The gradient check covers the second derivative too. An operation has none if its backward is not Recordable.
class Operation {
 public:
  /// Registers the operation. `formula` gives the output and `derivative` the gradients of the inputs, for readers.
  Operation(const char* name, const char* formula, const char* derivative, Samples samples,
            const OperationOptions& options = {});
  Operation(const Operation&) = delete;

  /// Returns the name for messages and profiles.
  const char* name() const { return name_; }
  /// Returns what the operation computes: "y = x^3".
  const char* formula() const { return formula_; }
  /// Returns what its backward computes: "dx = 3 dy x^2".
  const char* derivative() const { return derivative_; }
  /// Returns the samples of the gradient check.
  const Samples& samples() const { return samples_; }
  /// Returns whether the recorder sums gradients over broadcast axes.
  bool broadcasts() const { return options_.broadcasts; }
  /// Returns why the operation has no second derivative, or nullptr.
  const char* reason_for_no_second() const { return options_.no_second; }

 private:
  const char *name_, *formula_, *derivative_;
  Samples samples_;
  OperationOptions options_;
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
  /// Takes the same sum, or returns zeros of this shape, to which the backward adds.
  Tensor take_total_or_zeros(const Shape& shape, DType dtype) const;
  /// Returns an input as the recording knows it, of shape () and without numbers. A recorded backward may pass it to record() for an
  /// output that it knows without reading the input.
  Tensor input_without_numbers(std::size_t input) const;

 private:
  const std::int64_t* inputs_;
  std::unique_ptr<Tensor>* total_;  // null for operations with several inputs
};

/// Whether a backward may keep a T besides tensors: values without memory of their own, arrays of integers, vectors of numbers
/// and strings. Specialise it for a type of your own that holds no Tensor.
template <class T>
inline constexpr bool holds_no_tensor = std::is_trivially_destructible_v<T> && !std::is_pointer_v<T>;
template <class T>
inline constexpr bool holds_no_tensor<Array<T>> = true;
template <class T>
inline constexpr bool holds_no_tensor<std::vector<T>> = std::is_arithmetic_v<T>;
template <>
inline constexpr bool holds_no_tensor<std::string> = true;

/// A type that Saved can hold.
template <class T>
concept Savable = std::is_same_v<T, Tensor> || std::is_same_v<T, std::vector<Tensor>> || holds_no_tensor<T>;

/// The values that a backward reads besides dy: Saved(x, y). The recording keeps copies, and backward() throws Error if a tensor in it was
/// written since. A tensor may be undefined. It holds references: make it in the call of record().
template <Savable... Ts>
struct Saved {
  /// Refers to the tensors.
  explicit Saved(const Ts&... all) : values(all...) {}
  Saved(const Saved&) = delete;
  std::tuple<const Ts&...> values;  ///< in the order of the backward's parameters
};

/// Marks a backward that computes with operations alone, from dy, the saved inputs and the saved output. backward() with
/// {.record = true} records it, so that the operation has derivatives of any order:
///
///     return record(exp_operation, {&x}, y, Saved(y),
///                   Recordable([](const Tensor& dy, const Tensor& Y) { return std::vector{dy * Y}; }));
///
/// A saved tensor that is an input or the output is then part of the recording. backward() throws Error for another one, since it
/// cannot know how that depends on the inputs. As the second function of record(), beside a first one that is a kernel, a
/// Recordable may leave such tensors unused, or use those that do not depend on the inputs.
template <class Function>
struct Recordable : Function {
  /// Marks `function`.
  explicit Recordable(Function function) : Function(std::move(function)) {}
};

template <class Function>
inline constexpr bool is_recordable = false;
template <class Function>
inline constexpr bool is_recordable<Recordable<Function>> = true;

/// A backward of an operation that saves values of types Ts. It returns dL/d(input) for each input in order, from dL/dy; a
/// gradient may be undefined for an input that needs none. Each call gives the same result. It is called as (dy, saved...) or as
/// (dy, needs_input_grad, saved...). It captures numbers, by value; tensors come through Saved, so that the recording knows them.
template <class Function, class... Ts>
concept BackwardOf =
    std::is_trivially_destructible_v<Function> &&  // false: it captures a tensor; pass that in Saved(...)
    std::is_standard_layout_v<Function> &&         // false: it captures by reference; capture numbers by value
    (std::is_invocable_r_v<std::vector<Tensor>, const Function&, const Tensor&, const Ts&...> ||
     std::is_invocable_r_v<std::vector<Tensor>, const Function&, const Tensor&, const NeedsInputGrad&, const Ts&...>);

/// A backward and its saved values, in a recording.
class Backward {
 public:
  /// How a recorded backward gets the gradients: not at all; from operator(), which is Recordable; or from recorded().
  enum class Record { never, same, other };

  virtual ~Backward() = default;
  /// Returns one gradient for each input.
  virtual std::vector<Tensor> operator()(const Tensor& dy, const NeedsInputGrad& needs_input_grad) const = 0;
  /// Appends the saved tensors to `tensors`.
  virtual void list_saved(std::vector<Tensor*>& tensors) = 0;
  /// Returns how the gradients are recorded.
  virtual Record record() const { return Record::never; }
  /// Returns the gradients for Record::other, computed with operations alone.
  virtual std::vector<Tensor> recorded(const Tensor& /*dy*/, const NeedsInputGrad& /*needs_input_grad*/) const {
    return {};
  }
};

/// The inputs, in the order in which a backward returns their gradients. An undefined tensor stands for an input that the call
/// leaves out.
using Inputs = std::initializer_list<const Tensor*>;

class Gradients;

/// The non-template part of record().
class Recorder {
 public:
  /// Adds the time to an open Profile.
  static void note(const Operation& operation, std::span<const Tensor* const> inputs, const Tensor& output);
  /// The part of an operation in the open recording: none; none, with a result that is marked because it was computed from
  /// gradients, which backward() refuses; or a node.
  enum class Part { none, of_gradients, recorded };
  /// Returns a tensor at this node of the open recording, without numbers; a constant for a negative number.
  static Tensor at_node(std::int64_t node);
  /// Returns the operation's part.
  static Part part_of(const Operation& operation, std::span<const Tensor* const> inputs);
  /// Returns `x` marked as computed from gradients.
  static Tensor of_gradients(Tensor x);
  /// Sets a gradient as it is: recorded, marked, or a constant.
  static void set(Gradients& gradients, const Tensor& variable, Tensor gradient);
  /// Appends a node. Returns `output` as its result.
  static Tensor record(const Operation& operation, std::span<const Tensor* const> inputs, const Tensor& output,
                       std::unique_ptr<Backward> backward);
  /// Returns the gradients of sum(dy f(inputs)) with respect to the inputs, for a Recordable of a fused operation: f is its
  /// composition of other operations, which it records. An undefined input stays undefined.
  static std::vector<Tensor> gradients_of(const std::function<Tensor(const std::vector<Tensor>&)>& f,
                                          const std::vector<Tensor>& inputs, const Tensor& dy);
  /// Returns whether an operation on `x` would be recorded now.
  static bool follows(const Tensor& x);
  /// Returns whether a Recording that is open on another thread recorded `x`.
  static bool is_of_other_thread(const Tensor& x);
  /// Returns whether `input` gets no gradient. An operation then need not save the tensors that only this gradient reads.
  static bool is_constant(const Tensor& input);
  /// Returns what the open recording saved for each use of `operation`: "input 0", "its output" or "other".
  static std::vector<std::string> saved(const Operation& operation);
  /// Returns whether each use of `operation` in the open recording has a backward that can be recorded.
  static bool can_record_backward(const Operation& operation);
};

namespace detail {

template <class Function, class... Ts>
std::vector<Tensor> gradients(const Function& function, const Tensor& dy, const NeedsInputGrad& needs_input_grad,
                              const std::tuple<Ts...>& values) {
  return std::apply(
      [&](const Ts&... value) {
        if constexpr (std::is_invocable_v<const Function&, const Tensor&, const NeedsInputGrad&, const Ts&...>) {
          return function(dy, needs_input_grad, value...);
        } else {
          return function(dy, value...);
        }
      },
      values);
}

template <class Function, class... Ts>
struct SavedBackward : Backward {
  SavedBackward(const Saved<Ts...>& all, Function f) : values(all.values), function(f) {}
  std::vector<Tensor> operator()(const Tensor& dy, const NeedsInputGrad& needs_input_grad) const final {
    return gradients(function, dy, needs_input_grad, values);
  }
  void list_saved(std::vector<Tensor*>& tensors) final {
    const auto list = [&]<class T>(T& value) {
      if constexpr (std::is_same_v<T, Tensor>) tensors.push_back(&value);
      if constexpr (std::is_same_v<T, std::vector<Tensor>>) {
        for (Tensor& tensor : value) tensors.push_back(&tensor);
      }
    };
    std::apply([&](Ts&... value) { (list(value), ...); }, values);
  }
  Record record() const override { return is_recordable<Function> ? Record::same : Record::never; }
  std::tuple<Ts...> values;
  Function function;
};

template <class Function, class Second, class... Ts>
struct WithSecond final : SavedBackward<Function, Ts...> {
  WithSecond(const Saved<Ts...>& all, Function f, Second s) : SavedBackward<Function, Ts...>(all, f), second(s) {}
  Backward::Record record() const override { return Backward::Record::other; }
  std::vector<Tensor> recorded(const Tensor& dy, const NeedsInputGrad& needs_input_grad) const override {
    return gradients(second, dy, needs_input_grad, this->values);
  }
  Second second;
};

// Returns `output`, recorded with make() as its backward if a recording is open and an input depends on a variable.
Tensor record(const Operation& operation, std::span<const Tensor* const> inputs, const Tensor& output, auto make) {
  Recorder::note(operation, inputs, output);
  const Recorder::Part part = Recorder::part_of(operation, inputs);
  if (part == Recorder::Part::of_gradients) return Recorder::of_gradients(output);
  return part == Recorder::Part::none ? output : Recorder::record(operation, inputs, output, make());
}

}  // namespace detail

/// Returns `output`, recorded as operation(inputs) if a recording is open and an input depends on a variable. backward() passes
/// what is `saved` to `backward`. Throws Error for an output that is recorded itself: compute it from the detach() of the inputs.
template <class... Ts, BackwardOf<Ts...> Function>
Tensor record(const Operation& operation, std::span<const Tensor* const> inputs, const Tensor& output,
              const Saved<Ts...>& saved, Function backward) {
  return detail::record(operation, inputs, output,
                        [&] { return std::make_unique<detail::SavedBackward<Function, Ts...>>(saved, backward); });
}

/// Does the same for an operation whose backward is a kernel. A recorded backward calls `second`, which computes the same gradients
/// with operations alone.
template <class... Ts, BackwardOf<Ts...> Function, BackwardOf<Ts...> Second>
Tensor record(const Operation& operation, std::span<const Tensor* const> inputs, const Tensor& output,
              const Saved<Ts...>& saved, Function backward, Recordable<Second> second) {
  return detail::record(operation, inputs, output, [&] {
    return std::make_unique<detail::WithSecond<Function, Recordable<Second>, Ts...>>(saved, backward, second);
  });
}

/// Does the same for a list of inputs: record(operation, {&a, &b}, ...).
template <class... Ts, BackwardOf<Ts...>... Functions>
Tensor record(const Operation& operation, Inputs inputs, const Tensor& output, const Saved<Ts...>& saved,
              Functions... functions) {
  return record(operation, std::span<const Tensor* const>(inputs.begin(), inputs.size()), output, saved, functions...);
}

}  // namespace heed
