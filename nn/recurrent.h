#pragma once
#include <heed/autograd/enum_names.h>
#include <heed/nn/dropout.h>
#include <heed/nn/layers.h>

#include <optional>
#include <utility>
#include <vector>

namespace heed {

/// Options of LSTM, GRU and RNN.
struct RecurrentOptions {
  int layers = 1;
  bool bidirectional =
      false;  ///< a second network per layer reads from the end; outputs of both, (..., 2 hidden), follow each other
};

/// Lengths of the texts of a batch, (B): steps from a text's length on leave its state as it is, and their outputs are 0. An empty
/// optional: every step counts.
using Lengths = std::optional<Ids>;

/// The function of an RNN.
enum class Nonlinearity { tanh, relu };
template <>
inline constexpr EnumName<Nonlinearity> enum_names<Nonlinearity>[] = {{Nonlinearity::tanh, "tanh"},
                                                                      {Nonlinearity::relu, "relu"}};

/// One step of a long short-term memory (Hochreiter & Schmidhuber 1997), as torch.nn.LSTMCell computes it:
///
///     i, f, o = sigmoid(x W + h U + b),  g = tanh(x W + h U + b),  c = f c + i g,  h = o tanh(c)
///
/// The columns of W and U are i, f, g, o. PyTorch's weight_ih (4 hidden, in) is the transpose of input.weight, and its two biases are
/// added here.
///
///     const LSTMCell cell(scope / "cell", 32, 64);
///     LSTMCell::State state;                                     // zeros
///     for (const Tensor& x : inputs) state = cell(x, state);   // x (B, 32); state.h and state.c (B, 64)
struct LSTMCell {
  /// State after a step, (B, hidden) each. Undefined: zeros.
  struct State {
    Tensor h, c;
    /// Returns the state as constants, for truncated backpropagation through time.
    State detach() const;
  };
  Linear input, hidden;                       ///< (in, 4 hidden) with a bias, (hidden, 4 hidden) without
  LSTMCell(Scope scope, int in, int hidden);  ///< uniform weights, bound 1 / sqrt(hidden), and a bias of 0
  /// Returns the next state for x (B, in). Throws Error for other shapes of x and the state.
  State operator()(const Tensor& x, const State& state = {}) const;
};

/// One step of a gated recurrent unit (Cho et al. 2014), as torch.nn.GRUCell computes it:
///
///     r, z = sigmoid(x W + h U + b),  n = tanh(x W + b + r (h U + c)),  h = (1 - z) n + z h
///
/// The columns of W and U are r, z, n.
///
///     const GRUCell cell(scope / "cell", 32, 64);
///     h = cell(x, h);   // x (B, 32), h (B, 64)
struct GRUCell {
  Linear input, hidden;                      ///< (in, 3 hidden), (hidden, 3 hidden), both with a bias
  GRUCell(Scope scope, int in, int hidden);  ///< uniform weights, bound 1 / sqrt(hidden), and biases of 0
  /// Returns the next state for x (B, in) and the state (B, hidden); undefined: zeros. Throws Error for other shapes.
  Tensor operator()(const Tensor& x, const Tensor& state = {}) const;
};

/// One step of a plain recurrent network (Elman 1990), as torch.nn.RNNCell computes it: h = tanh(x W + h U + b), or relu. PyTorch's two
/// biases are added here.
///
///     const RNNCell cell(scope / "cell", 32, 64);
///     h = cell(x, h);   // x (B, 32), h (B, 64)
struct RNNCell {
  Linear input, hidden;  ///< (in, hidden) with a bias, (hidden, hidden) without
  Nonlinearity nonlinearity;
  RNNCell(
      Scope scope, int in, int hidden,
      Nonlinearity nonlinearity = Nonlinearity::tanh);  ///< uniform weights, bound 1 / sqrt(hidden), and a bias of 0
  /// Returns the next state for x (B, in) and the state (B, hidden); undefined: zeros. Throws Error for other shapes.
  Tensor operator()(const Tensor& x, const Tensor& state = {}) const;
};

/// An LSTMCell per layer and direction over all steps, as torch.nn.LSTM with batch_first: each layer reads the outputs of the one before
/// it. The cell of layer 0 has the name "0", the one that reads from the end "0_reverse".
///
///     const LSTM lstm(scope / "lstm", 32, 64, {.layers = 2});
///     const auto [output, state] = lstm(x);          // x (B, T, 32) -> (B, T, 64)
///     const auto next = lstm(more, state.detach());  // truncated backpropagation through time
///     lstm(x, {}, {}, {.p = 0.2, .random = &random});  // dropout between the layers
struct LSTM {
  /// State after the last step: one tensor (B, hidden) per cell. Empty: zeros.
  struct State {
    std::vector<Tensor> h, c;
    /// Returns the state as constants.
    State detach() const;
  };
  /// Outputs of the last layer, (B, T, hidden) or (B, T, 2 hidden), and the state after the last step.
  struct Result {
    Tensor output;
    State state;
  };
  std::vector<LSTMCell> cells;  ///< layer 0, if bidirectional its reverse, layer 1, ...
  bool bidirectional;

