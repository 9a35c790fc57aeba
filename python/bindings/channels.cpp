#include "bindings/config.h"

#include <heed/autograd/convolution.h>
#include <heed/nn/batch_norm.h>
#include <heed/nn/convolution.h>
#include <heed/nn/recurrent.h>

#include <nanobind/stl/tuple.h>

// Layers beside those of transformers: convolutions, pooling, norms over channels, recurrence.
namespace heed::python {
namespace {

template <class First, class>
using first_of = First;  // First for each argument that is passed on

// Returns a number for both axes, or one for each.
HeightWidth pair_of(const char* where, const Sizes& sizes) {
  const std::vector<std::int64_t> numbers = numbers_of(where, sizes);
  if (numbers.empty() || numbers.size() > 2) fail("{}: expected one number or two, got {}", where, numbers.size());
  return {numbers.front(), numbers.back()};
}

// Returns the kernel along one axis.
std::int64_t one_of(const char* where, const HeightWidth& kernel) {
  if (kernel.height != kernel.width) {
    fail("{}: the kernel must be one number, got {} and {}", where, kernel.height, kernel.width);
  }
  return kernel.width;
}

using Padding = Later<"int | collections.abc.Sequence[int] | str">;

// `output_padding` of transposed convolutions alone.
template <class Options, class... Output>
Options conv_options(const char* where, HeightWidth kernel, const Sizes& stride, const Padding& padding,
                     const Sizes& dilation, int groups, const Output&... output_padding) {
  Options options;
  options.stride = pair_of(where, stride), options.dilation = pair_of(where, dilation), options.groups = groups;
  if (nb::isinstance<nb::str>(padding.given)) {
    const std::string name = nb::cast<std::string>(padding.given);
    const bool is_same = name == "same";
    if ((!is_same && name != "valid") || sizeof...(output_padding) > 0) {
      fail("{}: padding is one number or two{}, got '{}'", where,
           sizeof...(output_padding) > 0 ? "" : ", 'same' or 'valid'", name);
    }
    if (is_same && options.stride != HeightWidth(1)) fail("{}: padding 'same' needs stride 1; give numbers", where);
    if (is_same) options.padding = same_padding(kernel, options.dilation);
  } else {
    options.padding = pair_of(where, {padding.given});
  }
  ((options.output_padding = pair_of(where, output_padding)), ...);
  return options;
}

template <class Options, class... Output>
void convolution(nb::module_& m, const char* name, const char* doc,
                 Tensor (*f)(const Tensor&, const Tensor&, const Tensor&, const Options&), const Output&... output) {
  m.def(
      name,
      [f, name](const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias, const Sizes& stride,
                const Padding& padding, const Sizes& dilation, int groups, first_of<Sizes, Output>... output_padding) {
        const Shape& shape = weight.shape();
        const HeightWidth kernel = shape.rank() == 4   ? HeightWidth(shape[2], shape[3])
                                   : shape.rank() == 3 ? HeightWidth(shape[2])
                                                       : HeightWidth(1);  // f refuses it
        const auto options = conv_options<Options>(name, kernel, stride, padding, dilation, groups, output_padding...);
        const nb::gil_scoped_release release;
        return f(x, weight, or_undefined(bias), options);
      },
      "x"_a, "weight"_a, "bias"_a = nb::none(), nb::kw_only(), "stride"_a = 1, "padding"_a = 0, "dilation"_a = 1,
      "groups"_a = 1, output..., doc);
}

template <class Layer, class Options, class Kernel, class... Output>
void conv_layer(nb::module_& m, const char* name, Kernel kernel_of, const Output&... output) {
  bind_layer<Layer>(
      m, name, [](const Layer& l) { return fmt::format("weight={}", to_string(l.weight.shape())); },
      "(out, in / groups, kernel...), or (in, out / groups, kernel...) of a transposed convolution", "(out), or None")
      .def(
          "__init__",
          [name, kernel_of](Layer* self, const Place& at, int in, int out, const Sizes& kernel, const Sizes& stride,
                            const Padding& padding, const Sizes& dilation, int groups, bool bias,
                            const InitialValue& init, const InitialValue& bias_init,
                            first_of<Sizes, Output>... output_padding) {
            const auto size = kernel_of(name, kernel);
            auto options = conv_options<Options>(name, size, stride, padding, dilation, groups, output_padding...);
            options.bias = bias, options.bias_init = init_of(name, bias_init, options.bias_init);
            if (init.given && !init.given.is_none()) options.init = init_of(name, init, Init::zeros());
            new (self) Layer(at.scope, in, out, size, options);
          },
          "scope"_a, "in_channels"_a, "out_channels"_a, "kernel"_a, nb::kw_only(), "stride"_a = 1, "padding"_a = 0,
          "dilation"_a = 1, "groups"_a = 1, "bias"_a = true, "init"_a = nb::none(), "bias_init"_a = nb::none(),
          output...)
      .def("__call__", &Layer::operator(), "x"_a, Unlocked());
}

void bind_convolutions(nb::module_& m) {
  convolution(m, "conv1d",
              "Returns the convolution of x (B, in, T) with weight (out, in / groups, kernel): (B, out, T'). "
              "padding='same' keeps T.",
              &conv1d);
  convolution(
      m, "conv2d",
      "Returns the convolution of x (B, in, H, W) with weight (out, in / groups, height, width): (B, out, H', W'). "
      "padding='same' keeps H and W.",
      &conv2d);
  convolution(m, "conv_transpose2d",
              "Returns the transpose of conv2d: x (B, in, H, W), weight (in, out / groups, height, width).",
              &conv_transpose2d, "output_padding"_a = 0);
  convolution(m, "conv_transpose1d",
              "Returns the transpose of conv1d: x (B, in, T), weight (in, out / groups, kernel) -> (B, out, T').",
              &conv_transpose1d, "output_padding"_a = 0);
  const auto pooling = [&](const char* name, const char* doc, auto f) {
    m.def(
        name,
        [f, name](const Tensor& x, const Sizes& kernel, const Sizes& stride, const Sizes& padding) {
          const HeightWidth window = pair_of(name, kernel);
          const PoolOptions options{pair_of(name, stride), pair_of(name, padding)};
          const nb::gil_scoped_release release;
          return f(x, window, options);
        },
        "x"_a, "kernel"_a, "stride"_a = 0, "padding"_a = 0, doc);
  };
  pooling("max_pool2d",
          "Returns the largest element of each window of x (B, C, H, W); stride 0 means that of the kernel.",
          &max_pool2d);
  pooling("avg_pool2d", "Returns the mean of each window of x (B, C, H, W); stride 0 means that of the kernel.",
          &avg_pool2d);
  pooling("max_pool1d", "Returns the largest element of each window of x (B, C, T).",
          [](const Tensor& x, HeightWidth kernel, const PoolOptions& o) {
            return max_pool1d(x, one_of("max_pool1d", kernel), o);
          });
  pooling("avg_pool1d", "Returns the mean of each window of x (B, C, T).",
          [](const Tensor& x, HeightWidth kernel, const PoolOptions& o) {
            return avg_pool1d(x, one_of("avg_pool1d", kernel), o);
          });
  conv_layer<Conv1d, ConvLayerOptions>(m, "Conv1d", [](const char* name, const Sizes& kernel) {
    const std::vector<std::int64_t> numbers = numbers_of(name, kernel);
    if (numbers.size() != 1) fail("{}: expected one number as the kernel, got {}", name, numbers.size());
    if (numbers[0] != static_cast<int>(numbers[0])) fail("{}: the kernel must be below 2^31, got {}", name, numbers[0]);
    return static_cast<int>(numbers[0]);
  });
  conv_layer<Conv2d, ConvLayerOptions>(m, "Conv2d", &pair_of);
  conv_layer<ConvTranspose2d, ConvTransposeLayerOptions>(m, "ConvTranspose2d", &pair_of, "output_padding"_a = 0);
}

Phase phase_of(const std::string& name) {
  if (name == "train" || name == "evaluate") return name == "train" ? Phase::train : Phase::evaluate;
  fail("BatchNorm: phase: expected 'train' or 'evaluate', got '{}'", name);
}

void bind_channel_norms(nb::module_& m) {
  bind_layer<BatchNorm>(m, "BatchNorm", [](const BatchNorm& l) { return fmt::format("{}", l.gain.size(0)); })
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
      .def_prop_ro("running_mean", getter(&BatchNorm::running_mean))
      .def_prop_ro("running_variance", getter(&BatchNorm::running_variance));
  bind_layer<GroupNorm>(m, "GroupNorm",
                        [](const GroupNorm& l) { return fmt::format("{}, {}", l.groups, l.gain.size(0)); })
      .def("__init__", made_in<GroupNorm, int, int, double>(), "scope"_a, "groups"_a, "channels"_a, "epsilon"_a = 1e-5)
      .def("__call__", &GroupNorm::operator(), "x"_a, Unlocked());
  m.def(
      "batch_norm",
      [](const Tensor& x, const Tensor& gain, const Tensor& bias, double eps) {
        BatchNormResult result = batch_norm(x, gain, bias, eps);
        return std::tuple(result.output, result.mean, result.variance);
      },
      "x"_a, "gain"_a, "bias"_a, "eps"_a = 1e-5, Unlocked(),
      "Returns (x - mean) / sqrt(variance + eps) * gain + bias with the mean and variance of each channel, and these "
      "two, as constants: x (B, C, ...), the others (C).");
  m.def("group_norm", &group_norm, "x"_a, "groups"_a, "gain"_a, "bias"_a, "eps"_a = 1e-5, Unlocked(),
        "Returns (x - mean) / sqrt(variance + eps) * gain + bias with the mean and the variance of each group of "
        "neighbouring channels of each example: x (B, C, ...), gain and bias (C).");
}

Lengths lengths_of(const char* where, const IntegerArray& lengths) {
  return lengths.given.is_valid() && !lengths.given.is_none() ? Lengths(ids_of(where, lengths)) : Lengths();
}

std::string cell_text(const auto& cell) {
  return fmt::format("{}, {}", cell.input.weight.size(0), cell.hidden.weight.size(0));
}

template <class Layer>
nb::class_<Layer> recurrent(nb::module_& m, const char* name) {
  return bind_layer<Layer>(m, name, [](const Layer& l) {
    return fmt::format("{}, layers={}{}", cell_text(l.cells[0]), l.cells.size() / (l.bidirectional ? 2 : 1),
                       l.bidirectional ? ", bidirectional=True" : "");
  });
}

template <class Layer>
auto made_recurrent() {
  return [](Layer* self, const Place& at, int in, int hidden, int layers, bool bidirectional) {
    new (self) Layer(at.scope, in, hidden, {layers, bidirectional});
  };
}

constexpr const char* recurrent_doc =
    "Returns the outputs and the state after the last step. `dropout` is the share of the outputs of each layer but "
    "the last that `random` drops.";

// The __call__ of a layer whose state has one tensor per cell.
template <class Layer>
void bind_reading(nb::class_<Layer>& c, const char* name) {
  using Tensors = std::vector<Tensor>;
  c.def(
      "__call__",
      [name](const Layer& l, const Tensor& x, const std::optional<Tensors>& state, const IntegerArray& lengths,
             double dropout, Random* random) {
        const Lengths ends = lengths_of(name, lengths);
        return with_dropout({.p = dropout}, random, [&](const Dropout& drop) {
          typename Layer::Result result = l(x, state.value_or(Tensors()), ends, drop);
          return std::pair(result.output, Tensors(std::move(result.state)));
        });
      },
      "x"_a, "state"_a = nb::none(), "lengths"_a = nb::none(), nb::kw_only(), "dropout"_a = 0.0,
      "random"_a = nb::none(), recurrent_doc);
}

template <class Cell>
nb::class_<Cell> cell(nb::module_& m, const char* name) {
  return bind_layer<Cell>(m, name, &cell_text<Cell>);
}

// The __call__ of a cell whose state is one tensor.
template <class Cell>
void bind_step(nb::class_<Cell>& c) {
  c.def(
      "__call__",
      [](const Cell& l, const Tensor& x, const std::optional<Tensor>& state) { return l(x, or_undefined(state)); },
      "x"_a, "state"_a = nb::none(), Unlocked());
}

void bind_lstm(nb::module_& m) {
  using Tensors = std::vector<Tensor>;
  recurrent<LSTM>(m, "LSTM")
      .def("__init__", made_recurrent<LSTM>(), "scope"_a, "in_features"_a, "hidden"_a, "layers"_a = 1,
           "bidirectional"_a = false)
      .def(
          "__call__",
          [](const LSTM& l, const Tensor& x, const std::optional<std::pair<Tensors, Tensors>>& state,
             const IntegerArray& lengths, double dropout, Random* random) {
            const Lengths ends = lengths_of("LSTM", lengths);
            const LSTM::State initial = state ? LSTM::State{state->first, state->second} : LSTM::State{};
            return with_dropout({.p = dropout}, random, [&](const Dropout& drop) {
              LSTM::Result result = l(x, initial, ends, drop);
              return std::pair(result.output, std::pair(result.state.h, result.state.c));
            });
          },
          "x"_a, "state"_a = nb::none(), "lengths"_a = nb::none(), nb::kw_only(), "dropout"_a = 0.0,
          "random"_a = nb::none(), recurrent_doc);
  cell<LSTMCell>(m, "LSTMCell")
      .def("__init__", made_in<LSTMCell, int, int>(), "scope"_a, "in_features"_a, "hidden"_a)
      .def(
          "__call__",
          [](const LSTMCell& l, const Tensor& x, const std::optional<std::pair<Tensor, Tensor>>& state) {
            LSTMCell::State next = state ? l(x, {state->first, state->second}) : l(x);
            return std::pair(next.h, next.c);
          },
          "x"_a, "state"_a = nb::none(), Unlocked());
}

void bind_recurrence(nb::module_& m) {
  bind_lstm(m);
  auto gru = recurrent<GRU>(m, "GRU").def("__init__", made_recurrent<GRU>(), "scope"_a, "in_features"_a, "hidden"_a,
                                          "layers"_a = 1, "bidirectional"_a = false);
  bind_reading(gru, "GRU");
  auto gru_cell =
      cell<GRUCell>(m, "GRUCell").def("__init__", made_in<GRUCell, int, int>(), "scope"_a, "in_features"_a, "hidden"_a);
  bind_step(gru_cell);
  auto rnn = recurrent<RNN>(m, "RNN").def(
      "__init__",
      [](RNN* self, const Place& at, int in, int hidden, int layers, bool bidirectional, const std::string& f) {
        new (self) RNN(at.scope, in, hidden, {layers, bidirectional}, value_of<Nonlinearity>("RNN: nonlinearity", f));
      },
      "scope"_a, "in_features"_a, "hidden"_a, "layers"_a = 1, "bidirectional"_a = false, "nonlinearity"_a = "tanh");
  bind_reading(rnn, "RNN");
  auto rnn_cell =
      cell<RNNCell>(m, "RNNCell")
          .def(
              "__init__",
              [](RNNCell* self, const Place& at, int in, int hidden, const std::string& f) {
                new (self) RNNCell(at.scope, in, hidden, value_of<Nonlinearity>("RNNCell: nonlinearity", f));
              },
              "scope"_a, "in_features"_a, "hidden"_a, "nonlinearity"_a = "tanh");
  bind_step(rnn_cell);
}

}  // namespace

void bind_channels(nb::module_& m) {
  bind_convolutions(m);
  bind_channel_norms(m);
  bind_recurrence(m);
}

}  // namespace heed::python
