#pragma once
#include <heed/autograd/tensor.h>

#include <functional>

namespace heed {

/// A layer as an affine map at one point: layer(x) = linear(x) + constant. Everything that depends on the point is
/// fixed (the mean and the deviation of a norm, the position of a rotary embedding). At the point itself the map is
/// exact, so the parts of a sum x = p_1 + ... + p_n give the parts of the output.
///
///     const Linearised norm = block.attention_norm.linearised(x);   // x (d)
///     const Tensor y = norm.linear(parts);                          // (P, d): y's rows and the constant sum to norm(x)
struct Linearised {
  std::function<Tensor(const Tensor& parts)> linear;  ///< (P, n) -> (P, m)
  Tensor constant{};                                  ///< (m); undefined: 0

  /// Returns the composition: this map, then `next`.
  Linearised then(const Linearised& next) const;
};

}  // namespace heed
