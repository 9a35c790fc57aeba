#include "run/program.h"

#include "tests/catch.h"

using namespace heed;

// Its messages and what closed or full streams make of it are seen from outside, in tests/train/train_test.cpp.
TEST_CASE("What main() returns: the body's code, 2 for a command line, 1 for any other error") {
  CHECK(run_program("test", [] { return 7; }) == 7);
  CHECK(run_program("test", []() -> int { throw UsageError("a command line (said by a test)"); }) == 2);
  CHECK(run_program("test", []() -> int { throw Error("an error (said by a test)"); }) == 1);
  CHECK(run_program("test", []() -> int { throw std::runtime_error("another error (said by a test)"); }) == 1);
}
