#include "tests/autograd/helpers.h"

using namespace heed;

TEST_CASE("An array is row-major, shared and empty by default") {
  const Ids ids({2, 3}, {0, 1, 2, 3, 4, 5});
  Ids copy;
  copy = ids;
  CHECK(ids.shape() == Shape{2, 3});
  CHECK(ids.numel() == 6);
  CHECK(ids[4] == 4);
  CHECK(copy.data() == ids.data());
  CHECK((Ids().shape() == Shape{0} && Ids().numel() == 0));
}

TEST_CASE("Wrong use of an array is an error that says what was expected") {
  check_messages({{"array: shape (2, 2) needs 4 values, got 3", [] { Ids({2, 2}, {1, 2, 3}); }}});
}
