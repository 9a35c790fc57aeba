#include "bindings/bindings.h"

#include <heed/autograd/ops.h>

#include <limits>

namespace heed::python {
namespace {

using Parts = std::vector<Tensor>;

// Defines a function of a tensor in the module, and as a method.
template <class F, class... Extra>
void both(nb::module_& m, nb::class_<Tensor>& c, const char* name, const char* doc, F f, const Extra&... extra) {
  m.def(name, f, "x"_a, extra..., Unlocked(), doc);
  c.def(name, f, extra..., Unlocked(), doc);
}

// The same for a function that converts arguments, and so keeps Python's lock.
template <class F, class... Extra>
void both_locked(nb::module_& m, nb::class_<Tensor>& c, const char* name, const char* doc, F f, const Extra&... extra) {
  m.def(name, f, "x"_a, extra..., doc);
  c.def(name, f, extra..., doc);
}

// The same for a function of numbers, which the method takes in a sequence or one by one.
template <class Numbers, class F>
void numbers(nb::module_& m, nb::class_<Tensor>& c, const char* name, const char* argument, const char* doc, F f) {
  m.def(name, f, "x"_a, nb::arg(argument), doc);
  c.def(
      name,
      [f](const Tensor& x, nb::args given) {
        return f(x, Numbers{given.size() == 1 ? nb::object(given[0]) : nb::object(given)});
      },
      nb::sig(fmt::format("def {}(self, *{}: int | collections.abc.Sequence[int]) -> Tensor", name, argument).c_str()),
      doc);
}

template <class F>
auto unlocked(F f) {
  const nb::gil_scoped_release release;
  return f();
}

Reduction reduction_named(const std::string& name) {
  if (name == "mean") return Reduction::mean;
  if (name == "sum") return Reduction::sum;
  if (name == "none") return Reduction::none;
  fail("reduction: expected 'mean', 'sum' or 'none', got '{}'", name);
}

// Returns the tensor itself, or the numbers of an array in the type of x.
Tensor target_of(const char* where, nb::handle given, const Tensor& x) {
  if (nb::isinstance<Tensor>(given)) return nb::cast<Tensor>(given);
  return tensor_of(where, given, {nb::str(to_string(x.dtype()))});
}

using Reduce = Tensor (*)(const Tensor&, const heed::Axes&, bool);
template <class F>
void reduction(nb::module_& m, nb::class_<Tensor>& c, const char* name, const char* doc, F f) {
  both_locked(
      m, c, name, doc,
      [f, name](const Tensor& x, const Axes& axis, bool keepdim) {
        return unlocked([&, axes = axes_of(name, axis)] { return f(x, axes, keepdim); });
      },
      "axis"_a = nb::none(), "keepdim"_a = false);
}

std::pair<Tensor, Int32Array> ordered(const Ordered& result) { return {result.values, {array_of(result.indices)}}; }

void bind_elementwise(nb::module_& m, nb::class_<Tensor>& c) {
  using Unary = Tensor (*)(const Tensor&);
  const auto unary = [&](const char* name, Unary f, const char* doc) { both(m, c, name, doc, f); };
  unary("exp", exp, "Returns e^x.");
  unary("log", log, "Returns the natural logarithm: -infinity at 0, NaN below 0.");
  unary("sqrt", sqrt, "Returns the square root.");
  unary("square", square, "Returns x^2.");
  unary("abs", abs, "Returns |x|, with gradient 0 at 0.");
  unary("sin", sin, "Returns the sine.");
  unary("cos", cos, "Returns the cosine.");
  unary("tanh", tanh, "Returns the hyperbolic tangent.");
  unary("erf", erf, "Returns the error function.");
  unary("log1p", log1p, "Returns ln(1 + x), exact near 0.");
  unary("expm1", expm1, "Returns e^x - 1, exact near 0.");
  unary("sigmoid", sigmoid, "Returns 1 / (1 + e^-x).");
  unary("softplus", softplus, "Returns ln(1 + e^x).");
  unary("relu", relu, "Returns max(x, 0), with gradient 0 at 0.");
  unary("gelu", gelu, "Returns x Phi(x) with erf (Hendrycks & Gimpel 2016, arXiv:1606.08415).");
  unary("gelu_tanh", gelu_tanh, "Returns the tanh approximation of gelu().");
  unary("silu", silu, "Returns x sigmoid(x) (Elfwing et al. 2018, arXiv:1702.03118).");
  unary("round", round, "Returns the nearest integer, with gradient 0; halves go to the even one.");
  unary("floor", floor, "Returns the next integer below, with gradient 0.");
  unary("ceil", ceil, "Returns the next integer above, with gradient 0.");
  unary("sign", sign, "Returns -1, 0 or 1, with gradient 0.");
  unary("contiguous", contiguous, "Returns x itself if it is contiguous, else a copy.");
  both(m, c, "leaky_relu", "Returns x where x > 0, else slope x.", &leaky_relu, "slope"_a = 0.01);
  both(m, c, "clamp", "Returns min(max(x, low), high).", &clamp, "low"_a = -std::numeric_limits<double>::infinity(),
       "high"_a = std::numeric_limits<double>::infinity());
  m.def("pow", nb::overload_cast<const Tensor&, double>(&pow), "x"_a, "exponent"_a, Unlocked(), "Returns x^exponent.");
  m.def("pow", nb::overload_cast<const Tensor&, const Tensor&>(&pow), "x"_a, "exponent"_a, Unlocked());
  m.def("swiglu", &swiglu, "gate"_a, "value"_a, Unlocked(),
        "Returns silu(gate) value (Shazeer 2020, arXiv:2002.05202); both have one shape.");
  const auto chosen = [&](const char* name, const char* doc, Tensor (*f)(const Tensor&, const Tensor&)) {
    m.def(
        name,
        [f, name](const Operand& a, const Operand& b) { return f(operand_of(name, a, b), operand_of(name, b, a)); },
        "a"_a, "b"_a, doc);
  };
  chosen("maximum", "Returns the larger of each two elements. Shapes broadcast.", &maximum);
  chosen("minimum", "Returns the smaller of each two elements. Shapes broadcast.", &minimum);
  m.def(
      "where",
      [](const BooleanArray& condition, const Operand& a, const Operand& b) {
        return where(booleans_of("where", condition), operand_of("where", a, b), operand_of("where", b, a));
      },
      "condition"_a, "a"_a, "b"_a, "Returns a where the condition is true, else b. Shapes broadcast.");
  both_locked(
      m, c, "masked_fill", "Returns `value` where `mask` is true, else x. Shapes broadcast.",
      [](const Tensor& x, const BooleanArray& mask, double value) {
        return masked_fill(x, booleans_of("masked_fill", mask), value);
      },
      "mask"_a, "value"_a);
}

void bind_reductions(nb::module_& m, nb::class_<Tensor>& c) {
  reduction(m, c, "sum", "Returns the sum over the axes (all: None), accumulated in float64.", Reduce(&sum));
  reduction(m, c, "mean", "Returns the mean over the axes.", Reduce(&mean));
  reduction(m, c, "max", "Returns the largest element; the first of equals gets the gradient.", Reduce(&max));
  reduction(m, c, "min", "Returns the smallest element; the first of equals gets the gradient.", Reduce(&min));
  reduction(m, c, "norm", "Returns sqrt(sum x^2), with gradient 0 at 0.", Reduce(&norm));
  reduction(m, c, "prod", "Returns the product, accumulated in float64.", Reduce(&prod));
  reduction(m, c, "logsumexp", "Returns log sum e^x.", Reduce(&logsumexp));
  using Spread = Tensor (*)(const Tensor&, const heed::Axes&, bool, double);
  const auto spread = [&](const char* name, const char* doc, Spread f) {
    both_locked(
        m, c, name, doc,
        [f, name](const Tensor& x, const Axes& axis, bool keepdim, double correction) {
          return f(x, axes_of(name, axis), keepdim, correction);
        },
        "axis"_a = nb::none(), "keepdim"_a = false, "correction"_a = 0.0);
  };
  spread("var", "Returns the sum of (x - mean)^2 divided by max(n - correction, 0).", &var);
  spread("std", "Returns the square root of var().", &stddev);
  both(
      m, c, "cumsum", "Returns the cumulative sums along an axis.",
      [](const Tensor& x, int axis, bool exclusive, bool reversed) {
        return cumsum(x, axis, {exclusive, reversed});
      },
      "axis"_a = -1, "exclusive"_a = false, "reversed"_a = false);
  const auto position = [&](const char* name, const char* doc, Ids (*f)(const Tensor&, int, bool, bool)) {
    both_locked(
        m, c, name, doc,
        [f](const Tensor& x, int axis, bool keepdim) { return Int32Array{array_of(f(x, axis, keepdim, false))}; },
        "axis"_a = -1, "keepdim"_a = false);
  };
  position("argmax", "Returns the positions of the largest elements, an array of int32.", &argmax);
  position("argmin", "Returns the positions of the smallest elements, an array of int32.", &argmin);
  both_locked(
      m, c, "topk", "Returns the k largest (or smallest) elements in order, and their positions.",
      [](const Tensor& x, std::int64_t k, int axis, bool largest) { return ordered(topk(x, k, axis, largest)); }, "k"_a,
      "axis"_a = -1, "largest"_a = true);
  both_locked(
      m, c, "sort", "Returns the elements in order, and their positions.",
      [](const Tensor& x, int axis, bool descending) { return ordered(sort(x, axis, descending)); }, "axis"_a = -1,
      "descending"_a = false);
  both(m, c, "softmax", "Returns e^x / sum(e^x) along an axis.", &softmax, "axis"_a = -1);
  both(m, c, "log_softmax", "Returns x - log sum(e^x) along an axis.", &log_softmax, "axis"_a = -1);
}

void bind_shapes(nb::module_& m, nb::class_<Tensor>& c) {
  numbers<Sizes>(m, c, "reshape", "shape", "Returns the elements in another shape; one size may be -1.",
                 [](const Tensor& x, const Sizes& shape) { return reshape(x, shape_of("reshape", shape)); });
  both(m, c, "transpose", "Returns a view with two axes swapped.", &transpose, "axis_a"_a = -2, "axis_b"_a = -1);
  numbers<Axes>(m, c, "permute", "axes", "Returns a view; its axis i is axis axes[i] of x.",
                [](const Tensor& x, const Axes& axes) { return permute(x, axes_of("permute", axes)); });
  both_locked(
      m, c, "broadcast_to", "Returns a view in which axes of size 1 are repeated.",
      [](const Tensor& x, const Sizes& shape) { return broadcast_to(x, shape_of("broadcast_to", shape)); }, "shape"_a);
  both(
      m, c, "squeeze", "Removes an axis of size 1; without an axis, all of them.",
      [](const Tensor& x, std::optional<int> axis) { return axis ? squeeze(x, *axis) : squeeze(x); },
      "axis"_a = nb::none());
  both(m, c, "unsqueeze", "Adds an axis of size 1 at `axis` of the result.",
       nb::overload_cast<const Tensor&, int>(&unsqueeze), "axis"_a);
  both(m, c, "flatten", "Joins the axes from first to last.", &flatten, "first"_a = 0, "last"_a = -1);
  both_locked(
      m, c, "split", "Cuts x along an axis into parts of these sizes.",
      [](const Tensor& x, const Sizes& sizes, int axis) { return split(x, numbers_of("split", sizes), axis); },
      "sizes"_a, "axis"_a = 0);
  both(m, c, "unbind", "Cuts x along an axis into its elements.", &unbind, "axis"_a = 0);
  both(m, c, "pad", "Adds `value` at both ends of an axis.", &pad, "axis"_a, "before"_a, "after"_a, "value"_a = 0.0);
  both_locked(
      m, c, "repeat", "Repeats x along each axis.",
      [](const Tensor& x, const Sizes& times) { return repeat(x, numbers_of("repeat", times)); }, "times"_a);
  both_locked(
      m, c, "flip", "Reverses the order along an axis, or along several.",
      [](const Tensor& x, const Axes& axis) { return flip(x, axes_of("flip", axis)); }, "axis"_a);
  both(m, c, "roll", "Moves elements along an axis; those behind the end come first.", &roll, "shift"_a, "axis"_a);
  both(m, c, "tril", "Returns x (..., n, m) with 0 where j > i + diagonal.", &tril, "diagonal"_a = 0);
  both(m, c, "triu", "Returns x (..., n, m) with 0 where j < i + diagonal.", &triu, "diagonal"_a = 0);
  m.def("concat", nb::overload_cast<const Parts&, int>(&concat), "parts"_a, "axis"_a = 0, Unlocked(),
        "Joins tensors along an axis that exists.");
  m.def("stack", static_cast<Tensor (*)(const Parts&, int)>(&stack), "parts"_a, "axis"_a = 0, Unlocked(),
        "Joins tensors along a new axis.");
}

void bind_selections(nb::module_& m, nb::class_<Tensor>& c) {
  both_locked(
      m, c, "gather", "Returns y[i, j] = x[i, indices[i, j]] for axis 1.",
      [](const Tensor& x, const IntegerArray& indices, int axis) { return gather(x, ids_of("gather", indices), axis); },
      "indices"_a, "axis"_a);
  using Scatter = Tensor (*)(const Tensor&, const Ids&, const Tensor&, int);
  const auto scattering = [&](const char* name, const char* doc, Scatter f, const auto& axis) {
    both_locked(
        m, c, name, doc,
        [f, name](const Tensor& x, const IntegerArray& indices, const Tensor& values, int along) {
          return f(x, ids_of(name, indices), values, along);
        },
        "indices"_a, "values"_a, axis);
  };
  scattering("scatter_add", "Returns x with y[i, indices[i, j]] += values[i, j] for axis 1.", &scatter_add, "axis"_a);
  scattering("scatter",
             "Returns x with y[i, indices[i, j]] = values[i, j] for axis 1; of equal indices the last counts.",
             &scatter, "axis"_a);
  scattering("scatter_max", "Returns x with y[i, indices[i, j]] = max(y[i, indices[i, j]], values[i, j]) for axis 1.",
             &scatter_max, "axis"_a);
  scattering("index_add", "Returns x with values added at the rows (or other slices) with these numbers (n).",
             &index_add, "axis"_a = 0);
  both_locked(
      m, c, "index_select", "Selects rows (or other slices) by their numbers (n): a mini-batch.",
      [](const Tensor& x, const IntegerArray& indices, int axis) {
        return index_select(x, ids_of("index_select", indices), axis);
      },
      "indices"_a, "axis"_a = 0);
  m.def(
      "embedding",
      [](const Tensor& table, const IntegerArray& ids) { return embedding(table, ids_of("embedding", ids)); },
      "table"_a, "ids"_a, "Returns rows of table (V, d) for ids (...): (..., d).");
  m.def(
      "one_hot",
      [](const IntegerArray& ids, std::int64_t classes, const TypeName& dtype) {
        return one_hot(ids_of("one_hot", ids), classes, dtype_of_name("one_hot", dtype));
      },
      "ids"_a, "classes"_a, "dtype"_a = nb::none(), "Returns (..., classes): 1 at ids, else 0.");
}

void bind_constants(nb::module_& m) {
  using Make = Tensor (*)(const Shape&, DType);
  const auto constant = [&](const char* name, Make f, const char* doc) {
    m.def(
        name,
        [f, name](const Sizes& shape, const TypeName& dtype) {
          return f(shape_of(name, shape), dtype_of_name(name, dtype));
        },
        "shape"_a, "dtype"_a = nb::none(), doc);
  };
  constant("zeros", &zeros, "Returns zeros.");
  constant("ones", &ones, "Returns ones.");
  m.def(
      "full",
      [](const Sizes& shape, double value, const TypeName& dtype) {
        return full(shape_of("full", shape), value, dtype_of_name("full", dtype));
      },
      "shape"_a, "value"_a, "dtype"_a = nb::none(), "Returns a tensor of one value.");
  m.def(
      "arange",
      [](double begin, std::optional<double> end, double step, const TypeName& dtype) {
        return arange(end ? begin : 0, end.value_or(begin), step, dtype_of_name("arange", dtype));
      },
      "begin"_a, "end"_a = nb::none(), "step"_a = 1.0, "dtype"_a = nb::none(),
      "Returns begin + i step before end; of one argument, 0, 1, ... before it.");
}

void bind_products(nb::module_& m) {
  m.def("matmul", &matmul, "a"_a, "b"_a, Unlocked(),
        "Returns (..., n, k) x (..., k, m) -> (..., n, m). Leading axes broadcast.");
  m.def(
      "linear",
      [](const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias) {
        return linear(x, weight, or_undefined(bias));
      },
      "x"_a, "weight"_a, "bias"_a = nb::none(), Unlocked(),
      "Returns x W + b: x (..., n), W (n, m), b (m) -> (..., m).");
  m.def(
      "einsum",
      [](const std::string& formula, const Tensor& a, const std::optional<Tensor>& b) {
        return b ? einsum(formula, a, *b) : einsum(formula, a);
      },
      "formula"_a, "a"_a, "b"_a = nb::none(), Unlocked(), "Sums products by a formula, as in NumPy: 'bij,bjk->bik'.");
  m.def(
      "layer_norm",
      [](const Tensor& x, const std::optional<Tensor>& gain, const std::optional<Tensor>& bias, double eps) {
        return layer_norm(x, or_undefined(gain), or_undefined(bias), eps);
      },
      "x"_a, "gain"_a = nb::none(), "bias"_a = nb::none(), "eps"_a = 1e-5, Unlocked(),
      "Returns (x - mean) / sqrt(variance + eps) * gain + bias over the last axis.");
  m.def(
      "rms_norm",
      [](const Tensor& x, const std::optional<Tensor>& gain, double eps) {
        return rms_norm(x, or_undefined(gain), eps);
      },
      "x"_a, "gain"_a = nb::none(), "eps"_a = 1e-6, Unlocked(),
      "Returns x / sqrt(mean(x^2) + eps) * gain over the last axis.");
  m.def(
      "cross_entropy",
      [](const Tensor& logits, const IntegerArray& labels, int ignored_label, double label_smoothing, int axis,
         const std::optional<Operand>& class_weights, const std::string& reduction) {
        const CrossEntropyOptions options{
            ignored_label, label_smoothing, axis,
            class_weights ? target_of("cross_entropy", class_weights->given, logits) : Tensor(),
            reduction_named(reduction)};
        const auto is_of_integers = [&] {
          return !nb::isinstance<Tensor>(labels.given) &&
                 nb::cast<std::string>(labels.given.attr("dtype").attr("kind")) != "f";
        };
        const auto has_shape_of_logits = [&] {
          return shape_of("cross_entropy", {nb::borrow<nb::object>(labels.given.attr("shape"))}) == logits.shape();
        };
        if (nb::hasattr(labels.given, "ndim") && nb::cast<int>(labels.given.attr("ndim")) == logits.rank() &&
            (!is_of_integers() || has_shape_of_logits())) {
          const Tensor probabilities = target_of("cross_entropy", labels.given, logits);
          return unlocked([&] { return cross_entropy(logits, probabilities, options); });
        }
        const Ids ids = ids_of("cross_entropy", labels);
        return unlocked([&] { return cross_entropy(logits, ids, options); });
      },
      "logits"_a, "labels"_a, "ignored_label"_a = -1, "label_smoothing"_a = 0.0, "axis"_a = -1,
      "class_weights"_a = nb::none(), "reduction"_a = "mean",
      "Returns the mean of -log softmax(logits)[label]: logits (..., C), labels (...) -> (). A tensor of logits' shape "
      "has "
      "the probability of each class instead.");
  m.def(
      "mse_loss",
      [](const Tensor& x, const Operand& target, const std::string& reduction) {
        return mse_loss(x, target_of("mse_loss", target.given, x), reduction_named(reduction));
      },
      "x"_a, "target"_a, "reduction"_a = "mean", "Returns the mean of (x - target)^2.");
  m.def(
      "bce_with_logits",
      [](const Tensor& x, const Operand& target, const std::string& reduction,
         const std::optional<Operand>& positive_weight) {
        return bce_with_logits(x, target_of("bce_with_logits", target.given, x), reduction_named(reduction),
                               positive_weight ? target_of("bce_with_logits", positive_weight->given, x) : Tensor());
      },
      "x"_a, "target"_a, "reduction"_a = "mean", "positive_weight"_a = nb::none(),
      "Returns the mean of -w t log s - (1 - t) log(1 - s), s = sigmoid(x). The weight w of positive targets "
      "broadcasts to x.");
  m.def(
      "accuracy",
      [](const Tensor& logits, const IntegerArray& labels, int ignored_label, int axis) {
        return accuracy(logits, ids_of("accuracy", labels), ignored_label, axis);
      },
      "logits"_a, "labels"_a, "ignored_label"_a = -1, "axis"_a = -1,
      "Returns the share of rows (..., C) whose largest logit is that of the label.");
  m.def(
      "rotary",
      [](const Tensor& x, const Tensor& cosine, const Tensor& sine, bool interleaved) {
        return rotary(x, cosine, sine, interleaved ? RotaryPairs::interleaved : RotaryPairs::halves);
      },
      "x"_a, "cosine"_a, "sine"_a, "interleaved"_a = false, Unlocked(),
      "Rotates pairs of features: x (..., T, d), cosine and sine (..., T, r / 2).");
}

}  // namespace

void bind_operations(nb::module_& m, nb::class_<Tensor>& c) {
  bind_elementwise(m, c);
  bind_reductions(m, c);
  bind_shapes(m, c);
  bind_selections(m, c);
  bind_constants(m);
  bind_products(m);
}

}  // namespace heed::python
