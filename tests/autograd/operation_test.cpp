#include "tests/autograd/helpers.h"

#include <heed/autograd/gradcheck/check.h>

#include <algorithm>
#include <map>
#include <set>
#include <type_traits>

using namespace heed;

// Each operation must have a formula, a derivative, and samples for its gradient check or a reason for having none.
static_assert(std::is_constructible_v<Operation, const char*, const char*, const char*, Samples>);
static_assert(!std::is_constructible_v<Operation, const char*, Samples>);
static_assert(!std::is_constructible_v<Operation, const char*, const char*, const char*>);
static_assert(!std::is_constructible_v<Operation, const char*, const char*, const char*, const char*>);
static_assert(!std::is_default_constructible_v<Samples>);

namespace {

using Tensors = std::vector<Tensor>;

// A way to reach a sample's inputs from variables of other shapes.
struct Variant {
  std::string name;
  std::vector<Argument> variables;
  std::function<Tensors(const Tensors&)> inputs;
};

Shape reversed(const Shape& shape) {
  Shape result = shape;
  std::reverse_copy(shape.begin(), shape.end(), &result[0]);
  return result;
}

Tensor reverse_axes(const Tensor& x) {
  std::vector<int> axes(static_cast<std::size_t>(x.rank()));
  std::iota(axes.rbegin(), axes.rend(), 0);
  return permute(x, axes);
}

// f(variable, argument) on every input.
template <class F>
std::function<Tensors(const Tensors&)> each(const std::vector<Argument>& arguments, F f) {
  return [arguments, f](const Tensors& x) {
    Tensors result;
    for (std::size_t i = 0; i < x.size(); ++i) result.push_back(f(x[i], arguments[i].shape));
    return result;
  };
}

Variant permuted(std::vector<Argument> arguments) {
  const auto inputs = each(arguments, [](const Tensor& x, const Shape&) { return reverse_axes(x); });
  for (Argument& argument : arguments) {
    if (argument.shape.rank() > 1) argument.shape = reversed(argument.shape);
  }
  return {"permuted", arguments, inputs};
}

Variant sliced(std::vector<Argument> arguments) {
  const auto inputs = each(arguments, [](const Tensor& x, const Shape& shape) {
    if (shape.rank() == 0) return x;
    const Tensor rows = shape.rank() > 1 ? slice(x, 0, 1, 1 + shape[0]) : x;
    return slice(rows, -1, 0, 2 * shape[-1], 2);
  });
  for (Argument& argument : arguments) {
    if (argument.shape.rank() > 1) argument.shape[0] += 1;
    if (argument.shape.rank() > 0) argument.shape[-1] *= 2;
  }
  return {"sliced", arguments, inputs};
}

Variant reshaped(std::vector<Argument> arguments) {
  const auto inputs = each(arguments, [](const Tensor& x, const Shape& shape) { return reshape(x, shape); });
  for (Argument& argument : arguments) argument.shape = {argument.shape.numel()};
  return {"reshaped", arguments, inputs};
}

// Input `which` has stride 0 along its first axis that is longer than 1.
std::vector<Variant> repeated(const std::vector<Argument>& arguments) {
  std::vector<Variant> variants;
  for (std::size_t which = 0; which < arguments.size(); ++which) {
    const Shape shape = arguments[which].shape;
    const std::int64_t* longer = std::find_if(shape.begin(), shape.end(), [](auto n) { return n > 1; });
    if (longer == shape.end() || arguments[which].values == Argument::Values::distinct) continue;
    Variant variant{fmt::format("input {} with stride 0", which), arguments, [which, shape](Tensors x) {
                      x[which] = broadcast_to(x[which], shape);
                      return x;
                    }};
    variant.variables[which].shape[static_cast<int>(longer - shape.begin())] = 1;
    variants.push_back(variant);
  }
  return variants;
}

// Every input of one shape is one and the same tensor.
std::vector<Variant> shared(const std::vector<Argument>& arguments) {
  std::vector<std::size_t> source;
  std::vector<Argument> variables;
  for (const Argument& argument : arguments) {
    const auto same = [&](const Argument& other) { return other.shape == argument.shape; };
    const auto found = std::find_if(variables.begin(), variables.end(), same);
    source.push_back(static_cast<std::size_t>(found - variables.begin()));
    if (found == variables.end()) variables.push_back(argument);
    if (argument.values != Argument::Values::any) variables[source.back()].values = argument.values;
  }
  if (variables.size() == arguments.size()) return {};
  return {{"one tensor for all of a shape", variables, [source](const Tensors& x) {
             Tensors result;
             for (const std::size_t i : source) result.push_back(x[i]);
             return result;
           }}};
}

std::vector<Variant> variants(const std::vector<Argument>& arguments) {
  std::vector<Variant> all = repeated(arguments);
  for (const Variant& variant : shared(arguments)) all.push_back(variant);
  all.push_back(permuted(arguments));
  all.push_back(sliced(arguments));
  all.push_back(reshaped(arguments));
  return all;
}

bool passes(const GradientSample& sample, const Variant& variant, double scale, std::string* worst = nullptr) {
  Random random(std::hash<std::string>{}(sample.name + variant.name));
  Tensors x;
  for (const Argument& argument : variant.variables) x.push_back(draw(argument, random));
  const auto function = [&](const Tensors& v) { return sample.function(variant.inputs(v)); };
  const CheckReport report = check_gradients(function, x, {.scale_gradient = scale});
  if (worst) {
    *worst =
        fmt::format("{}: computed {}, expected {}", report.worst.where, report.worst.computed, report.worst.expected);
  }
  return report.passed;
}

bool is_empty(const GradientSample& sample) {  // the Jacobian is empty
  Random random(0);
  Tensors x;
  bool no_inputs = true;
  for (const Argument& argument : sample.arguments) {
    x.push_back(draw(argument, random));
    no_inputs = no_inputs && argument.shape.numel() == 0;
  }
  return no_inputs || sample.function(x).numel() == 0;
}

void check_sample(const GradientSample& sample) {
  std::string worst;
  const Variant plain{"contiguous", sample.arguments, [](const Tensors& x) { return x; }};
  INFO("sample " << sample.name);
  if (!passes(sample, plain, 1, &worst)) FAIL_CHECK(worst);
  const bool blind = passes(sample, plain, 1.01);
  CHECK(blind == (sample.gradient_is_zero || is_empty(sample)));
  for (const Variant& variant : variants(sample.arguments)) {
    INFO(variant.name);
    if (!passes(sample, variant, 1, &worst)) FAIL_CHECK(worst);
    // A view may make the gradient zero, as of x / x; then the check passes without any gradient too.
    if (passes(sample, variant, 1.01)) CHECK(passes(sample, variant, 0));
  }
}

}  // namespace

