#pragma once
#include <heed/autograd/ops.h>

namespace heed {

// Returns the losses of all rows as `reduction` says.
inline Tensor reduced(const Tensor& each, Reduction reduction) {
  return reduction == Reduction::none ? each : reduction == Reduction::sum ? sum(each) : mean(each);
}

}  // namespace heed
