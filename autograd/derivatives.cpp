#include "autograd/internal/derivatives.h"

#include "autograd/cpu/checks.h"
#include "autograd/internal/tape.h"

#include <heed/autograd/derivatives.h>
#include <heed/autograd/ops.h>

#include <algorithm>
#include <optional>

namespace heed {
namespace {

using tape::Set, tape::thread;

// Computes in the open recording, or in one of its own, whose results are constants.
class Place {
 public:
  Place() : is_open_(thread.tape && !thread.silent && !thread.paused), records_(thread.silent, false) {
    if (!thread.tape || thread.paused) own_.emplace();
  }
  bool is_own() const { return own_.has_value(); }
  Tensor result(const Tensor& x) const { return is_open_ ? x : x.detach(); }

 private:
  bool is_open_;
  std::optional<Recording> own_;
  Set<bool> records_;
};

// Returns a variable in the memory of x, which is not frozen.
Tensor leaf_at(const Tensor& x) { return variable(x.is_frozen() ? x.alias() : x.detach()); }

// Returns x as an input of its own, whose derivative does not include other uses of x.
Tensor input_at(const char* name, const Tensor& x) {
  check_defined(name, {&x});
  return Recorder::follows(x) ? reshape(x, x.shape()) : leaf_at(x);
}

void check_like(const char* name, const char* what, const Tensor& v, const Tensor& x) {
  check_defined(name, {&v});
  if (v.shape() == x.shape() && v.dtype() == x.dtype()) return;
  fail("{}: expected v {} {} as {}, got {} {}", name, to_string(x.dtype()), to_string(x.shape()), what,
       to_string(v.dtype()), to_string(v.shape()));
}

Tensor value(const char* name, const TensorFunction& f, const Tensor& x) {
  if (!f) fail("{}: the function is empty", name);
  const Tensor y = f(x);
  if (!y.defined()) fail("{}: the function gave an undefined tensor", name);
  return y;
}

Tensor scalar(const char* name, const Tensor& y) {
  if (!y.defined() || y.rank() != 0) {
    fail("{}: the function must give a scalar of shape (), got {}", name,
         y.defined() ? to_string(y.shape()) : "an undefined tensor");
  }
  return y;
}

// The gradients of sum(output * cotangent); 0 where the output does not depend on an input.
std::vector<Tensor> gradients(const char* name, const Tensor& output, const Tensor& cotangent,
                              const std::vector<Tensor>& inputs) {
  if (!thread.tape || thread.silent || thread.paused) {
    fail("{}: {}", name,
         thread.silent   ? "a NoRecording is open"
         : thread.paused ? "a backward records nothing; open a Recording in it"
                         : "no Recording is open");
  }
  std::vector<std::int64_t> nodes;
  for (const Tensor& x : inputs) {
    check_defined(name, {&x});
    if (!Recorder::follows(x)) {
      fail("{}: the tensor of shape {} is {}; expected a variable, or the result of an operation of the open Recording",
           name, to_string(x.shape()),
           x.is_frozen()                  ? "frozen"
           : x.tape_node().recording != 0 ? "from a recording that has ended"
                                          : "a constant");
    }
    nodes.push_back(tape::node_of(x));
  }
  std::vector<Tensor> found(inputs.size());
  if (Recorder::follows(output)) found = tape::recorded_gradients(output, cotangent, nodes);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!found[i].defined()) found[i] = zeros(inputs[i].shape(), inputs[i].dtype());
  }
  return found;
}

Tensor gradient(const char* name, const Tensor& output, const Tensor& cotangent, const Tensor& x) {
  return gradients(name, output, cotangent, {x})[0];
}

Tensor one(const Tensor& like) { return ones({}, like.dtype()); }

// All derivatives of y, which was computed from x.
Tensor all_derivatives(const char* name, const Tensor& y, const Tensor& x) {
  Shape shape = y.shape();
  cpu::check_rank(name, y.rank() + x.rank());
  for (const std::int64_t size : x.shape()) shape.append(size);
  if (shape.numel(name) == 0) return zeros(shape, x.dtype());
  std::vector<Tensor> rows;
  for (std::int64_t i = 0; i < y.numel(); ++i) {
    Tensor unit = zeros({y.numel()}, y.dtype());
    dispatch(y.dtype(), [&]<class T>() { unit.mutable_data<T>()[i] = 1; });
    rows.push_back(gradient(name, y, reshape(unit, y.shape()), x));
  }
  return reshape(stack(rows), shape);
}

}  // namespace

std::vector<Tensor> grad(const Tensor& output, const std::vector<Tensor>& x) {
  check_defined("grad", {&output});
  return gradients("grad", output, ones(output.shape(), output.dtype()), x);
}

