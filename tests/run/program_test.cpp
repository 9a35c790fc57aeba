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

TEST_CASE("A value that is no number is named with its option") {
  const auto error = [](std::vector<const char*> words, const char* message) {
    return command_line_error(static_cast<int>(words.size()), words.data(), message);
  };
  CHECK(error({"inspect", "run", "--tokens", "1.5"}, "Argument '1.5' failed to parse") ==
        "--tokens: expected a number that it takes, got '1.5'");
  CHECK(error({"inspect", "run", "--seed=-1"}, "Argument '-1' failed to parse") ==
        "--seed: expected a number that it takes, got '-1'");
  CHECK(error({"inspect", "run", "--sed", "1"}, "Option 'sed' does not exist") == "Option 'sed' does not exist");
}
