#include <heed/autograd/gradcheck/samples.h>
#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>

namespace heed {

// dx = dy in x's dtype. The samples stay in float64, where differences are accurate; tests convert between dtypes.
static const Operation cast_operation("cast", [] {
  return unary_samples([](const Tensor& x) { return cast(x, DType::float64); });
});
Tensor cast(const Tensor& x, DType dtype) {
  check_defined("cast", {&x});
  return record(cast_operation, {&x}, x.to(dtype),
                [from = x.dtype()](const Tensor& dy) { return std::vector{dy.to(from)}; });
}

}  // namespace heed
