#include <heed/autograd/autocast.h>
#include <heed/autograd/recurrent.h>
#include <heed/nn/adapter.h>
#include <heed/nn/hook.h>
#include <heed/nn/recurrent.h>

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

LinearOptions options(int width, bool bias) {
  return {.bias = bias, .init = Init::uniform(1 / std::sqrt(static_cast<double>(width)))};
}

template <class Layer>
std::vector<Layer> made(const char* what, const Scope& scope, const RecurrentConfig& config) {
  if (config.layers < 1) fail("{}: expected at least one layer, got {}", what, config.layers);
  std::vector<Layer> layers;
  for (int l = 0; l < config.layers; ++l) {
    layers.emplace_back(scope / l, l == 0 ? config.in : config.hidden, config.hidden);
  }
  return layers;
}

// For each step the texts that it belongs to, (B, 1); empty: all steps count.
std::vector<Booleans> steps_within(const char* what, const Tensor& x, const Lengths& lengths) {
  std::vector<Booleans> within;
  if (!lengths) return within;
  if (lengths->shape() != Shape{x.size(0)}) {
    fail("{}: expected one length per text, ({}), got {}", what, x.size(0), to_string(lengths->shape()));
  }
  for (const std::int32_t length : *lengths) {
    if (length < 0 || length > x.size(1)) {
      fail("{}: a length must be from 0 to {}, the number of steps, got {}", what, x.size(1), length);
    }
  }
  for (std::int64_t t = 0; t < x.size(1); ++t) {
    std::vector<std::uint8_t> visible;
    for (const std::int32_t length : *lengths) visible.push_back(t < length);
    within.emplace_back(Shape{x.size(0), 1}, visible);
  }
  return within;
}

void check_input(const char* what, const Tensor& x, std::int64_t in) {
  check_defined(what, {&x});
  if (x.rank() != 3 || x.size(1) < 1 || x.size(2) != in) {
    fail("{}: expected x (B, T, {}) with at least one step, got {}", what, in, to_string(x.shape()));
  }
}

// Returns the first state of a layer: given, or zeros (B, width).
Tensor first_state(const char* what, const std::vector<Tensor>& given, std::size_t layers, std::size_t layer,
                   const Tensor& x, std::int64_t width) {
  if (given.empty()) return zeros({x.size(0), width}, x.dtype());
  if (given.size() != layers || given[layer].shape() != Shape{x.size(0), width}) {
    fail("{}: expected a state ({}, {}) for each of {} layers, got {}{}", what, x.size(0), width, layers, given.size(),
         layer < given.size() ? ", of shape " + to_string(given[layer].shape()) : "");
  }
  return given[layer];
}

// Runs one layer: step(x W + b of the step, state) returns the next state, whose first tensor is the output. Returns the outputs (B, T,
// width), and leaves the last state in `state`.
template <class Step>
Tensor run(const Tensor& x, const Linear& input, std::vector<Tensor>& state, const std::vector<Booleans>& within,
           Step&& step) {
  const std::vector<Tensor> inputs = unbind(input(x), 1);  // one product for all steps
  std::vector<Tensor> outputs;
  for (std::size_t t = 0; t < inputs.size(); ++t) {
    std::vector<Tensor> next = step(inputs[t], state);
    if (!within.empty()) {
      outputs.push_back(where(within[t], next[0], 0.0));
      for (std::size_t i = 0; i < next.size(); ++i) next[i] = where(within[t], next[i], state[i]);
    } else {
      outputs.push_back(next[0]);
    }
    state = std::move(next);
  }
  return stack(outputs, 1);
}

}  // namespace

LSTM::State LSTM::State::detach() const {
  State result;
  for (const Tensor& x : h) result.h.push_back(x.detach());
  for (const Tensor& x : c) result.c.push_back(x.detach());
  return result;
}

LSTM::Layer::Layer(Scope scope, int in, int width)
    : input(scope / "input", in, 4 * width, options(width, true)),
      hidden(scope / "hidden", width, 4 * width, options(width, false)) {}

LSTM::LSTM(Scope scope, const RecurrentConfig& config) : layers(made<Layer>("LSTM", scope, config)) {}

LSTM::Result LSTM::operator()(const Tensor& x, const State& initial, const Lengths& lengths) const {
  check_input("LSTM", x, layers[0].input.weight.size(0));
  const std::vector<Booleans> within = steps_within("LSTM", x, lengths);
  const std::int64_t T = x.size(1);
  // Hooks, adapters, products of 16 bits and texts of different lengths need single steps.
  const bool is_exact = Autocast::precision(x.dtype()) != Precision::bfloat16;
  const bool at_once = !lengths && is_exact && !Hook::is_open() && std::ranges::none_of(layers, [](const Layer& layer) {
    return layer.hidden.weight.adapter && layer.hidden.weight.adapter->A.defined();
  });
  Result result{at_once ? transpose(x, 0, 1) : x, {}};
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const std::int64_t d = layers[l].hidden.weight.size(0);
    std::vector<Tensor> state{first_state("LSTM", initial.h, layers.size(), l, x, d),
                              first_state("LSTM", initial.c, layers.size(), l, x, d)};
    if (at_once) {
      const Tensor states = lstm(layers[l].input(result.output), layers[l].hidden.weight, state[0], state[1]);
      result.output = slice(states, 0, 0, T);
      state = {states[T - 1], states[T]};
    } else {
      result.output = run(result.output, layers[l].input, state, within, [&](const Tensor& in, const auto& before) {
        const Tensor gates = in + layers[l].hidden(before[0]);
        const Tensor input_forget = sigmoid(slice(gates, 1, 0, 2 * d)), out = sigmoid(slice(gates, 1, 3 * d, 4 * d));
        const Tensor c = slice(input_forget, 1, d, 2 * d) * before[1] +
                         slice(input_forget, 1, 0, d) * tanh(slice(gates, 1, 2 * d, 3 * d));
        return std::vector{out * tanh(c), c};
      });
    }
    result.state.h.push_back(state[0]);
    result.state.c.push_back(state[1]);
  }
  if (at_once) result.output = transpose(result.output, 0, 1);
  return result;
}

GRU::Layer::Layer(Scope scope, int in, int width)
    : input(scope / "input", in, 3 * width, options(width, true)),
      hidden(scope / "hidden", width, 3 * width, options(width, true)) {}

GRU::GRU(Scope scope, const RecurrentConfig& config) : layers(made<Layer>("GRU", scope, config)) {}

GRU::Result GRU::operator()(const Tensor& x, const State& initial, const Lengths& lengths) const {
  check_input("GRU", x, layers[0].input.weight.size(0));
  const std::vector<Booleans> within = steps_within("GRU", x, lengths);
  Result result{x, {}};
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const std::int64_t d = layers[l].hidden.weight.size(0);
    std::vector<Tensor> state{first_state("GRU", initial, layers.size(), l, x, d)};
    result.output = run(result.output, layers[l].input, state, within, [&](const Tensor& in, const auto& before) {
      const Tensor h = layers[l].hidden(before[0]);
      const Tensor gates = sigmoid(slice(in, 1, 0, 2 * d) + slice(h, 1, 0, 2 * d));
      const Tensor n = tanh(slice(in, 1, 2 * d, 3 * d) + slice(gates, 1, 0, d) * slice(h, 1, 2 * d, 3 * d));
      return std::vector{n + slice(gates, 1, d, 2 * d) * (before[0] - n)};
    });
    result.state.push_back(state[0]);
  }
  return result;
}

}  // namespace heed