TEST_CASE("The gradient of every operation equals its derivative for any layout of its inputs") {
  const Threads one(1);  // the products are tiny; cpu/thread_pool_test.cpp shows that results do not depend on it
  for (const Operation* operation : operations()) {
    DYNAMIC_SECTION("operation " << operation->name()) {
      const std::vector<GradientSample> samples = operation->samples().all();
      if (samples.empty()) {
        const char* reason = operation->samples().reason_for_none();
        CHECK((reason && std::string(reason).size() > 10));
      }
      for (const GradientSample& sample : samples) check_sample(sample);
    }
  }
}

TEST_CASE("An input has the same gradient when the other inputs are constants") {
  const Threads one(1);
  for (const Operation* operation : operations()) {
    for (const GradientSample& sample : operation->samples().all()) {
      if (sample.arguments.size() < 2 || is_empty(sample)) continue;
      INFO(operation->name() << ", " << sample.name);
      Random random(7);
      Tensors x;
      for (const Argument& argument : sample.arguments) x.push_back(variable(draw(argument, random)));
      const auto gradient = [&](const Tensors& inputs, const Tensor& input) {
        const Recording recording;
        const Tensor y = sample.function(inputs);
        return backward(y, uniform(y.shape(), random = Random(8)))[input];
      };
      for (std::size_t i = 0; i < x.size(); ++i) {
        Tensors alone;
        for (const Tensor& constant : x) alone.push_back(constant.detach());
        alone[i] = x[i];
        CHECK(same_bits(gradient(alone, x[i]), gradient(x, x[i])));
      }
    }
  }
}

