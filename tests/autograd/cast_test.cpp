#include "tests/autograd/helpers.h"

#include <heed/autograd/ops.h>

using namespace heed;

TEST_CASE("cast rounds like to(), and its gradient has the dtype of its input") {
  const Tensor x = variable(tensor({2}, {0.1, 2}, DType::float64));
  const Recording recording;
  const Tensor y = cast(x, DType::float32);
  CHECK(y.dtype() == DType::float32);
  CHECK(same_bits(y.detach(), x.to(DType::float32)));
  const Tensor dx = backward(sum(cast(y * y, DType::float64)))[x];
  CHECK(dx.dtype() == DType::float64);
  CHECK(distance(dx, x * 2) < 1e-7);
  CHECK(message([&] { backward(sum(x.to(DType::float32))); }).find("was not recorded") != std::string::npos);
}
