#pragma once
#include <heed/autograd/error.h>

#include <functional>

namespace heed {

// The command line is not understood.
struct UsageError : Error {
  using Error::Error;
};

// What main() of a program returns: what `body` returns; 2 when it throws a UsageError, 1 for any other exception, with
// "NAME: what went wrong" on standard error; 1, too, where standard output could not be written.
int run_program(const char* name, const std::function<int()>& body);

}  // namespace heed