TEST_CASE("backward accepts an output gradient in any layout") {
  const Threads one(1);
  for (const Operation* operation : operations()) {
    for (const GradientSample& sample : operation->samples().all()) {
      INFO(operation->name() << ", " << sample.name);
      Random random(9);
      Tensors x;
      for (const Argument& argument : sample.arguments) x.push_back(variable(draw(argument, random)));
      const Recording recording;
      const Tensor y = sample.function(x);
      if (y.tape_node().recording == 0) continue;
      const Tensor dy = uniform(y.shape(), random), turned = reverse_axes(reverse_axes(dy).clone());
      const Gradients dense = backward(y, dy), other = backward(y, turned);
      for (const Tensor& input : x) {
        if (dense.contains(input)) CHECK(distance(dense[input], other[input]) < 1e-12);
      }
    }
  }
}

namespace {

void write_nan(const Tensor& x) {
  Tensor all = x.detach();
  for (int axis = 0; axis < all.rank(); ++axis) {  // those that share memory, once
    if (all.strides()[axis] == 0) all = slice(all, axis, 0, 1);
  }
  dispatch(x.dtype(), [&]<class T>() {
    T* values = all.mutable_data<T>();
    for_each_index(all.shape(),
                   [&](const Shape& i) { values[offset(i, all.strides())] = static_cast<T>(std::nan("")); });
  });
}

// Adds the tensors ("input 0", "output") that backward rejects after a write. Writing any other tensor must not change
// the gradients.
void note_kept(const GradientSample& sample, std::set<std::string>& kept) {
  Random random(1);
  Tensors variables;
  for (const Argument& argument : sample.arguments) variables.push_back(variable(draw(argument, random)));
  const std::size_t count = variables.size();
  Tensors expected;
  for (std::size_t written = 0; written <= count + 1; ++written) {  // 0: none
    Random cotangents(2);
    const Recording recording;
    Tensors x;
    for (const Tensor& v : variables) x.push_back(v + 0);  // recorded, and not itself a variable
    const Tensor y = sample.function(x);
    if (y.numel() == 0) return;
    if (written > 0) write_nan(written <= count ? x[written - 1] : y);
    try {
      const Gradients gradients = backward(y, uniform(y.shape(), cotangents));
      for (std::size_t i = 0; i < count; ++i) {
        if (written == 0) expected.push_back(gradients[variables[i]]);
        CHECK(same_bits(gradients[variables[i]], expected[i]));
      }
    } catch (const Error& error) {
      CHECK(std::string(error.what()).find(" was written after the operation") != std::string::npos);
      kept.insert(written <= count ? fmt::format("input {}", written - 1) : "output");
    }
  }
}

}  // namespace

