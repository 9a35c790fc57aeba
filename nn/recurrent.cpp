#include "autograd/internal/dropout.h"

#include <heed/autograd/autocast.h>
#include <heed/autograd/recurrent.h>
#include <heed/nn/adapter.h>
#include <heed/nn/hook.h>
#include <heed/nn/recurrent.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

LinearOptions options(int width, bool bias) {
  return {.bias = bias, .init = Init::uniform(1 / std::sqrt(static_cast<double>(width)))};
}

template <class Cell>
std::vector<Cell> made(const char* what, const Scope& scope, int in, int hidden, RecurrentOptions options,
                       auto... of_cell) {
  if (options.layers < 1) fail("{}: expected at least one layer, got {}", what, options.layers);
  std::vector<Cell> cells;
  for (int l = 0; l < options.layers; ++l) {
    const int width = l == 0 ? in : options.bidirectional ? 2 * hidden : hidden;
    cells.emplace_back(scope / l, width, hidden, of_cell...);
    if (options.bidirectional) cells.emplace_back(scope / fmt::format("{}_reverse", l), width, hidden, of_cell...);
  }
  return cells;
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

// Returns the first state of a cell: given, or zeros (B, width).
Tensor first_state(const char* what, const std::vector<Tensor>& given, std::size_t cells, std::size_t cell,
                   const Tensor& x, std::int64_t width) {
  if (given.empty()) return zeros({x.size(0), width}, x.dtype());
  if (given.size() != cells || given[cell].shape() != Shape{x.size(0), width}) {
    fail("{}: expected a state ({}, {}) for each of {} cells, got {}{}", what, x.size(0), width, cells, given.size(),
         cell < given.size() ? ", of shape " + to_string(given[cell].shape()) : "");
  }
  return given[cell];
}

// Checks the input of a single step, and returns the state: given, or zeros.
Tensor checked_state(const char* what, const Tensor& x, const Tensor& given, const Linear& input,
                     const Linear& hidden) {
  check_defined(what, {&x});
  if (x.rank() != 2 || x.size(1) != input.weight.size(0)) {
    fail("{}: expected x (B, {}), got {}", what, input.weight.size(0), to_string(x.shape()));
  }
  const Shape shape{x.size(0), hidden.weight.size(0)};
  if (!given.defined()) return zeros(shape, x.dtype());
  if (given.shape() != shape) {
    fail("{}: expected a state {}, got {}", what, to_string(shape), to_string(given.shape()));
  }
  return given;
}

// A step of a cell from in = x W + b. Returns the next state, whose first tensor is the output.
std::vector<Tensor> step(const LSTMCell& cell, const Tensor& in, const std::vector<Tensor>& before) {
  const std::int64_t d = cell.hidden.weight.size(0);
  const Tensor gates = in + cell.hidden(before[0]);
  const Tensor input_forget = sigmoid(slice(gates, 1, 0, 2 * d)), out = sigmoid(slice(gates, 1, 3 * d, 4 * d));
  const Tensor c =
      slice(input_forget, 1, d, 2 * d) * before[1] + slice(input_forget, 1, 0, d) * tanh(slice(gates, 1, 2 * d, 3 * d));
  return {out * tanh(c), c};
}

std::vector<Tensor> step(const GRUCell& cell, const Tensor& in, const std::vector<Tensor>& before) {
  const std::int64_t d = cell.hidden.weight.size(0);
  const Tensor h = cell.hidden(before[0]);
  const Tensor gates = sigmoid(slice(in, 1, 0, 2 * d) + slice(h, 1, 0, 2 * d));
  const Tensor n = tanh(slice(in, 1, 2 * d, 3 * d) + slice(gates, 1, 0, d) * slice(h, 1, 2 * d, 3 * d));
  return {n + slice(gates, 1, d, 2 * d) * (before[0] - n)};
}

std::vector<Tensor> step(const RNNCell& cell, const Tensor& in, const std::vector<Tensor>& before) {
  const Tensor y = in + cell.hidden(before[0]);
  return {cell.nonlinearity == Nonlinearity::relu ? relu(y) : tanh(y)};
}

// Runs a cell over x (B, T, in). Returns the outputs (B, T, hidden), and leaves the last state in `state`.
Tensor run(const auto& cell, const Tensor& x, std::vector<Tensor>& state, const std::vector<Booleans>& within) {
  const std::vector<Tensor> inputs = unbind(cell.input(x), 1);  // one product for all steps
  std::vector<Tensor> outputs;
  for (std::size_t t = 0; t < inputs.size(); ++t) {
    std::vector<Tensor> next = step(cell, inputs[t], state);
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

std::vector<Tensor> detached(const std::vector<Tensor>& state) {
  std::vector<Tensor> result;
  for (const Tensor& x : state) result.push_back(x.detach());
  return result;
}

// Runs all layers: each(cell, x, within) returns the outputs of a cell over x, whose steps are along the axis `time`.
Tensor run_layers(std::size_t cells, bool bidirectional, int time, Tensor x, const std::vector<Booleans>& within,
                  const Dropout& drop, auto&& each) {
  detail::check_dropout(drop.p);
  const std::vector<Booleans> reversed(within.rbegin(), within.rend());
  for (std::size_t i = 0; i < cells; i += bidirectional ? 2 : 1) {
    if (i > 0 && drop.p != 0)  // the same elements for each `time`
      x = time == 1 ? drop(x) : transpose(drop(transpose(x, 0, 1)), 0, 1);
    const Tensor forward = each(i, x, within);
    x = bidirectional ? concat({forward, flip(each(i + 1, flip(x, time), reversed), time)}, -1) : forward;
  }
  return x;
}

// Reads x (B, T, in) with a layer whose cells have one tensor of state each.
template <class Layer>
typename Layer::Result read_steps(const char* what, const Layer& layer, const Tensor& x,
                                  const std::vector<Tensor>& initial, const Lengths& lengths, const Dropout& drop) {
  const auto& cells = layer.cells;
  check_input(what, x, cells[0].input.weight.size(0));
  typename Layer::State last;
  const auto each = [&](std::size_t i, const Tensor& inputs, const std::vector<Booleans>& within) {
    std::vector<Tensor> state{first_state(what, initial, cells.size(), i, x, cells[i].hidden.weight.size(0))};
    const Tensor outputs = run(cells[i], inputs, state, within);
    last.push_back(state[0]);
    return outputs;
  };
  const Tensor output = run_layers(cells.size(), layer.bidirectional, 1, x, steps_within(what, x, lengths), drop, each);
  return {output, last};
}

}  // namespace

LSTMCell::LSTMCell(Scope scope, int in, int width)
    : input(scope / "input", in, 4 * width, options(width, true)),
      hidden(scope / "hidden", width, 4 * width, options(width, false)) {}

LSTMCell::State LSTMCell::operator()(const Tensor& x, const State& state) const {
  const std::vector<Tensor> before{checked_state("LSTMCell", x, state.h, input, hidden),
                                   checked_state("LSTMCell", x, state.c, input, hidden)};
  const std::vector<Tensor> next = step(*this, input(x), before);
  return {next[0], next[1]};
}

LSTMCell::State LSTMCell::State::detach() const { return {h.defined() ? h.detach() : h, c.defined() ? c.detach() : c}; }

GRUCell::GRUCell(Scope scope, int in, int width)
    : input(scope / "input", in, 3 * width, options(width, true)),
      hidden(scope / "hidden", width, 3 * width, options(width, true)) {}

Tensor GRUCell::operator()(const Tensor& x, const Tensor& state) const {
  const Tensor before = checked_state("GRUCell", x, state, input, hidden);
  return step(*this, input(x), {before})[0];
}

LSTM::State LSTM::State::detach() const { return {detached(h), detached(c)}; }

LSTM::LSTM(Scope scope, int in, int hidden, RecurrentOptions options)
    : cells(made<LSTMCell>("LSTM", scope, in, hidden, options)), bidirectional(options.bidirectional) {}

LSTM::Result LSTM::operator()(const Tensor& x, const State& initial, const Lengths& lengths,
                              const Dropout& drop) const {
  check_input("LSTM", x, cells[0].input.weight.size(0));
  const std::int64_t T = x.size(1), d = cells[0].hidden.weight.size(0);
  // Hooks, adapters, products of 16 bits and texts of different lengths need single steps.
  const bool is_exact = Autocast::precision(x.dtype()) != Precision::bfloat16;
  const bool at_once =
      !lengths && is_exact && !Hook::is_open() && std::ranges::none_of(cells, [](const LSTMCell& cell) {
        return cell.hidden.weight.adapter && cell.hidden.weight.adapter->A.defined();
      });
  State last;
  const auto each = [&](std::size_t i, const Tensor& inputs, const std::vector<Booleans>& within) {
    std::vector<Tensor> state{first_state("LSTM", initial.h, cells.size(), i, x, d),
                              first_state("LSTM", initial.c, cells.size(), i, x, d)};
    Tensor outputs;
    if (at_once) {
      const Tensor states = lstm(cells[i].input(inputs), cells[i].hidden.weight, state[0], state[1]);
      outputs = slice(states, 0, 0, T);
      state = {states[T - 1], states[T]};
    } else {
      outputs = run(cells[i], inputs, state, within);
    }
    last.h.push_back(state[0]);
    last.c.push_back(state[1]);
    return outputs;
  };
  const int time = at_once ? 0 : 1;
  const Tensor output = run_layers(cells.size(), bidirectional, time, at_once ? transpose(x, 0, 1) : x,
                                   steps_within("LSTM", x, lengths), drop, each);
  return {at_once ? transpose(output, 0, 1) : output, last};
}

GRU::State GRU::State::detach() const { return detached(*this); }

GRU::GRU(Scope scope, int in, int hidden, RecurrentOptions options)
    : cells(made<GRUCell>("GRU", scope, in, hidden, options)), bidirectional(options.bidirectional) {}

GRU::Result GRU::operator()(const Tensor& x, const State& initial, const Lengths& lengths, const Dropout& drop) const {
  return read_steps("GRU", *this, x, initial, lengths, drop);
}

RNNCell::RNNCell(Scope scope, int in, int width, Nonlinearity chosen)
    : input(scope / "input", in, width, options(width, true)),
      hidden(scope / "hidden", width, width, options(width, false)),
      nonlinearity(chosen) {}

Tensor RNNCell::operator()(const Tensor& x, const Tensor& state) const {
  const Tensor before = checked_state("RNNCell", x, state, input, hidden);
  return step(*this, input(x), {before})[0];
}

RNN::RNN(Scope scope, int in, int hidden, RecurrentOptions options, Nonlinearity nonlinearity)
    : cells(made<RNNCell>("RNN", scope, in, hidden, options, nonlinearity)), bidirectional(options.bidirectional) {}

RNN::Result RNN::operator()(const Tensor& x, const State& initial, const Lengths& lengths, const Dropout& drop) const {
  return read_steps("RNN", *this, x, initial, lengths, drop);
}

}  // namespace heed
