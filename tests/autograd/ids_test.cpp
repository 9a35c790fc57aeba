#include "tests/autograd/helpers.h"
#include "tests/message.h"

#include <limits>

using namespace heed;

namespace {

std::vector<int> numbers(const Ids& x) { return {x.begin(), x.end()}; }
std::vector<int> numbers(const Booleans& x) { return {x.begin(), x.end()}; }

template <class T>
concept HasSumMember = requires(T x) {
  x.sum();
};
template <class R>
concept DropsWith = requires(Tensor x, R r) {
  dropout(x, .5, static_cast<R>(r));
};

}  // namespace

TEST_CASE("Ids are added, multiplied and divided as Python's integers, and broadcast") {
  const Ids a({2, 3}, {5, -5, 0, 7, -7, 1}), row({3}, {2, 2, -3});
  CHECK(numbers(a + 1) == std::vector{6, -4, 1, 8, -6, 2});
  CHECK(numbers(1 - a) == std::vector{-4, 6, 1, -6, 8, 0});
  CHECK(numbers(-a) == std::vector{-5, 5, 0, -7, 7, -1});
  CHECK(numbers(2 * a - a) == numbers(a));
  CHECK(numbers(a + row) == std::vector{7, -3, -3, 9, -5, -2});
  CHECK(numbers(a / row) == std::vector{2, -3, 0, 3, -4, -1});
  CHECK(numbers(a % row) == std::vector{1, 1, 0, 1, 1, -2});
  CHECK(numbers(a % 2) == std::vector{1, 1, 0, 1, 1, 1});
  CHECK((Ids({0, 1}, {}) + row).shape() == Shape{0, 3});
}

TEST_CASE("Ids broadcast to a longer shape") {
  const Ids column({2, 1}, {4, 9});
  CHECK(broadcast_to(column, {2, 2, 2}).shape() == Shape{2, 2, 2});
  CHECK(numbers(broadcast_to(column, {2, 2, 2})) == std::vector{4, 4, 9, 9, 4, 4, 9, 9});
  CHECK(message([&] { (void)broadcast_to(column, {3, 2}); }) == "broadcast_to: (2, 1) does not broadcast to (3, 2)");
}

TEST_CASE("A result beyond 32 bits and a division by 0 are errors") {
  constexpr int most = std::numeric_limits<int>::max();
  const Ids x({2}, {1, most});
  CHECK(message([&] { (void)(x + 1); }) == "+: 2147483647 + 1 at position 1: the result must fit in 32 bits");
  CHECK(message([&] { (void)(x * 2); }) == "*: 2147483647 * 2 at position 1: the result must fit in 32 bits");
  CHECK(message([&] { (void)(x % 0); }) ==
        "%: 1 % 0 at position 0: the divisor must not be 0, and the result must fit in 32 bits");
  CHECK(message([&] { (void)(Ids({}, {-most - 1}) / -1); }) ==
        "/: -2147483648 / -1 at position 0: the divisor must not be 0, and the result must fit in 32 bits");
  CHECK(numbers(Ids({}, {-most - 1}) % -1) == std::vector{0});
}

TEST_CASE("== and != compare each element") {
  const Tensor x = tensor({0, 2, std::nan("")});
  CHECK(numbers(x == 0) == std::vector{1, 0, 0});
  CHECK(numbers(x != 0) == std::vector{0, 1, 1});
  CHECK(numbers(x == x) == std::vector{1, 1, 0});
  CHECK(numbers(x != x) == std::vector{0, 0, 1});
  const Ids ids({3}, {0, 1, 0});
  CHECK(numbers(ids == 0) == std::vector{1, 0, 1});
  CHECK(numbers(ids != 0) == std::vector{0, 1, 0});
  CHECK(numbers(ids == Ids({1}, {1})) == std::vector{0, 1, 0});
  CHECK(numbers(ids != ids) == std::vector{0, 0, 0});
}

TEST_CASE("The calls that users of other libraries guess work, or do not compile") {
  const Tensor x = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(tensor({1, 2, 3}).shape() == Shape{3});
  CHECK(tensor({1, 2, 3}).to_vector() == std::vector<double>{1, 2, 3});
  CHECK(sum(x, 1).to_vector() == std::vector<double>{6, 15});
  CHECK(mean(x, 0, true).shape() == Shape{1, 3});
  CHECK(max(x, -1).to_vector() == std::vector<double>{3, 6});
  CHECK(min(x, 0).to_vector() == std::vector<double>{1, 2, 3});
  CHECK(sum(x, {}).to_vector() == std::vector<double>{21});
  CHECK(sum(x, {}, true).shape() == Shape{1, 1});
  STATIC_REQUIRE_FALSE(HasSumMember<Tensor>);
  STATIC_REQUIRE(DropsWith<Random&>);
  STATIC_REQUIRE_FALSE(DropsWith<Random>);
}
