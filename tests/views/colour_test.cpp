#include "views/colour.h"

#include "tests/catch.h"

using namespace heed;

TEST_CASE("the colour scale runs from its first to its last stop") {
  CHECK(hex(colour_of(0)) == "#f8fafc");
  CHECK(hex(colour_of(1)) == "#121a63");
  CHECK(hex(colour_of(7)) == "#121a63");
  CHECK(hex(colour_of(0.5)) == "#4490ea");
  CHECK(hex(colour_of(1.0 / 16)) == "#dff0fe");  // between #f8fafc and #c6e5ff
}
