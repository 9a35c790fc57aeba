#include "tests/autograd/helpers.h"

#include <heed/autograd/ops.h>

using namespace heed;

TEST_CASE("cumsum sums along any axis, forward or reversed, inclusive or exclusive") {
  const Tensor x = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  using Values = std::vector<double>;
  CHECK(cumsum(x, 1).to_vector() == Values{1, 3, 6, 4, 9, 15});
  CHECK(cumsum(x, 0).to_vector() == Values{1, 2, 3, 5, 7, 9});
  CHECK(cumsum(x, -1, {.exclusive = true}).to_vector() == Values{0, 1, 3, 0, 4, 9});
  CHECK(cumsum(x, 1, {.reversed = true}).to_vector() == Values{6, 5, 3, 15, 11, 6});
  CHECK(cumsum(x, 1, {.exclusive = true, .reversed = true}).to_vector() == Values{5, 3, 0, 11, 6, 0});
  const double nan = std::nan(""), endless = INFINITY;
  CHECK(distance(cumsum(tensor({4}, {1, endless, 2, 3}), 0, {.exclusive = true}).to_vector(),
                 Values{0, 1, endless, endless}) == 0);
  CHECK(distance(cumsum(tensor({3}, {1, nan, 2}), 0, {.exclusive = true, .reversed = true}).to_vector(),
                 Values{nan, 2, 0}) == endless);  // NaN reaches what comes after it
  CHECK(slice(cumsum(tensor({3}, {1, nan, 2}), 0, {.exclusive = true}), 0, 0, 2).to_vector() == Values{0, 1});
  CHECK(cumsum(zeros({0, 3}), 0).shape() == Shape{0, 3});
  CHECK(cumsum(zeros({2, 0}), 0).shape() == Shape{2, 0});
  CHECK(cumsum(zeros({0, 1 << 20}), 1).shape() == Shape{0, 1 << 20});             // none of its rows is written
  CHECK(cumsum(broadcast_to(ones({1, 1}), {1, 1}), 0).to_vector() == Values{1});  // an axis of stride 0
  CHECK(cumsum(broadcast_to(ones({1}), {3, 1}), 0).to_vector() == Values{1, 2, 3});
  CHECK(cumsum(full({1000000}, 0.1), 0).at({999999}) == Approx(1e5).epsilon(1e-6));  // no error that grows
}