TEST_CASE("Each operation keeps only the tensors that its gradient needs, and detects writes to them") {
  const std::map<std::string, std::set<std::string>> expected{
      {"multiply", {"input 0", "input 1"}},
      {"divide", {"input 0", "input 1"}},
      {"divide scalar", {"input 0"}},
      {"exp", {"output"}},
      {"log", {"input 0"}},
      {"sqrt", {"output"}},
      {"square", {"input 0"}},
      {"tanh", {"output"}},
      {"sigmoid", {"output"}},
      {"relu", {"output"}},
      {"gelu", {"input 0"}},
      {"gelu_tanh", {"input 0"}},
      {"abs", {"input 0"}},
      {"sin", {"input 0"}},
      {"cos", {"input 0"}},
      {"erf", {"input 0"}},
      {"log1p", {"input 0"}},
      {"expm1", {"input 0"}},
      {"softplus", {"input 0"}},
      {"silu", {"input 0"}},
      {"swiglu", {"input 0", "input 1"}},
      {"huber_loss", {"input 0", "input 1"}},
      {"bce_with_logits", {"input 0", "input 1"}},
      {"leaky_relu", {"input 0"}},
      {"clamp", {"input 0"}},
      {"power", {"input 0"}},
      {"pow", {"input 0", "input 1", "output"}},
      {"maximum", {"input 0", "input 1"}},
      {"minimum", {"input 0", "input 1"}},
      {"norm", {"input 0", "output"}},
      {"prod", {"input 0"}},
      {"sum of squares", {"input 0"}},
      {"max_pool2d", {"input 0", "output"}},
      {"logsumexp", {"input 0", "output"}},
      {"rms_norm", {"input 0", "input 1"}},
      {"matmul", {"input 0", "input 1"}},
      {"linear", {"input 0", "input 1"}},
      {"lstm", {"input 0", "input 1", "input 2", "input 3", "output"}},
      {"conv2d", {"input 0", "input 1"}},
      {"conv2d weights", {"input 0", "input 1"}},
      {"conv_transpose2d", {"input 0", "input 1"}},
      {"checkpoint", {"input 0", "input 1"}},
      {"softmax", {"output"}},
      {"log_softmax", {"output"}},
      {"layer_norm", {"input 0", "input 1"}},
      {"batch_norm", {"input 0", "input 1"}},
      {"group_norm", {"input 0", "input 1"}},
      {"attention", {"input 0", "input 1", "input 2", "input 3", "output"}}};
  const std::set<std::string> of_both_outputs{"attention weights"};  // its sample joins them: concat keeps no input
  for (const Operation* operation : operations()) {
    INFO("operation " << operation->name());
    std::set<std::string> kept;
    for (const GradientSample& sample : operation->samples().all()) note_kept(sample, kept);
    if (of_both_outputs.contains(operation->name())) continue;
    const auto entry = expected.find(operation->name());
    CHECK(kept == (entry == expected.end() ? std::set<std::string>{} : entry->second));
  }
}

TEST_CASE("A backward that captures a tensor or a reference does not compile") {
  struct Pair {
    Tensor a, b;
  };
  const Tensor x = ones({2});
  const Ids ids({1}, {0});
  const double factor = 2;
  const auto of_number = [factor](const Tensor& dy) { return std::vector{dy * factor}; };
  const auto of_saved = [](const Tensor& dy, const Tensor& saved) { return std::vector{dy * saved}; };
  const auto of_tensor = [x](const Tensor& dy) { return std::vector{dy * x}; };
  const auto of_struct = [pair = Pair{x, x}](const Tensor& dy) { return std::vector{dy * pair.a}; };
  const auto of_reference = [&factor](const Tensor& dy) { return std::vector{dy * factor}; };
  const auto of_ids = [ids](const Tensor& dy) { return std::vector{index_select(dy, ids)}; };
  static_assert(BackwardOf<decltype(of_number)>);
  static_assert(BackwardOf<decltype(of_saved), Tensor>);
  static_assert(!(BackwardOf<decltype(of_saved)>));
  static_assert(!(BackwardOf<decltype(of_saved), Tensor, Tensor>));
  static_assert(!(BackwardOf<decltype(of_tensor)>));
  static_assert(!(BackwardOf<decltype(of_struct)>));
  static_assert(!(BackwardOf<decltype(of_reference)>));
  static_assert(!(BackwardOf<decltype(of_ids)>));
  static_assert(Savable<Tensor> && Savable<Tensors> && Savable<Ids> && Savable<std::vector<int>> && Savable<double>);
  static_assert(!(Savable<Pair> || Savable<std::vector<Pair>> || Savable<std::function<Tensor()>> || Savable<Tensor*>));
}
