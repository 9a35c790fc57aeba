#include "bindings/config.h"

#include <heed/autograd/convolution.h>
#include <heed/nn/batch_norm.h>
#include <heed/nn/convolution.h>
#include <heed/nn/recurrent.h>

#include <fmt/format.h>

#include <algorithm>

// Layers beside those of transformers: convolutions, pooling, norms over channels, recurrence.
namespace heed::python {
namespace {

// Returns a number for both axes, or one for each.
HeightWidth pair_of(const char* where, const Sizes& sizes) {
  const std::vector<std::int64_t> numbers = numbers_of(where, sizes);
  if (numbers.empty() || numbers.size() > 2) fail("{}: expected one number or two, got {}", where, numbers.size());
  return {numbers.front(), numbers.back()};
}

// The arguments of convolutions by name: stride, padding, dilation, groups, output_padding and bias.
class Named {
 public:
  Named(const char* where, const nb::kwargs& given) : where_(where), given_(given) {}

  HeightWidth pair(const char* name, std::int64_t otherwise) {
    return given_.contains(name) ? pair_of(where_, {taken(name)}) : HeightWidth(otherwise);
  }
  std::int64_t number(const char* name, std::int64_t otherwise) {
    return given_.contains(name) ? number_of(where_, taken(name)) : otherwise;
  }
  bool flag(const char* name, bool otherwise) {
    return given_.contains(name) ? nb::cast<bool>(taken(name)) : otherwise;
  }
  // Throws Error for a name that was not asked for.
  void finish() const {
    for (const auto [name, value] : given_) {
      const std::string text = nb::cast<std::string>(name);
      if (std::ranges::find(names_, text) == names_.end()) fail("{}: unknown argument '{}'", where_, text);
    }
  }

 private:
  nb::object taken(const char* name) {
    names_.push_back(name);
    return nb::borrow(given_[name]);
  }

