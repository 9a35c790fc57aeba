#include "bindings/bindings.h"

#include <heed/autograd/ops.h>

#include <limits>

namespace heed::python {
namespace {

using Parts = std::vector<Tensor>;
using Sequence = Later<"collections.abc.Sequence[Tensor | ArrayLike]">;

// Defines a function of a tensor in the module, and as a method.
template <class F, class... Extra>
void both(nb::module_& m, nb::class_<Tensor>& c, const char* name, const char* doc, F f, const Extra&... extra) {
  const auto call = converting(name, +f);
  m.def(name, call, "x"_a, extra..., doc);
  c.def(name, call, extra..., doc);
}

// The same for a function of numbers, which the method takes in a sequence or one by one.
template <class R, class Numbers>
void numbers(nb::module_& m, nb::class_<Tensor>& c, const char* name, const char* argument, const char* doc,
             R (*f)(const Tensor&, const Numbers&)) {
  const auto call = converting(name, f);
  m.def(name, call, "x"_a, nb::arg(argument), doc);
  c.def(
      name,
      [call](const Tensor& x, nb::args given) {
        return call(x, Given<Numbers>{given.size() == 1 ? nb::object(given[0]) : nb::object(given)});
      },
      nb::sig(fmt::format("def {}(self, *{}: int | collections.abc.Sequence[int]) -> Tensor", name, argument).c_str()),
      doc);
}

// A function of the module alone.
template <class F, class... Extra>
void function(nb::module_& m, const char* name, const char* doc, F f, const Extra&... extra) {
  m.def(name, converting(name, +f), extra..., doc);
}

// Returns the tensor itself, or the numbers of an array in the type of x.
Tensor target_of(const char* where, nb::handle given, const Tensor& x) {
  if (nb::isinstance<Tensor>(given)) return nb::cast<Tensor>(given);
  return tensor_of(where, given, {nb::str(to_string(x.dtype()))});
}

Tensor optional_target(const char* where, const std::optional<Operand>& given, const Tensor& x) {
  return given ? target_of(where, given->given, x) : Tensor();
}

Parts parts_of(const char* where, const Sequence& sequence) {
  if (!PySequence_Check(sequence.given.ptr()) || nb::isinstance<nb::str>(sequence.given)) {
    fail("{}: expected a list of tensors, got {}", where,
         nb::cast<std::string>(sequence.given.type().attr("__name__")));
  }
  return operands_of(where, sequence.given);
}

// Returns the sizes of parts of an axis: those given, or of one number parts of this size, the last of which may be smaller.
std::vector<std::int64_t> part_sizes(const Sizes& given, std::int64_t axis) {
  std::vector<std::int64_t> sizes = numbers_of("split", given);
  if (PySequence_Check(given.given.ptr())) return sizes;
  const std::int64_t size = sizes[0];
  if (size < 1) fail("split: the size of the parts must be at least 1, got {}", size);
  sizes.assign(static_cast<std::size_t>(axis / size), size);
  if (axis % size > 0 || axis == 0) sizes.push_back(axis % size);
  return sizes;
}

Reduction reduction_named(const std::string& name) {
  if (name == "mean") return Reduction::mean;
  if (name == "sum") return Reduction::sum;
  if (name == "none") return Reduction::none;
  fail("reduction: expected 'mean', 'sum' or 'none', got '{}'", name);
}

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
  constexpr double endless = std::numeric_limits<double>::infinity();
  both(m, c, "clamp", "Returns min(max(x, low), high).", &clamp, "low"_a = -endless, "high"_a = endless);
  m.def("pow", nb::overload_cast<const Tensor&, double>(&pow), "x"_a, "exponent"_a, Unlocked(), "Returns x^exponent.");
  m.def("pow", nb::overload_cast<const Tensor&, const Tensor&>(&pow), "x"_a, "exponent"_a, Unlocked());
  function(m, "swiglu", "Returns silu(gate) value (Shazeer 2020, arXiv:2002.05202); both have one shape.", &swiglu,
           "gate"_a, "value"_a);
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
  both(m, c, "masked_fill", "Returns `value` where `mask` is true, else x. Shapes broadcast.", &masked_fill, "mask"_a,
       "value"_a);
}

void bind_reductions(nb::module_& m, nb::class_<Tensor>& c) {
  using Reduce = Tensor (*)(const Tensor&, const heed::Axes&, bool);
  const auto reduction = [&](const char* name, const char* doc, Reduce f) {
    both(m, c, name, doc, f, "axis"_a = nb::none(), "keepdim"_a = false);
  };
  reduction("sum",
            "Returns the sum over the axes (all: None). 256 elements beside each other are added in their type, all "
            "else in float64.",
            &sum);
  reduction("mean", "Returns the mean over the axes.", &mean);
  reduction("max", "Returns the largest element; the first of equals gets the gradient.", &max);
  reduction("min", "Returns the smallest element; the first of equals gets the gradient.", &min);
  reduction("norm", "Returns sqrt(sum x^2), with gradient 0 at 0.", &norm);
  reduction("prod", "Returns the product, accumulated in float64.", &prod);
  reduction("logsumexp", "Returns log sum e^x.", &logsumexp);
  using Spread = Tensor (*)(const Tensor&, const heed::Axes&, bool, double);
  const auto spread = [&](const char* name, const char* doc, Spread f) {
    both(m, c, name, doc, f, "axis"_a = nb::none(), "keepdim"_a = false, "correction"_a = 0.0);
  };
  spread("var", "Returns the sum of (x - mean)^2 divided by max(n - correction, 0).", &var);
  spread("std", "Returns the square root of var().", &stddev);
  both(
      m, c, "cumsum", "Returns the cumulative sums along an axis.",
      [](const Tensor& x, int axis, bool exclusive, bool reversed) {
        return cumsum(x, axis, {exclusive, reversed});
      },
      "axis"_a = -1, "exclusive"_a = false, "reversed"_a = false);
  const auto at = [&](const char* name, const char* doc, auto f) {
    both(m, c, name, doc, f, "axis"_a = -1, "keepdim"_a = false);
  };
  at("argmax", "Returns the positions of the largest elements, an array of int32.",
     [](const Tensor& x, int axis, bool keepdim) { return argmax(x, axis, keepdim); });
  at("argmin", "Returns the positions of the smallest elements, an array of int32.",
     [](const Tensor& x, int axis, bool keepdim) { return argmin(x, axis, keepdim); });
  using Top = Ordered (*)(const Tensor&, std::int64_t, int, bool);
  both(m, c, "topk", "Returns the k largest (or smallest) elements in order, and their positions.", Top(&topk), "k"_a,
       "axis"_a = -1, "largest"_a = true);
  using Sort = Ordered (*)(const Tensor&, int, bool);
  both(m, c, "sort", "Returns the elements in order, and their positions.", Sort(&sort), "axis"_a = -1,
       "descending"_a = false);
  using Along = Tensor (*)(const Tensor&, int);
  both(m, c, "softmax", "Returns e^x / sum(e^x) along an axis.", Along(&softmax), "axis"_a = -1);
  both(m, c, "log_softmax", "Returns x - log sum(e^x) along an axis.", Along(&log_softmax), "axis"_a = -1);
}

void bind_shapes(nb::module_& m, nb::class_<Tensor>& c) {
  numbers<Tensor, Shape>(m, c, "reshape", "shape", "Returns the elements in another shape; one size may be -1.",
                         &reshape);
  both(m, c, "transpose", "Returns a view with two axes swapped.", &transpose, "axis_a"_a = -2, "axis_b"_a = -1);
  numbers<Tensor, std::vector<int>>(m, c, "permute", "axes", "Returns a view; its axis i is axis axes[i] of x.",
                                    &permute);
  using Shaped = Tensor (*)(const Tensor&, const Shape&);
  both(m, c, "broadcast_to", "Returns a view in which axes of size 1 are repeated.", Shaped(&broadcast_to), "shape"_a);
  both(
      m, c, "squeeze", "Removes an axis of size 1; without an axis, all of them.",
      [](const Tensor& x, const std::optional<AxisNumber>& axis) { return axis ? squeeze(x, *axis) : squeeze(x); },
      "axis"_a = nb::none());
  using Along = Tensor (*)(const Tensor&, int);
  both(m, c, "unsqueeze", "Adds an axis of size 1 at `axis` of the result.", Along(&unsqueeze), "axis"_a);
  both(m, c, "flatten", "Joins the axes from first to last.", &flatten, "first"_a = 0, "last"_a = -1);
  const auto cut = [](const Tensor& x, const Sizes& sizes, AxisNumber axis) {
    return split(x, part_sizes(sizes, x.size(checked_axis("split", axis, x.rank()))), axis);
  };
  constexpr const char* cut_doc =
      "Cuts x along an axis into parts of these sizes, or of one size; the last may be smaller.";
  m.def("split", cut, "x"_a, "sizes"_a, "axis"_a = 0, cut_doc);
  c.def("split", cut, "sizes"_a, "axis"_a = 0, cut_doc);
  both(m, c, "unbind", "Cuts x along an axis into its elements.", &unbind, "axis"_a = 0);
  both(m, c, "pad", "Adds `value` at both ends of an axis.", &pad, "axis"_a, "before"_a, "after"_a, "value"_a = 0.0);
  both(m, c, "repeat", "Repeats x along each axis.", &repeat, "times"_a);
  using Flip = Tensor (*)(const Tensor&, const std::vector<int>&);
  both(m, c, "flip", "Reverses the order along an axis, or along several.", Flip(&flip), "axis"_a);
  both(m, c, "roll", "Moves elements along an axis; those behind the end come first.", &roll, "shift"_a, "axis"_a);
  both(m, c, "tril", "Returns x (..., n, m) with 0 where j > i + diagonal.", &tril, "diagonal"_a = 0);
  both(m, c, "triu", "Returns x (..., n, m) with 0 where j < i + diagonal.", &triu, "diagonal"_a = 0);
  using Join = Tensor (*)(const Parts&, int);
  const auto joining = [&](const char* name, const char* doc, Join f) {
    m.def(
        name,
        [f, name](const Sequence& sequence, AxisNumber axis) {
          const Parts parts = parts_of(name, sequence);
          const nb::gil_scoped_release release;
          return f(parts, axis);
        },
        "parts"_a, "axis"_a = 0, doc);
  };
  joining("concat", "Joins tensors along an axis that exists.", &concat);
  joining("stack", "Joins tensors along a new axis.", &stack);
}

void bind_selections(nb::module_& m, nb::class_<Tensor>& c) {
  using Select = Tensor (*)(const Tensor&, const Ids&, int);
  both(m, c, "gather", "Returns y[i, j] = x[i, indices[i, j]] for axis 1.", Select(&gather), "indices"_a, "axis"_a);
  using Scatter = Tensor (*)(const Tensor&, const Ids&, const Tensor&, int);
  const auto scattering = [&](const char* name, const char* doc, Scatter f, const auto& axis) {
    both(m, c, name, doc, f, "indices"_a, "values"_a, axis);
  };
  scattering("scatter_add", "Returns x with y[i, indices[i, j]] += values[i, j] for axis 1.", &scatter_add, "axis"_a);
  scattering("scatter",
             "Returns x with y[i, indices[i, j]] = values[i, j] for axis 1; of equal indices the last counts.",
             &scatter, "axis"_a);
  scattering("scatter_max", "Returns x with y[i, indices[i, j]] = max(y[i, indices[i, j]], values[i, j]) for axis 1.",
             &scatter_max, "axis"_a);
  scattering("index_add", "Returns x with values added at the rows (or other slices) with these numbers (n).",
             &index_add, "axis"_a = 0);
  both(m, c, "index_select", "Selects rows (or other slices) by their numbers (n): a mini-batch.",
       Select(&index_select), "indices"_a, "axis"_a = 0);
  function(m, "embedding", "Returns rows of table (V, d) for ids (...): (..., d).", &embedding, "table"_a, "ids"_a);
  function(m, "one_hot", "Returns (..., classes): 1 at ids, else 0.", &one_hot, "ids"_a, "classes"_a,
           "dtype"_a = nb::none());
}

void bind_constants(nb::module_& m) {
  using Make = Tensor (*)(const Shape&, DType);
  function(m, "zeros", "Returns zeros.", Make(&zeros), "shape"_a, "dtype"_a = nb::none());
  function(m, "ones", "Returns ones.", Make(&ones), "shape"_a, "dtype"_a = nb::none());
  using Fill = Tensor (*)(const Shape&, double, DType);
  function(m, "full", "Returns a tensor of one value.", Fill(&full), "shape"_a, "value"_a, "dtype"_a = nb::none());
  function(
      m, "arange", "Returns begin + i step before end; of one argument, 0, 1, ... before it.",
      [](double begin, const std::optional<double>& end, double step, DType dtype) {
        return arange(end ? begin : 0, end.value_or(begin), step, dtype);
      },
      "begin"_a, "end"_a = nb::none(), "step"_a = 1.0, "dtype"_a = nb::none());
}

void bind_products(nb::module_& m) {
  function(m, "matmul",
           "Returns (..., n, k) x (..., k, m) -> (..., n, m). Leading axes broadcast; vectors (k) as in NumPy.",
           &matmul, "a"_a, "b"_a);
  using Some = std::optional<Tensor>;
  function(
      m, "linear", "Returns x W + b: x (..., n), W (n, m), b (m) -> (..., m).",
      [](const Tensor& x, const Tensor& W, const Some& b) { return linear(x, W, or_undefined(b)); }, "x"_a, "weight"_a,
      "bias"_a = nb::none());
  function(
      m, "einsum", "Sums products by a formula, as in NumPy: 'bij,bjk->bik'.",
      [](const std::string& formula, const Tensor& a, const Some& b) {
        return b ? einsum(formula, a, *b) : einsum(formula, a);
      },
      "formula"_a, "a"_a, "b"_a = nb::none());
  function(
      m, "layer_norm", "Returns (x - mean) / sqrt(variance + eps) * gain + bias over the last axis.",
      [](const Tensor& x, const Some& gain, const Some& bias, double eps) {
        return layer_norm(x, or_undefined(gain), or_undefined(bias), eps);
      },
      "x"_a, "gain"_a = nb::none(), "bias"_a = nb::none(), "eps"_a = 1e-5);
  function(
      m, "rms_norm", "Returns x / sqrt(mean(x^2) + eps) * gain over the last axis.",
      [](const Tensor& x, const Some& gain, double eps) { return rms_norm(x, or_undefined(gain), eps); }, "x"_a,
      "gain"_a = nb::none(), "eps"_a = 1e-6);
  m.def(
      "cross_entropy",
      [](const Tensor& logits, const IntegerArray& labels, int ignored_label, double label_smoothing, AxisNumber axis,
         const std::optional<Operand>& class_weights, const std::string& reduction) {
        constexpr const char* where = "cross_entropy";
        const CrossEntropyOptions options{ignored_label, label_smoothing, axis,
                                          optional_target(where, class_weights, logits), reduction_named(reduction)};
        const nb::handle given = labels.given;
        const auto is_of_integers = [&] {
          return !nb::isinstance<Tensor>(given) && nb::cast<std::string>(given.attr("dtype").attr("kind")) != "f";
        };
        const auto has_shape_of_logits = [&] {
          return shape_of(where, {nb::borrow<nb::object>(given.attr("shape"))}) == logits.shape();
        };
        if (nb::hasattr(given, "ndim") && nb::cast<int>(given.attr("ndim")) == logits.rank() &&
            (!is_of_integers() || has_shape_of_logits())) {
          const Tensor probabilities = target_of(where, given, logits);
          const nb::gil_scoped_release release;
          return cross_entropy(logits, probabilities, options);
        }
        const Ids ids = ids_of(where, labels);
        const nb::gil_scoped_release release;
        return cross_entropy(logits, ids, options);
      },
      "logits"_a, "labels"_a, "ignored_label"_a = -1, "label_smoothing"_a = 0.0, "axis"_a = -1,
      "class_weights"_a = nb::none(), "reduction"_a = "mean",
      "Returns the mean of -log softmax(logits)[label]: logits (..., C), labels (...) -> (). A tensor of logits' shape "
      "has the probability of each class instead.");
  m.def(
      "mse_loss",
      [](const Tensor& x, const Operand& target, const std::string& reduction) {
        return mse_loss(x, target_of("mse_loss", target.given, x), reduction_named(reduction));
      },
      "x"_a, "target"_a, "reduction"_a = "mean", "Returns the mean of (x - target)^2.");
  m.def(
      "huber_loss",
      [](const Tensor& x, const Operand& target, const std::string& reduction, double delta) {
        return huber_loss(x, target_of("huber_loss", target.given, x), reduction_named(reduction), delta);
      },
      "x"_a, "target"_a, "reduction"_a = "mean", "delta"_a = 1.0,
      "Returns the mean of d^2 / 2 where |d| <= delta, else of delta (|d| - delta / 2), for d = x - target.");
  m.def(
      "bce_with_logits",
      [](const Tensor& x, const Operand& target, const std::string& reduction,
         const std::optional<Operand>& positive_weight) {
        return bce_with_logits(x, target_of("bce_with_logits", target.given, x), reduction_named(reduction),
                               optional_target("bce_with_logits", positive_weight, x));
      },
      "x"_a, "target"_a, "reduction"_a = "mean", "positive_weight"_a = nb::none(),
      "Returns the mean of -w t log s - (1 - t) log(1 - s), s = sigmoid(x). The weight w of positive targets "
      "broadcasts to x.");
  function(m, "accuracy", "Returns the share of rows (..., C) whose largest logit is that of the label.", &accuracy,
           "logits"_a, "labels"_a, "ignored_label"_a = -1, "axis"_a = -1);
  function(
      m, "rotary", "Rotates pairs of features: x (..., T, d), cosine and sine (..., T, r / 2).",
      [](const Tensor& x, const Tensor& cosine, const Tensor& sine, bool interleaved) {
        return rotary(x, cosine, sine, interleaved ? RotaryPairs::interleaved : RotaryPairs::halves);
      },
      "x"_a, "cosine"_a, "sine"_a, "interleaved"_a = false);
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
