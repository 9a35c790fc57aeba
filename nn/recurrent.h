#pragma once
#include <heed/nn/layers.h>

#include <optional>
#include <vector>

namespace heed {

/// Sizes of a recurrent network.
struct RecurrentConfig {
  int in, hidden;
  int layers = 1;
};

/// Lengths of the texts of a batch, (B): steps from a text's length on leave its state as it is, and their outputs are 0. An empty
/// optional: every step counts.
using Lengths = std::optional<Ids>;

/// A long short-term memory (Hochreiter & Schmidhuber 1997), as torch.nn.LSTM computes it:
///
///     i, f, o = sigmoid(x W + h U + b),  g = tanh(x W + h U + b),  c = f c + i g,  h = o tanh(c)
///
/// The columns of W and U are i, f, g, o. PyTorch's weight_ih_l0 (4 hidden, in) is the transpose of layers[0].input.weight, and its two
/// biases are added here.
///
///     const LSTM lstm(scope / "lstm", {.in = 32, .hidden = 64});
///     const auto [output, state] = lstm(x);          // x (B, T, 32) -> (B, T, 64)
///     const auto next = lstm(more, state.detach());  // truncated backpropagation through time
struct LSTM {
  /// State after the last step: one tensor (B, hidden) per layer. Empty: zeros.
  struct State {
    std::vector<Tensor> h, c;
    /// Returns the state as constants.
    State detach() const;
  };
  /// Outputs of the last layer, (B, T, hidden), and the state after the last step.
  struct Result {
    Tensor output;
    State state;
  };
  /// Weights of one layer.
  struct Layer {
    Linear input, hidden;                   ///< (in, 4 hidden) with a bias, (hidden, 4 hidden) without
    Layer(Scope scope, int in, int width);  ///< uniform weights, bound 1 / sqrt(width), and a bias of 0
  };
  std::vector<Layer> layers;

  LSTM(Scope scope, const RecurrentConfig& config);  ///< makes its parameters in `scope`
  /// Reads x (B, T, in), T >= 1. Throws Error for other shapes of x, the state or the lengths.
  Result operator()(const Tensor& x, const State& initial = {}, const Lengths& lengths = {}) const;
};

/// A gated recurrent unit (Cho et al. 2014), as torch.nn.GRU computes it:
///
///     r, z = sigmoid(x W + h U + b),  n = tanh(x W + b + r (h U + c)),  h = (1 - z) n + z h
///
/// The columns of W and U are r, z, n.
///
///     const GRU gru(scope / "gru", {.in = 32, .hidden = 64, .layers = 2});
///     const auto [output, state] = gru(x);   // x (B, T, 32) -> (B, T, 64)
struct GRU {
  /// State after the last step: one tensor (B, hidden) per layer. Empty: zeros.
  using State = std::vector<Tensor>;
  /// Outputs of the last layer, (B, T, hidden), and the state after the last step.
  struct Result {
    Tensor output;
    State state;
  };
  /// Weights of one layer.
  struct Layer {
    Linear input, hidden;                   ///< (in, 3 hidden), (hidden, 3 hidden), both with a bias
    Layer(Scope scope, int in, int width);  ///< uniform weights, bound 1 / sqrt(width), and biases of 0
  };
  std::vector<Layer> layers;

  GRU(Scope scope, const RecurrentConfig& config);  ///< makes its parameters in `scope`
  /// Reads x (B, T, in), T >= 1. Throws Error for other shapes of x, the state or the lengths.
  Result operator()(const Tensor& x, const State& initial = {}, const Lengths& lengths = {}) const;
};

}  // namespace heed
