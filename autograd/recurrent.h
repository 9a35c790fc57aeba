#pragma once
#include <heed/autograd/tensor.h>

namespace heed {

/// Runs a long short-term memory (Hochreiter & Schmidhuber 1997) over T steps, first axis: `gates` (T, B, 4 d) are the inputs' part
/// x W + b, whose columns are i, f, g, o; U (d, 4 d); first states h and c (B, d). Returns (T + 1, B, d): the states h of all steps, then
/// the last c. The layer LSTM calls it. (lstm.cpp)
///
///     i, f, o = sigmoid(gates_t + h U),  g = tanh(gates_t + h U),  c = f c + i g,  h = o tanh(c)
///
///     const Tensor states = lstm(linear(x, W, b), U, h, c);   // x (T, B, in)
Tensor lstm(const Tensor& gates, const Tensor& U, const Tensor& h, const Tensor& c);
/// Computes the same with single operations.
Tensor lstm_composed(const Tensor& gates, const Tensor& U, const Tensor& h, const Tensor& c);

}  // namespace heed