  LSTM(Scope scope, int in, int hidden, RecurrentOptions options = {});  ///< makes its parameters in `scope`
  /// Reads x (B, T, in), T >= 1. Drops the share `drop.p` of the outputs of each layer but the last. Throws Error for other shapes of x,
  /// the state or the lengths.
  Result operator()(const Tensor& x, const State& initial = {}, const Lengths& lengths = {},
                    const Dropout& drop = {}) const;
};

/// A GRUCell per layer and direction over all steps, as torch.nn.GRU with batch_first. Names are those of LSTM.
///
///     const GRU gru(scope / "gru", 32, 64, {.bidirectional = true});
///     const auto [output, state] = gru(x);   // x (B, T, 32) -> (B, T, 128)
struct GRU {
  /// State after the last step: one tensor (B, hidden) per cell. Empty: zeros.
  struct State : std::vector<Tensor> {
    using std::vector<Tensor>::vector;
    State(std::vector<Tensor> cells) : vector(std::move(cells)) {}  ///< takes the tensors
    /// Returns the state as constants, for truncated backpropagation through time.
    State detach() const;
  };
  /// Outputs of the last layer, (B, T, hidden) or (B, T, 2 hidden), and the state after the last step.
  struct Result {
    Tensor output;
    State state;
  };
  std::vector<GRUCell> cells;  ///< layer 0, if bidirectional its reverse, layer 1, ...
  bool bidirectional;

  GRU(Scope scope, int in, int hidden, RecurrentOptions options = {});  ///< makes its parameters in `scope`
  /// Reads x (B, T, in) and drops outputs as LSTM does.
  Result operator()(const Tensor& x, const State& initial = {}, const Lengths& lengths = {},
                    const Dropout& drop = {}) const;
};

/// An RNNCell per layer and direction over all steps, as torch.nn.RNN with batch_first. Names are those of LSTM.
///
///     const RNN rnn(scope / "rnn", 32, 64, {.layers = 2}, Nonlinearity::relu);
///     const auto [output, state] = rnn(x);   // x (B, T, 32) -> (B, T, 64)
struct RNN {
  using State = GRU::State;    ///< one tensor (B, hidden) per cell
  using Result = GRU::Result;  ///< outputs of the last layer, and the state after the last step
  std::vector<RNNCell> cells;  ///< layer 0, if bidirectional its reverse, layer 1, ...
  bool bidirectional;

  RNN(Scope scope, int in, int hidden, RecurrentOptions options = {},
      Nonlinearity nonlinearity = Nonlinearity::tanh);  ///< makes its parameters in `scope`
  /// Reads x (B, T, in) and drops outputs as LSTM does.
  Result operator()(const Tensor& x, const State& initial = {}, const Lengths& lengths = {},
                    const Dropout& drop = {}) const;
};

}  // namespace heed
