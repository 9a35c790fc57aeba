#include "tests/autograd/helpers.h"

#include <heed/autograd/ops.h>

using namespace heed;

TEST_CASE("to() and cast() round alike, and their gradients have the dtype of their input") {
  const Tensor x = variable(tensor({2}, {0.1, 2}, DType::float64));
  const Recording recording;
  const Tensor y = cast(x, DType::float32);
  CHECK(y.dtype() == DType::float32);
  CHECK(same_bits(y.detach(), x.to(DType::float32)));
  const Tensor dx = backward(sum(cast(y * y, DType::float64)))[x];
  CHECK(dx.dtype() == DType::float64);
  CHECK(distance(dx, x * 2) < 1e-7);
  CHECK(same_bits(backward(sum(square(x.to(DType::float32)).to(DType::float64)))[x], dx));
  CHECK(x.to(DType::float64).tape_node() == x.tape_node());  // itself
}

TEST_CASE("to() rounds to 16 bits, to the nearest, of two the even one") {
  const Tensor x = tensor({4}, {1.00390625, 1.01171875, 1 + 1e-9, -65520}, DType::float64);
  CHECK(x.to(DType::bfloat16).to_vector() == std::vector<double>{1, 1.015625, 1, -65536});
  CHECK(x.to(DType::float16).to_vector() ==
        std::vector<double>{1.00390625, 1.01171875, 1, -std::numeric_limits<double>::infinity()});
  const Tensor half = ones({1, 2}).to(DType::bfloat16);
  CHECK(matmul(ones({1, 1}), half).to_vector() == std::vector<double>{1, 1});
  CHECK(half.to(DType::float16).dtype() == DType::float16);
  CHECK(message([&] { x.to(DType::q4_0); }) ==
        "to: Q4_0 is only read from files; expected float32, float64, bfloat16 or float16");
  const Tensor w = variable(x);
  const Recording recording;
  CHECK(message([&] { w.to(DType::bfloat16); }) ==
        "to: bfloat16 has no gradients, but the tensor of shape (4) is recorded; convert its detach()");
  CHECK(w.detach().to(DType::bfloat16).dtype() == DType::bfloat16);
}