  const char* where_;
  const nb::kwargs& given_;
  std::vector<std::string> names_;
};

template <class Options>
Options conv_options(const char* where, const nb::kwargs& given) {
  Named named(where, given);
  Options options;
  options.stride = named.pair("stride", 1);
  options.padding = named.pair("padding", 0);
  options.dilation = named.pair("dilation", 1);
  options.groups = static_cast<decltype(options.groups)>(named.number("groups", 1));
  if constexpr (requires { options.output_padding; }) options.output_padding = named.pair("output_padding", 0);
  if constexpr (requires { options.bias; }) options.bias = named.flag("bias", true);
  named.finish();
  return options;
}

template <class Options>
void convolution(nb::module_& m, const char* name, const char* signature, const char* doc,
                 Tensor (*f)(const Tensor&, const Tensor&, const Tensor&, const Options&)) {
  m.def(
      name,
      [f, name](const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias, const nb::kwargs& given) {
        const auto options = conv_options<Options>(name, given);
        const nb::gil_scoped_release release;
        return f(x, weight, or_undefined(bias), options);
      },
      "x"_a, "weight"_a, "bias"_a = nb::none(), "options"_a, nb::sig(signature), doc);
}

#define HEED_CONV \
  "stride: int | tuple[int, int] = 1, padding: int | tuple[int, int] = 0, dilation: int | tuple[int, int] = 1, "

template <class Layer, class Options, class Kernel>
void conv_layer(nb::module_& m, const char* name, const char* signature, const char* doc, Kernel kernel_of) {
  nb::class_<Layer>(m, name, doc)
      .def(
          "__init__",
          [name, kernel_of](Layer* self, const Place& at, int in, int out, const Sizes& kernel,
                            const nb::kwargs& given) {
            new (self) Layer(at.scope, in, out, kernel_of(name, kernel), conv_options<Options>(name, given));
          },
          "scope"_a, "in_channels"_a, "out_channels"_a, "kernel"_a, "options"_a, nb::sig(signature))
      .def("__call__", &Layer::operator(), "x"_a, Unlocked())
      .def_ro("name", &Layer::name)
      .def_prop_ro("weight", [](const Layer& l) { return Tensor(l.weight); })
      .def_prop_ro(
          "bias", [](const Layer& l) { return or_none(l.bias); }, nb::sig("def bias(self) -> Tensor | None"))
      .def("__repr__", [name](const Layer& l) {
        return fmt::format("heedml.{}('{}', weight={})", name, l.name, to_string(l.weight.shape()));
      });
}

void bind_convolutions(nb::module_& m) {
  convolution(m, "conv1d",
              "def conv1d(x: Tensor, weight: Tensor, bias: Tensor | None = None, *, " HEED_CONV
              "groups: int = 1) -> Tensor",
              "Returns the convolution of x (B, in, T) with weight (out, in / groups, kernel): (B, out, T').", &conv1d);
  convolution(
      m, "conv2d",
      "def conv2d(x: Tensor, weight: Tensor, bias: Tensor | None = None, *, " HEED_CONV "groups: int = 1) -> Tensor",
      "Returns the convolution of x (B, in, H, W) with weight (out, in / groups, height, width): (B, out, H', W').",
      &conv2d);
  convolution(m, "conv_transpose2d",
              "def conv_transpose2d(x: Tensor, weight: Tensor, bias: Tensor | None = None, *, " HEED_CONV
              "output_padding: int | tuple[int, int] = 0, groups: int = 1) -> Tensor",
              "Returns the transpose of conv2d: x (B, in, H, W), weight (in, out / groups, height, width).",
              &conv_transpose2d);
  const auto pooling = [&](const char* name, const char* doc, auto f) {
    m.def(
        name,
        [f, name](const Tensor& x, const Sizes& kernel, const Sizes& stride, const Sizes& padding) {
          const HeightWidth window = pair_of(name, kernel), step = pair_of(name, stride),
                            zeros = pair_of(name, padding);
          const nb::gil_scoped_release release;
          return f(x, window, PoolOptions{step, zeros});
        },
        "x"_a, "kernel"_a, "stride"_a = 0, "padding"_a = 0, doc);
  };
  pooling("max_pool2d",
          "Returns the largest element of each window of x (B, C, H, W); stride 0 means that of the kernel.",
          &max_pool2d);
  pooling("avg_pool2d", "Returns the mean of each window of x (B, C, H, W); stride 0 means that of the kernel.",
          &avg_pool2d);
  conv_layer<Conv1d, ConvLayerOptions>(
      m, "Conv1d",
      "def __init__(self, scope: Scope, in_channels: int, out_channels: int, kernel: int, *, " HEED_CONV
      "groups: int = 1, bias: bool = True) -> None",
      "Convolves along the last axis: (B, in, T) -> (B, out, T').",
      [](const char* name, const Sizes& kernel) { return static_cast<int>(number_of(name, kernel.given)); });
  const char* const two_axes =
      "def __init__(self, scope: Scope, in_channels: int, out_channels: int, kernel: int | tuple[int, int], "
      "*, " HEED_CONV "groups: int = 1, bias: bool = True) -> None";
  conv_layer<Conv2d, ConvLayerOptions>(m, "Conv2d", two_axes,
                                       "Convolves images: (B, in, H, W) -> (B, out, H', W').\n\n    layer = "
                                       "heedml.Conv2d(scope / 'conv', 3, 16, 3, stride=2, "
                                       "padding=1)",
                                       &pair_of);
  conv_layer<ConvTranspose2d, ConvTransposeLayerOptions>(
      m, "ConvTranspose2d",
      "def __init__(self, scope: Scope, in_channels: int, out_channels: int, kernel: int | tuple[int, int], "
      "*, " HEED_CONV "output_padding: int | tuple[int, int] = 0, groups: int = 1, bias: bool = True) -> None",
      "The transpose of Conv2d, which enlarges images: (B, in, H, W) -> (B, out, H', W').", &pair_of);
}

Phase phase_of(const std::string& name) {
  if (name == "train") return Phase::train;
  if (name == "evaluate") return Phase::evaluate;
  fail("BatchNorm: phase: expected 'train' or 'evaluate', got '{}'", name);
}

void bind_channel_norms(nb::module_& m) {
  nb::class_<BatchNorm>(
      m, "BatchNorm",
      "Normalises each channel (axis 1) over the batch, or by the running statistics with "
      "phase='evaluate'.\n\n    norm = heedml.BatchNorm(scope / 'norm', 16)\n    y = norm(x, 'train')   # (B, 16, ...)")
      .def(
          "__init__",
          [](BatchNorm* self, const Place& at, int channels, double epsilon, double momentum) {
            new (self) BatchNorm(at.scope, channels, {epsilon, momentum});
          },
          "scope"_a, "channels"_a, "epsilon"_a = 1e-5, "momentum"_a = 0.1)
      .def(
          "__call__",
          [](const BatchNorm& l, const Tensor& x, const std::string& phase) { return l(x, phase_of(phase)); }, "x"_a,
          "phase"_a, nb::sig("def __call__(self, x: Tensor, phase: typing.Literal['train', 'evaluate']) -> Tensor"))
      .def_ro("name", &BatchNorm::name)
      .def_prop_ro("running_mean", [](const BatchNorm& l) { return Tensor(l.running_mean); })
      .def_prop_ro("running_variance", [](const BatchNorm& l) { return Tensor(l.running_variance); })
      .def("__repr__",
           [](const BatchNorm& l) { return fmt::format("heedml.BatchNorm('{}', {})", l.name, l.gain.size(0)); });
  nb::class_<GroupNorm>(m, "GroupNorm", "Normalises groups of channels (axis 1) of each text or image: (B, C, ...).")
      .def(
          "__init__",
          [](GroupNorm* self, const Place& at, int groups, int channels, double epsilon) {
            new (self) GroupNorm(at.scope, groups, channels, epsilon);
          },
          "scope"_a, "groups"_a, "channels"_a, "epsilon"_a = 1e-5)
      .def("__call__", &GroupNorm::operator(), "x"_a, Unlocked())
      .def_ro("name", &GroupNorm::name)
      .def("__repr__", [](const GroupNorm& l) {
        return fmt::format("heedml.GroupNorm('{}', {}, {})", l.name, l.groups, l.gain.size(0));
      });
}

Lengths lengths_of(const char* where, const IntegerArray& lengths) {
  return lengths.given.is_valid() && !lengths.given.is_none() ? Lengths(ids_of(where, lengths)) : Lengths();
}

template <class Layer>
nb::class_<Layer> recurrent(nb::module_& m, const char* name, const char* doc) {
  return nb::class_<Layer>(m, name, doc)
      .def(
          "__init__",
          [](Layer* self, const Place& at, int in, int hidden, int layers) {
            new (self) Layer(at.scope, {.in = in, .hidden = hidden, .layers = layers});
          },
          "scope"_a, "in_features"_a, "hidden"_a, "layers"_a = 1)
      .def("__repr__", [name](const Layer& l) {
        return fmt::format("heedml.{}({}, {}, layers={})", name, l.layers[0].input.weight.size(0),
                           l.layers[0].hidden.weight.size(0), l.layers.size());
      });
}

void bind_recurrence(nb::module_& m) {
  using Tensors = std::vector<Tensor>;
  recurrent<LSTM>(
      m, "LSTM",
      "A long short-term memory: x (B, T, in) -> output (B, T, hidden) and the state (h, c), one (B, hidden) per "
      "layer each.\n\n    lstm = heedml.LSTM(scope / 'lstm', 32, 64)\n    output, state = lstm(x)\n    output, state = "
      "lstm(more, ([h.detach() for h in state[0]], [c.detach() for c in state[1]]))")
      .def(
          "__call__",
          [](const LSTM& l, const Tensor& x, const std::optional<std::pair<Tensors, Tensors>>& state,
             const IntegerArray& lengths) {
            const Lengths ends = lengths_of("LSTM", lengths);
            const LSTM::State initial = state ? LSTM::State{state->first, state->second} : LSTM::State{};
            const nb::gil_scoped_release release;
            LSTM::Result result = l(x, initial, ends);
            return std::pair(result.output, std::pair(result.state.h, result.state.c));
          },
          "x"_a, "state"_a = nb::none(), "lengths"_a = nb::none());
  recurrent<GRU>(
      m, "GRU",
      "A gated recurrent unit: x (B, T, in) -> output (B, T, hidden) and the state, one (B, hidden) per layer.")
      .def(
          "__call__",
          [](const GRU& l, const Tensor& x, const std::optional<Tensors>& state, const IntegerArray& lengths) {
            const Lengths ends = lengths_of("GRU", lengths);
            const nb::gil_scoped_release release;
            GRU::Result result = l(x, state.value_or(Tensors()), ends);
            return std::pair(result.output, result.state);
          },
          "x"_a, "state"_a = nb::none(), "lengths"_a = nb::none());
}

}  // namespace

void bind_channels(nb::module_& m) {
  bind_convolutions(m);
  bind_channel_norms(m);
  bind_recurrence(m);
}

}  // namespace heed::python
