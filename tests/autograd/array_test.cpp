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

TEST_CASE("An array stays valid after a move") {
  Ids first({2}, {1, 2});
  const Ids second = std::move(first);
  CHECK((first.numel() == 2 && second[1] == 2));
}

TEST_CASE("Wrong use of an array throws an Error that states what was expected") {
  const Ids ids({2, 3}, {0, 1, 2, 3, 4, 5});
  check_messages({{"array: shape (2, 2) needs 4 values, got 3",
                   [] {
                     Ids({2, 2}, {1, 2, 3});
                   }},
                  {"array: sizes must not be negative, got (-1, -2)",
                   [] {
                     Ids({-1, -2}, {1, 2});
                   }},
                  {"[]: index 1000 lies outside [0, 6) of an array of shape (2, 3)", [&] { ids[1000]; }},
                  {"[]: index -1 lies outside [0, 6) of an array of shape (2, 3)", [&] { ids[-1]; }},
                  {"[]: index 0 lies outside [0, 0) of an array of shape (0)", [] { Booleans()[0]; }}});
}
