#pragma once
#include <heed/autograd/tensor.h>

// The steps of an LSTM. A product with a few rows would spend half of its time on copying the same matrix at each step, so the matrix is
// copied once, in the order in which registers read it. Internal.
namespace heed::cpu {

struct LstmForward {
  Tensor result;  // (T + 1, B, d): h of each step, then the last c
  Tensor gates;   // (T, B, 4 d), activated: i, f, g, o; undefined unless kept for backward
  Tensor cells;   // (T, B, d)
};
// Contiguous gates x (T, B, 4 d) and states (B, d), and U (d, 4 d), of one type.
LstmForward lstm_forward(const Tensor& x, const Tensor& U, const Tensor& h, const Tensor& c, bool keeps_gates);

struct LstmBackward {
  Tensor dgates, dh, dc;
};
// dy (T + 1, B, d) and c are contiguous. dh is undefined unless wanted.
LstmBackward lstm_backward(const LstmForward& forward, const Tensor& U, const Tensor& c, const Tensor& dy,
                           bool wants_dh);

}  // namespace heed::cpu
