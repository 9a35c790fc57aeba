#include "tests/catch.h"
#include "tests/message.h"

#include <heed/autograd/enum_names.h>

namespace {
enum class Fruit { apple, pear, plum };  // plum is forgotten in the table
}

template <>
inline constexpr heed::EnumName<Fruit> heed::enum_names<Fruit>[] = {{Fruit::apple, "apple"}, {Fruit::pear, "pear"}};

TEST_CASE("An enum's values are named by its one table") {
  CHECK(heed::name_of(Fruit::pear) == std::string("pear"));
  CHECK(heed::value_named<Fruit>("pear") == Fruit::pear);
  CHECK_FALSE(heed::value_named<Fruit>("plum"));
  CHECK(heed::names_of<Fruit>() == std::vector<std::string>{"apple", "pear"});
}

TEST_CASE("A value that the table lacks cannot pass for another; an enum without a table does not compile") {
  CHECK(heed::message([] { heed::name_of(Fruit::plum); }) == "value 2 is not among apple, pear");
  enum class Nameless { a };
  STATIC_REQUIRE_FALSE(heed::HasNames<Nameless>);
  STATIC_REQUIRE(heed::HasNames<Fruit>);
}
