#include "bindings/config.h"

#include <heed/autograd/ops.h>
#include <heed/nn/block.h>
#include <heed/nn/positions.h>

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/variant.h>
#include <ranges>

namespace heed::python {
namespace {

// Returns "heedml.Linear('out', 64, 10)".
template <class... Parts>
std::string layer_text(const char* kind, const std::string& name, const Parts&... parts) {
  std::string text = fmt::format("heedml.{}('{}'", kind, name);
  ((text += fmt::format(", {}", parts)), ...);
  return text + ")";
}

Init init_named(nb::handle init, const Shape& shape) {
  if (nb::isinstance<Init>(init)) return nb::cast<Init>(init);
  if (is_scalar(init)) return Init::normal(nb::cast<double>(init));
  const std::string name = nb::isinstance<nb::str>(init) ? nb::cast<std::string>(init) : "";
  if (name == "zeros") return Init::zeros();
  if (name == "ones") return Init::ones();
  if (name == "xavier" && shape.rank() >= 2) return Init::xavier(shape[-2], shape[-1]);
  fail("parameter: expected the init 'zeros', 'ones', 'xavier' (of a matrix), a standard deviation or an Init, got {}",
       nb::cast<std::string>(nb::str(init)));
}

std::vector<std::string> names_of_parameters(const Parameters& p) {
  const auto names = std::views::keys(p);
  return {names.begin(), names.end()};
}

void bind_parameters(nb::module_& m) {
  nb::class_<Parameters> c(
      m, "Parameters",
      "The parameters of a model by name, in order of creation: its state dictionary.\n\n    "
      "parameters['head.weight']\n    dict(parameters.items())\n    parameters.load({'head.weight': "
      "array, 'head.bias': array})");
  c.def(nb::init<>())
      .def(
          "__getitem__", [](const Parameters& p, const std::string& name) { return Tensor(p[name]); }, "name"_a)
      .def("__contains__", [](const Parameters& p, const std::string& name) { return p.contains(name); })
      .def("__contains__", [](const Parameters&, nb::handle) { return false; })
      .def("__len__", &Parameters::size)
      .def("keys", &names_of_parameters, "Returns the names.")
      .def(
          "values",
          [](const Parameters& p) {
            const auto all = std::views::values(p);
            return std::vector<Tensor>(all.begin(), all.end());
          },
          "Returns the variables.")
      .def(
          "items", [](const Parameters& p) { return NamedTensors(p.begin(), p.end()); },
          "Returns pairs of a name and a variable.")
      .def_prop_ro("size", &Parameters::numel, "The number of elements of all parameters.")
      .def("add", &Parameters::add, "name"_a, "value"_a, "Adds a variable() and names it.")
      .def("freeze", &Parameters::freeze, "name"_a = "",
           "Makes constants of the parameters with this name or in this scope; '': all.")
      .def("unfreeze", &Parameters::unfreeze, "name"_a = "", "Makes variables of them again.")
      .def(
          "load",
          [](Parameters& p, const nb::dict& tensors, const std::string& source) {
            p.load(named_tensors("load", tensors), source);
          },
          "tensors"_a, "source"_a = "the dict",
          nb::sig("def load(self, tensors: dict[str, Tensor] | dict[str, NDArray[typing.Any]], source: "
                  "str = 'the dict') -> None"),
          "Copies numbers by name. Raises one Error for all missing, extra and wrong-shaped names. Matrices are (in, "
          "out).")
      .def("__repr__", [](const Parameters& p) {
        std::vector<std::string> lines;
        for (const auto& [name, value] : p) lines.push_back(fmt::format("  '{}': {}", name, to_string(value.shape())));
        return fmt::format("heedml.Parameters({} numbers)\n{}", p.numel(), listed(lines, "\n"));
      });
  bind_iterator(c, "str", &names_of_parameters);
  nb::class_<Init>(m, "Init", "The distribution of a parameter's initial values.")
      .def_static("zeros", &Init::zeros, "Returns 0.")
      .def_static("ones", &Init::ones, "Returns 1.")
      .def_static("xavier", &Init::xavier, "fan_in"_a, "fan_out"_a,
                  "Returns uniform with bound sqrt(6 / (fan_in + fan_out)) (Glorot & Bengio 2010).")
      .def_static("normal", &Init::normal, "deviation"_a, "Returns normal with mean 0.")
      .def_static(
          "uniform",
          [](double bound) {
            return Init{Init::Kind::uniform, bound};
          },
          "bound"_a, "Returns uniform in [-bound, bound).");
  nb::class_<Place>(m, "Scope",
                    "The place at which a layer makes its parameters: a store, a prefix of names, and a seed.\n\n    "
                    "scope = heedml.Scope(seed=1)\n    layer = heedml.Linear(scope / 'head', 64, 10)   # head.weight "
                    "(64, 10), head.bias (10)\n\nInitial values depend on the seed and the full name alone.")
      .def(
          "__init__",
          [](Place* self, const std::optional<Parameters>& parameters, std::uint64_t seed, const TypeName& dtype) {
            auto store = std::make_shared<Parameters>(parameters.value_or(Parameters()));
            const Scope scope(*store, seed, dtype_of_name("Scope", dtype));
            new (self) Place{std::move(store), scope};
          },
          "parameters"_a = nb::none(), "seed"_a = 1, "dtype"_a = nb::none())
      .def(
          "__truediv__",
          [](const Place& at, const std::variant<int, std::string>& name) {
            return std::visit([&](const auto& part) { return Place{at.store, at.scope / part}; }, name);
          },
          nb::is_operator())
      .def_prop_ro(
          "name", [](const Place& at) { return at.scope.name(); }, "The prefix: 'encoder.0'.")
      .def_prop_ro(
          "parameters", [](const Place& at) { return *at.store; }, "The store of the parameters made here.")
      .def(
          "parameter",
          [](const Place& at, const std::string& name, const Sizes& sizes, nb::handle init) {
            const Shape shape = shape_of("parameter", sizes);
            return Tensor(at.scope.parameter(name, shape, init_named(init, shape)));
          },
          "name"_a, "shape"_a, "init"_a = "zeros",
          nb::sig("def parameter(self, name: str, shape: int | collections.abc.Sequence[int], init: str | float | Init "
                  "= 'zeros') -> Tensor"),
          "Makes a parameter. `init`: 'zeros', 'ones', 'xavier', a standard deviation, or an Init.")
      .def("__repr__", [](const Place& at) { return fmt::format("heedml.Scope('{}')", at.scope.name()); });
}

void bind_simple_layers(nb::module_& m) {
  nb::class_<Linear>(m, "Linear",
                     "Returns y = x W + b: (..., in) -> (..., out). The weight is (in, out); torch has (out, in).\n\n  "
                     "  layer = heedml.Linear(scope / 'out', 64, 10)\n    logits = layer(x)   # (B, 64) -> (B, 10)")
      .def(
          "__init__",
          [](Linear* self, const Place& at, int in, int out, bool bias) {
            new (self) Linear(at.scope, in, out, {bias});
          },
          "scope"_a, "in_features"_a, "out_features"_a, "bias"_a = true)
      .def("__call__", &Linear::operator(), "x"_a, Unlocked())
      .def_ro("name", &Linear::name)
      .def_prop_ro("weight", getter(&Linear::weight), "(in, out)")
      .def_prop_ro("bias", optional_getter(&Linear::bias), "(out), or None")
      .def("__repr__",
           [](const Linear& l) { return layer_text("Linear", l.name, l.weight.size(0), l.weight.size(1)); });
  nb::class_<Embedding>(m, "Embedding", "Returns rows of weight (count, d): ids (...) -> (..., d).")
      .def("__init__", made_in<Embedding, int, int, double>(), "scope"_a, "count"_a, "d"_a, "deviation"_a = 1.0)
      .def(
          "__call__", [](const Embedding& l, const IntegerArray& ids) { return l(ids_of("Embedding", ids)); }, "ids"_a)
      .def_ro("name", &Embedding::name)
      .def_prop_ro("weight", getter(&Embedding::weight), "(count, d)")
      .def("__repr__",
           [](const Embedding& l) { return layer_text("Embedding", l.name, l.weight.size(0), l.weight.size(1)); });
  nb::class_<LearnedPositions>(m, "LearnedPositions",
                               "Adds a learned vector for each position: x (B, T, d), T <= max_length.")
      .def("__init__", made_in<LearnedPositions, int, int, double>(), "scope"_a, "max_length"_a, "d"_a,
           "deviation"_a = 1.0)
      .def(
          "__call__", [](const LearnedPositions& l, const Tensor& x) { return l(x); }, "x"_a, Unlocked())
      .def_ro("name", &LearnedPositions::name)
      .def_prop_ro("weight", getter(&LearnedPositions::weight), "(max_length, d)")
      .def("__repr__", [](const LearnedPositions& l) {
        return layer_text("LearnedPositions", l.name, l.weight.size(0), l.weight.size(1));
      });
  nb::class_<Norm>(m, "Norm", "Normalises the last axis: LayerNorm, or RMSNorm with kind='rms'.")
      .def(
          "__init__",
          [](Norm* self, const Place& at, int d, nb::kwargs fields) {
            if (!fields.contains("epsilon") && fields.contains("kind") &&
                nb::cast<std::string>(nb::str(fields["kind"])) == "rms")
              fields["epsilon"] = rms_config.epsilon;
            new (self) Norm(at.scope, d, block_config("norm", fields).norm);
          },
          nb::sig("def __init__(self, scope: Scope, d: int, *, kind: str = 'layer', epsilon: float = 1e-5, "
                  "gain_offset: bool = False, bias: bool = True) -> None"))
      .def("__call__", &Norm::operator(), "x"_a, Unlocked())
      .def_ro("name", &Norm::name)
      .def_prop_ro("gain", getter(&Norm::gain), "(d)")
      .def_prop_ro("bias", optional_getter(&Norm::bias), "(d), or None")
      .def("__repr__", [](const Norm& l) {
        return layer_text("Norm", l.name, l.gain.size(0), fmt::format("kind='{}'", name_of(l.config.kind)));
      });
  nb::class_<Mlp>(
      m, "Mlp",
      "Two linear layers with an activation between them, or three with a gate: (..., d_model) -> (..., d_model).")
      .def(
          "__init__",
          [](Mlp* self, const Place& at, int d_model, nb::kwargs fields) {
            new (self) Mlp(at.scope, d_model, block_config("mlp", fields).mlp);
          },
          nb::sig("def __init__(self, scope: Scope, d_model: int, *, width: int, activation: str = 'gelu', gated: bool "
                  "= False, bias: bool = True) -> None"))
      .def("__call__", &Mlp::operator(), "x"_a, Unlocked())
      .def_ro("name", &Mlp::name)
      .def("__repr__", [](const Mlp& l) {
        return layer_text("Mlp", l.name, fmt::format("width={}", l.in.weight.size(1)),
                          fmt::format("activation='{}'", name_of(l.activation)));
      });
}

AttentionResult attended(const MultiHeadAttention& l, const Tensor& x, const std::optional<Tensor>& keys,
                         const std::optional<Mask>& mask, bool weights) {
  return l(x, keys.value_or(x), mask.value_or(Mask()), {.weights = weights});
}

void bind_attention_layers(nb::module_& m) {
  nb::class_<Mask>(m, "Mask",
                   "The keys that each query may attend to; by default all.\n\n    mask = heedml.Mask.causal() & "
                   "heedml.Mask.padding([3, 5], 5)")
      .def(nb::init<>())
      .def(
          "__init__", [](Mask* self, const BooleanArray& visible) { new (self) Mask(booleans_of("Mask", visible)); },
          "visible"_a, "Takes booleans that broadcast to (B, heads, T_q, T_k).")
      .def_static(
          "causal", [] { return Mask::causal(); },
          "Returns a mask in which query i sees key j when j <= i + keys - queries: the last query sees all keys.")
      .def_static(
          "window", [](std::int64_t before, std::int64_t after) { return Mask::window(before, after); }, "before"_a,
          "after"_a, "Returns a sliding window around each query.")
      .def_static(
          "padding",
          [](const Sizes& lengths, int T) {
            const Ids ids = ids_of("padding", {lengths.given});
            return Mask::padding(std::span<const int>(ids.begin(), ids.end()), T);
          },
          "lengths"_a, "T"_a, "Returns a mask in which key j of text b is visible when j < lengths[b].")
      .def("__and__", &Mask::operator&, nb::is_operator())
      .def(
          "hidden",
          [](const Mask& mask, std::int64_t T_q, std::int64_t T_k) {
            return BoolArray{array_of(mask.hidden(T_q, T_k))};
          },
          "T_q"_a, "T_k"_a, "Returns the hidden keys as booleans.")
      .def("__repr__", [](const Mask& mask) {
        return fmt::format(
            "heedml.Mask({}{})",
            mask.has_visible() ? fmt::format("visible of shape {}", to_string(mask.visible().shape())) : "every key",
            mask.has_band() ? ", within a band" : "");
      });
  nb::class_<AttentionResult>(m, "AttentionResult",
                              "The output of attention, and its weights and scores where they were asked for.")
      .def_ro("output", &AttentionResult::output, "(..., T_q, d_v)")
      .def_prop_ro("weights", optional_getter(&AttentionResult::weights), "(..., T_q, T_k), or None")
      .def_prop_ro("scores", optional_getter(&AttentionResult::scores), "(..., T_q, T_k), or None");
  m.def(
      "attention",
      [](const Tensor& Q, const Tensor& K, const Tensor& V, const std::optional<Mask>& mask, double scale,
         double soft_cap, const std::optional<Tensor>& bias, bool weights, bool scores) {
        return attention(Q, K, V, {mask.value_or(Mask()), scale, soft_cap, or_undefined(bias), weights, scores});
      },
      "Q"_a, "K"_a, "V"_a, "mask"_a = nb::none(), "scale"_a = 0.0, "soft_cap"_a = 0.0, "bias"_a = nb::none(),
      "weights"_a = false, "scores"_a = false, Unlocked(),
      "Returns softmax(Q K^T / sqrt(d_k)) V (Vaswani et al. 2017): Q (..., T_q, d_k), K (..., T_k, d_k), V (..., T_k, "
      "d_v).\n\n"
      "A fully masked row gives output 0, weights 0 and gradients 0.");
  nb::class_<RotaryEmbedding>(m, "RotaryEmbedding",
                              "Rotates pairs of features by the angle of their position (Su et al. 2021): (..., T, d).")
      .def(
          "__init__",
          [](RotaryEmbedding* self, int max_length, int d, const TypeName& dtype, nb::kwargs fields) {
            const RotaryConfig config = transformer_config("rotary", fields).rotary;
            new (self) RotaryEmbedding(max_length, rotary_frequencies(d, config), config.pairs,
                                       dtype_of_name("RotaryEmbedding", dtype), config.amplitude);
          },
          "max_length"_a, "d"_a, nb::kw_only(), "dtype"_a = nb::none(), "fields"_a,
          nb::sig("def __init__(self, max_length: int, d: int, *, dtype: DTypeLike | None = None, base: float = 10000, "
                  "fraction: float = 1, pairs: str "
                  "= 'halves', scaling: str = 'none', factor: float = 1, low_frequency: float = 1, high_frequency: "
                  "float = 4, original_length: int = 8192, amplitude: float = 1) -> None"))
      .def("__call__", &RotaryEmbedding::operator(), "x"_a, "first"_a = 0, Unlocked())
      .def("__repr__",
           [](const RotaryEmbedding& l) { return fmt::format("heedml.RotaryEmbedding({})", l.max_length); });
  nb::class_<MultiHeadAttention>(
      m, "MultiHeadAttention",
      "Multi-head attention (Vaswani et al. 2017): x (B, T, d_model) -> output (B, T, d_model), weights (B, heads, T, "
      "T).\n\n    layer = heedml.MultiHeadAttention(scope / 'attention', d_model=64, heads=4)\n    result = layer(x, "
      "mask=heedml.Mask.causal(), weights=True)\n    result.output, result.weights")
      .def(
          "__init__",
          [](MultiHeadAttention* self, const Place& at, std::optional<RotaryEmbedding> rotary, nb::kwargs fields) {
            new (self) MultiHeadAttention(at.scope, block_config("attention", fields).attention, std::move(rotary));
          },
          "scope"_a, "rotary"_a = nb::none(), "fields"_a,
          nb::sig("def __init__(self, scope: Scope, rotary: RotaryEmbedding | None = None, *, d_model: int, heads: int "
                  "= 1, kv_heads: int = 0, d_k: int = 0, d_v: int = 0, bias: bool = False, output_bias: bool = True, "
                  "tie: str = 'none', query_key_norm: str = 'none', scale: float = 0, soft_cap: float = 0, window: int "
                  "= 0) -> None"))
      .def("__call__", &attended, "x"_a, "keys"_a = nb::none(), "mask"_a = nb::none(), "weights"_a = false, Unlocked(),
           "Attends from x to itself, or to `keys` (B, T_k, d_model).")
      .def_ro("name", &MultiHeadAttention::name)
      .def_ro("W_Q", &MultiHeadAttention::W_Q)
      .def_ro("W_K", &MultiHeadAttention::W_K)
      .def_ro("W_V", &MultiHeadAttention::W_V)
      .def_ro("W_O", &MultiHeadAttention::W_O)
      .def("__repr__", [](const MultiHeadAttention& l) {
        return layer_text("MultiHeadAttention", l.name, fmt::format("d_model={}", l.config.d_model),
                          fmt::format("heads={}", l.config.heads));
      });
  nb::class_<TransformerBlock>(
      m, "TransformerBlock",
      "Attention, then an MLP, each with norms and a residual: (B, T, d_model) -> (B, T, d_model).\n\n    block = "
      "heedml.TransformerBlock(scope / 0, attention={'d_model': 64, 'heads': 4}, mlp={'width': 256})")
      .def(
          "__init__",
          [](TransformerBlock* self, const Place& at, std::optional<RotaryEmbedding> rotary, bool residual,
             nb::kwargs fields) {
            new (self) TransformerBlock(at.scope, block_config("", fields), {residual, std::move(rotary)});
          },
          "scope"_a, "rotary"_a = nb::none(), "residual"_a = true, "fields"_a,
          nb::sig("def __init__(self, scope: Scope, rotary: RotaryEmbedding | None = None, residual: bool = True, *, "
                  "attention: dict[str, typing.Any], mlp: dict[str, typing.Any] = {}, norm: dict[str, typing.Any] = "
                  "{}, placement: str = 'before', parallel: bool = False, shared_norm: bool = False, attention_norm: "
                  "bool = True, residual_scale: float = 1) -> None"))
      .def(
          "__call__",
          [](const TransformerBlock& l, const Tensor& x, const std::optional<Mask>& mask, bool weights) {
            return l(x, mask.value_or(Mask()), {.weights = weights});
          },
          "x"_a, "mask"_a = nb::none(), "weights"_a = false, Unlocked())
      .def_ro("name", &TransformerBlock::name)
      .def_ro("attention", &TransformerBlock::attention)
      .def("__repr__", [](const TransformerBlock& l) {
        return layer_text("TransformerBlock", l.name, fmt::format("d_model={}", l.config.attention.d_model),
                          fmt::format("heads={}", l.config.attention.heads));
      });
  m.def(
      "sinusoidal_positions", [](int T, int d) { return sinusoidal_positions(T, d); }, "T"_a, "d"_a,
      "Returns the sinusoidal position vectors (T, d) (Vaswani et al. 2017).");
}

}  // namespace

void bind_layers(nb::module_& m) {
  bind_parameters(m);
  bind_simple_layers(m);
  bind_attention_layers(m);
}

}  // namespace heed::python
