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

// An input of a gradient-check sample: how its float64 values are drawn.
struct Argument {
  // What the derivative allows.
  enum class Values {
    any,       // uniform in [-2, 2)
    positive,  // uniform in [0.5, 2)
    nonzero,   // 0.3 <= |x| < 2, the first positive, for a kink at 0
    distinct,  // a shuffled grid with gaps of 0.1, for choices such as max
  };
  Shape shape;
  Values values = Values::any;
};

// One call of an operation whose gradient is checked.
struct GradientSample {
  std::string name;
  std::vector<Argument> arguments;
  std::function<Tensor(const std::vector<Tensor>&)> function;
  bool gradient_is_zero = false;  // known to be zero everywhere, so a scaled gradient cannot be told apart
};

// What an operation must bring to exist: samples to check its gradient on, or a written reason for having none.
class Samples {
 public:
  // From a lambda without captures.
  using Make = std::vector<GradientSample> (*)();
  template <class Lambda>
  requires std::is_convertible_v<Lambda, Make> Samples(Lambda make) : make_(make) {}
  static Samples none(const char* reason) { return Samples(reason); }

  // None, with the reason, or all.
  std::vector<GradientSample> all() const { return make_ ? make_() : std::vector<GradientSample>{}; }
  const char* reason_for_none() const { return reason_; }

 private:
  explicit Samples(const char* reason) : reason_(reason) {}
  Make make_ = nullptr;
  const char* reason_ = nullptr;
};

enum class Broadcasting { no, yes };  // yes: the recorder sums gradients over broadcast axes

// A differentiable operation: one object of static lifetime, beside the function that computes it.
//
//   // y = x^3         dx = 3 dy x^2
//   static const Operation cube_operation("cube", [] { return unary_samples(cube); });  // autograd/gradcheck/samples.h
//   Tensor cube(const Tensor& x) {
//     const Tensor X = x.detach();  // so that what is computed with it is not recorded
//     return record(cube_operation, {&x}, X * X * X, [X](const Tensor& dy) { return std::vector{3 * dy * square(X)}; });
//   }
class Operation {
 public:
  Operation(const char* name, Samples samples, Broadcasting broadcasting = Broadcasting::no);
  Operation(const Operation&) = delete;

  // As it was declared.
  const char* name() const { return name_; }
  const Samples& samples() const { return samples_; }
  bool broadcasts() const { return broadcasting_ == Broadcasting::yes; }

 private:
  const char* name_;
  Samples samples_;
  Broadcasting broadcasting_;
};

// Every operation in the program.
const std::vector<const Operation*>& operations();

// Which inputs of an operation need a gradient; a backward may leave the others undefined.
class NeedsInputGrad {
 public:
  // inputs: the number of each one's node in the recording, negative for a constant
  NeedsInputGrad(const std::int64_t* inputs, std::unique_ptr<Tensor>* total) : inputs_(inputs), total_(total) {}
  bool operator[](std::size_t input) const { return inputs_[input] >= 0; }

  // For an operation of one input: the sum of the gradients that its other uses have given so far. The backward adds to
  // it in its own memory and returns it. Contiguous; undefined when there is none, or when another handle sees it.
  Tensor take_total() const;

 private:
  const std::int64_t* inputs_;
  std::unique_ptr<Tensor>* total_;  // null: not of one input
};

// dL/d(output) -> dL/d(input) for each input in order. Called any number of times, with the same result each time.
class Backward {
 public:
  virtual ~Backward() = default;
  // One gradient for each input, undefined where none is needed.
  virtual std::vector<Tensor> operator()(const Tensor& dy, const NeedsInputGrad& needs_input_grad) const = 0;
  virtual std::unique_ptr<Backward> clone() const = 0;  // copies each tensor that it holds
};

// In the order in which backward gives their gradients.
using Inputs = std::initializer_list<const Tensor*>;

// The functions of record() below that are no template; an operation calls record().
class Recorder {
 public:
  // Charges the time to an open Profile; tells whether there is a tape for it; appends a node.
  static void note(const Operation& operation, std::span<const Tensor* const> inputs, const Tensor& output);
  static bool depends_on_variable(const Operation& operation, std::span<const Tensor* const> inputs);
  static Tensor record(const Operation& operation, std::span<const Tensor* const> inputs, const Tensor& output,
                       const Backward& backward);
  /// Returns whether `input` gets no gradient, so that a closure need not hold what only that takes.
  static bool is_constant(const Tensor& input);
};

// Returns `output`, recorded as operation(inputs) when a recording is open and an input depends on a variable.
// `backward` is called as (dy, needs_input_grad) or (dy). It holds what it captured by value, and nothing else;
// when a tensor among that is written before backward, backward() is an Error.
template <class Function>
Tensor record(const Operation& operation, std::span<const Tensor* const> inputs, const Tensor& output,
              Function backward) {
  Recorder::note(operation, inputs, output);
  if (!Recorder::depends_on_variable(operation, inputs)) return output;
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

// The same for inputs that are written out.
template <class Function>
Tensor record(const Operation& operation, Inputs inputs, const Tensor& output, Function backward) {
  return record(operation, std::span<const Tensor* const>(inputs.begin(), inputs.size()), output, std::move(backward));
}

}  // namespace heed
