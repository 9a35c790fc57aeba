#include "tests/catch.h"
#include "tests/message.h"

using namespace heed;

TEST_CASE("fail() throws an Error with the formatted text") {
  CHECK(message([] { fail("shape {} needs {} values", "(2)", 2); }) == "shape (2) needs 2 values");
}

TEST_CASE("The nearest name is suggested, and none when none is near") {
  const std::vector<std::string> names{"lr", "warmup", "weight_decay", "heads"};
  CHECK(did_you_mean("warmpu", names) == " (did you mean 'warmup'?)");  // a swap
  CHECK(did_you_mean("weightdecay", names) == " (did you mean 'weight_decay'?)");
  CHECK(did_you_mean("head", names) == " (did you mean 'heads'?)");
  CHECK(did_you_mean("zzzzzz", names).empty());
  CHECK(did_you_mean("x", {}).empty());
}
