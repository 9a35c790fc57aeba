#include "tests/catch.h"
#include "tests/message.h"

#include <heed/autograd/enum_names.h>

namespace {
enum class Fruit { apple, pear, plum };  // plum is forgotten in the table
}

template <>
inline constexpr heed::EnumName<Fruit> heed::enum_names<Fruit>[] = {{Fruit::apple, "apple"}, {Fruit::pear, "pear"}};

TEST_CASE("name_of, value_named and names_of read the table of the enum") {
  CHECK(heed::name_of(Fruit::pear) == std::string("pear"));
  CHECK(heed::value_named<Fruit>("pear") == Fruit::pear);
  CHECK_FALSE(heed::value_named<Fruit>("plum"));
  CHECK(heed::names_of<Fruit>() == std::vector<std::string>{"apple", "pear"});
}

TEST_CASE("name_of rejects a value missing from the table, and HasNames is false without a table") {
  CHECK(heed::message([] { heed::name_of(Fruit::plum); }) == "value 2 is not among apple, pear");
  enum class Nameless { a };
  STATIC_REQUIRE_FALSE(heed::HasNames<Nameless>);
  STATIC_REQUIRE(heed::HasNames<Fruit>);
}
