#pragma once
#include <heed/autograd/tensor.h>

#include <utility>

namespace heed {

// Keys and values of the tokens so far, for a text that is read or written piece by piece: one an attention layer.
class KeyValueCache {
 public:
  std::int64_t length() const { return length_; }  // tokens held
  // Takes K (B, kv_heads, T, d_k) and V (B, kv_heads, T, d_v) of the tokens that follow; gives those of all: views, valid
  // until the next call. Error when they are recorded (use NoRecording), or do not fit what is held.
  std::pair<Tensor, Tensor> append(const Tensor& K, const Tensor& V);

 private:
  // (B, kv_heads, d_k, capacity), as products with queries read them, and (B, kv_heads, capacity, d_v): of the capacity
  // `length_` tokens are filled.
  Tensor K_, V_;
  std::int64_t length_ = 0;
};

}  // namespace heed
