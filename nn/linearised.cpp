#include <heed/autograd/ops.h>
#include <heed/nn/linearised.h>

namespace heed {

Linearised Linearised::then(const Linearised& next) const {
  Linearised result;
  result.linear = [first = linear, second = next.linear](const Tensor& parts) { return second(first(parts)); };
  result.constant = next.constant;
  if (!constant.defined()) return result;
  const Tensor passed = reshape(next.linear(reshape(constant, {1, constant.size(0)})), {-1});
  result.constant = next.constant.defined() ? passed + next.constant : passed;
  return result;
}

}  // namespace heed
