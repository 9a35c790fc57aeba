#pragma once
#include <heed/autograd/tensor.h>

#include <functional>

namespace heed {

/// A layer as an affine map at one point: layer(x) = linear(x) + constant, with all that depends on the point held fixed
/// (the mean and the deviation of a norm, the position of a rotary embedding). At the point itself the two are equal, so the
/// parts of a sum x = p_1 + ... + p_n give the parts of the output.
///
///   const Linearised norm = block.attention_norm.linearised(x);   // x (d)
///   const Tensor y = norm.linear(parts);                          // (P, d): y's rows and the constant sum to norm(x)
struct Linearised {
  std::function<Tensor(const Tensor& parts)> linear;  // (P, n) -> (P, m)
  Tensor constant{};                                  // (m); undefined: 0

  /// Returns `next` after this map.
  Linearised then(const Linearised& next) const;
};

}  // namespace heed
