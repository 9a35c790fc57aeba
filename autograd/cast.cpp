#include "autograd/cpu/blocks.h"
#include "autograd/cpu/kernels.h"
#include "autograd/half.h"

#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>

namespace heed {
namespace {

template <class To, class From>
To rounded(From x) {
  if constexpr (std::is_same_v<To, BFloat16>) {
    return {to_bf16(to_odd(static_cast<double>(x)))};
  } else if constexpr (std::is_same_v<To, Float16>) {
    return {to_f16(to_odd(static_cast<double>(x)))};
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace

static const Operation cast_operation(
    "cast", "y = x in another dtype", "dx = dy in x's dtype",
    Samples::none("differences are accurate only in float64, which cast() leaves as it is; a test converts"));
Tensor Tensor::to(DType dtype) const {
  check_defined("to", {this});
  if (dtype == dtype_) return *this;
  if (is_in_blocks(dtype)) {
    fail("to: {} is only read from files; expected float32, float64, bfloat16 or float16", to_string(dtype));
  }
  if (is_stored_only(dtype) && Recorder::follows(*this)) {
    fail("to: {} has no gradients, but the tensor of shape {} is recorded; convert its detach()", to_string(dtype),
         to_string(shape_));
  }
  const Tensor x = is_in_blocks(dtype_) ? cpu::without_blocks(*this) : detach();
  Tensor y = x;
  if (x.dtype() != dtype) {
    y = Tensor(shape_, dtype, "to");
    dispatch_stored(dtype, [&]<class To>() {
      dispatch_stored(x.dtype(), [&]<class From>() {
        // not a pointer to the function: a loop with a call does not vectorise
        cpu::map(
            shape_, y.mutable_data<To>(), [](From v) { return rounded<To>(v); }, cpu::operand<From>(x, shape_));
      });
    });
  }
  return record(cast_operation, {this}, y, Saved(),
                Recordable([from = dtype_](const Tensor& dy) { return std::vector{dy.to(from)}; }));
}

Tensor cast(const Tensor& x, DType dtype) {
  check_defined("cast", {&x});
  return x.to(dtype);
}

}  // namespace heed