Tensor grad(const Tensor& output, const Tensor& x) { return grad(output, std::vector{x})[0]; }

tape::ValueAndGradients tape::value_and_gradients(const std::function<Tensor(const std::vector<Tensor>&)>& f,
                                                  const std::vector<Tensor>& x) {
  constexpr const char* name = "value_and_grad";
  const Place place;
  std::vector<Tensor> at;
  for (const Tensor& each : x) {
    check_defined(name, {&each});
    at.push_back(place.is_own() ? leaf_at(each) : input_at(name, each));
  }
  const Tensor y = scalar(name, f(at));
  std::vector<Tensor> found(at.size());
  if (Recorder::follows(y) && place.is_own()) {
    const Gradients all = backward(y);
    for (std::size_t i = 0; i < at.size(); ++i) {
      if (const Tensor* const gradient = all.find(at[i])) found[i] = *gradient;
    }
  } else if (Recorder::follows(y)) {
    std::vector<std::int64_t> nodes;
    for (const Tensor& each : at) nodes.push_back(node_of(each));
    found = recorded_gradients(y, one(y), nodes);
  }
  if (std::ranges::none_of(found, &Tensor::defined)) {
    fail(
        "{}: the value of the function does not depend on the arguments that are differentiated, or not by functions "
        "of heedml alone. Other tensors that it reads are constant, such as the parameters of a layer from outside: "
        "Scope(argument) makes a layer of an argument, and a Recording with backward() gives the gradients of "
        "variables",
        name);
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!found[i].defined()) found[i] = zeros(at[i].shape(), at[i].dtype());
    if (place.is_own()) continue;
    // a gradient that does not depend on the input has the derivative 0
    if (!Recorder::follows(found[i])) found[i] = found[i] + masked_fill(at[i], Booleans({}, {1}), 0);
    found[i] = place.result(found[i]);
  }
  return {place.result(y), found};
}

// The gradient of sum(f(x) * u) is J^T u, which is linear in u: its derivative along v with respect to u is J v.
Tensor jvp(const TensorFunction& f, const Tensor& x, const Tensor& v) {
  const Place place;
  const Tensor at = input_at("jvp", x), y = value("jvp", f, at);
  check_like("jvp", "x", v, x);
  const Tensor u = variable(zeros(y.shape(), y.dtype()));
  return place.result(gradient("jvp", gradient("jvp", y, u, at), v, u));
}

Tensor vjp(const TensorFunction& f, const Tensor& x, const Tensor& v) {
  const Place place;
  const Tensor at = input_at("vjp", x), y = value("vjp", f, at);
  check_like("vjp", "f(x)", v, y);
  return place.result(gradient("vjp", y, v, at));
}

Tensor hvp(const TensorFunction& f, const Tensor& x, const Tensor& v) {
  const Place place;
  const Tensor at = input_at("hvp", x), y = scalar("hvp", value("hvp", f, at));
  check_like("hvp", "x", v, x);
  return place.result(gradient("hvp", gradient("hvp", y, one(y), at), v, at));
}

std::vector<Tensor> hvp(const std::function<Tensor()>& loss, const std::vector<Tensor>& parameters,
                        const std::vector<Tensor>& v) {
  const Place place;
  if (!loss) fail("hvp: the function is empty");
  if (v.size() != parameters.size()) fail("hvp: expected {} tensors v, got {}", parameters.size(), v.size());
  const Tensor y = scalar("hvp", loss());
  const std::vector<Tensor> slopes = gradients("hvp", y, one(y), parameters);
  Tensor along = zeros({}, y.dtype());
  bool is_recorded = true;  // false if the result depends on gradients that were not
  for (std::size_t i = 0; i < v.size(); ++i) {
    check_like("hvp", "its parameter", v[i], parameters[i]);
    const bool is_gradient = v[i].tape_node().recording == 0 && v[i].tape_node().node < 0;
    is_recorded = is_recorded && !is_gradient;
    along = along + sum(slopes[i] * (is_gradient ? v[i].detach() : v[i]));
  }
  std::vector<Tensor> result = gradients("hvp", along, one(y), parameters);
  for (Tensor& each : result) each = is_recorded ? place.result(each) : Recorder::of_gradients(each);
  return result;
}

Tensor jacobian(const TensorFunction& f, const Tensor& x) {
  const Place place;
  const Tensor at = input_at("jacobian", x);
  return place.result(all_derivatives("jacobian", value("jacobian", f, at), at));
}

Tensor hessian(const TensorFunction& f, const Tensor& x) {
  const Place place;
  const Tensor at = input_at("hessian", x), y = scalar("hessian", value("hessian", f, at));
  return place.result(all_derivatives("hessian", gradient("hessian", y, one(y), at), at));
}

}  // namespace heed
