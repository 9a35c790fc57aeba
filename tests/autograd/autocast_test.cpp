#include "autograd/half.h"
#include "tests/catch.h"

#include <heed/autograd/autocast.h>
#include <heed/autograd/machine.h>
#include <heed/autograd/ops.h>
#include <heed/autograd/random.h>
#include <heed/autograd/record.h>

#include <cmath>

using namespace heed;

namespace {

Tensor rounded_to_bfloat16(const Tensor& x) { return x.detach().to(DType::bfloat16).to(x.dtype()); }

double largest_difference_of(const Tensor& a, const Tensor& b) { return max(abs(a.detach() - b.detach())).item(); }

}  // namespace

TEST_CASE("Autocast rounds the operands of products, forward and backward") {
  Random random(3);
  const Tensor x = variable(random_normal({40, 96}, random)), W = variable(random_normal({96, 80}, random));
  const Tensor b = variable(random_normal({80}, random)), dy = random_normal({40, 80}, random);
  const Recording recording;
  Tensor y, exact = linear(x, W, b);
  {
    const Autocast autocast(Precision::bfloat16);
    REQUIRE(Autocast::precision() == Precision::bfloat16);
    y = linear(x, W, b);
  }
  REQUIRE(Autocast::precision() == Precision::float32);
  const Tensor expected = linear(rounded_to_bfloat16(x), rounded_to_bfloat16(W), b.detach());
  CHECK(largest_difference_of(y, expected) < 2e-5);
  CHECK(largest_difference_of(y, exact) > 1e-3);  // so that the first check can fail
  const Gradients gradients = backward(y, dy);    // outside the Autocast
  CHECK(largest_difference_of(gradients[W], matmul(transpose(rounded_to_bfloat16(x)), rounded_to_bfloat16(dy))) < 2e-5);
  CHECK(largest_difference_of(gradients[x], matmul(rounded_to_bfloat16(dy), transpose(rounded_to_bfloat16(W)))) < 2e-5);
  CHECK(largest_difference_of(gradients[b], sum(dy, {0})) < 2e-5);
  const Gradients exact_gradients = backward(exact, dy);
  CHECK(largest_difference_of(gradients[W], exact_gradients[W]) > 1e-3);
}

TEST_CASE("Autocast applies to attention, and not to float64") {
  Random random(4);
  const auto draw = [&](DType dtype) { return random_normal({2, 3, 70, 32}, random).to(dtype); };
  const Tensor Q = draw(DType::float32), K = draw(DType::float32), V = draw(DType::float32);
  const Tensor q = draw(DType::float64), k = draw(DType::float64), v = draw(DType::float64);
  const Tensor exact = attention(Q, K, V).output, exact64 = attention(q, k, v).output;
  const Autocast autocast(Precision::bfloat16);
  const double difference = largest_difference_of(attention(Q, K, V).output, exact);
  CHECK(difference > 1e-4);
  CHECK(difference < 5e-2);
  CHECK(largest_difference_of(attention(q, k, v).output, exact64) == 0);
}

TEST_CASE("products of bfloat16 have the same bits for any number of threads") {
  Random random(5);
  const Autocast autocast(Precision::bfloat16);
  const int before = threads();
  for (const std::int64_t inner : {700, 40}) {
    const Tensor a = random_normal({600, inner}, random), b = random_normal({inner, 1024}, random), c = ones({1024});
    set_threads(1);
    const std::vector<double> one = matmul(a, b).to_vector(), with_bias = linear(a, b, c).to_vector();
    const Tensor wide = matmul(rounded_to_bfloat16(a).to(DType::float64), rounded_to_bfloat16(b).to(DType::float64));
    CHECK(largest_difference_of(matmul(a, b).to(DType::float64), wide) < 1e-4);
    set_threads(3);
    CHECK(matmul(a, b).to_vector() == one);
    CHECK(linear(a, b, c).to_vector() == with_bias);
    set_threads(before);
  }
}

TEST_CASE("Autocast multiplies one row by bfloat16 weights as they are stored") {
  Random random(6);
  const Tensor x = random_normal({1, 300}, random), W = random_normal({300, 500}, random).to(DType::bfloat16);
  const Tensor expected = matmul(rounded_to_bfloat16(x), W);
  const Autocast autocast(Precision::bfloat16);
  CHECK(largest_difference_of(matmul(x, W), expected) < 2e-5);
  CHECK(largest_difference_of(matmul(x, W.to(DType::float32)), expected) < 2e-5);
}
