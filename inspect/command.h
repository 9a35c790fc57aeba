#pragma once
#include "autograd/error.h"
#include "inspect/terminal.h"

#include <string>

namespace heed {

// The command line is not understood.
struct UsageError : Error {
  using Error::Error;
};

// What the program `inspect` prints for its arguments (argv[0] is its name).
std::string inspect(int argc, const char* const* argv, const Terminal& terminal);

}  // namespace heed
