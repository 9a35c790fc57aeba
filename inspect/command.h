#pragma once
#include "inspect/views/terminal.h"

#include <string>

namespace heed {

// What the program `inspect` prints for its arguments (argv[0] is its name). UsageError for others than --help lists.
std::string inspect(int argc, const char* const* argv, const Terminal& terminal);

}  // namespace heed
