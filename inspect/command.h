#pragma once
#include "inspect/progress.h"
#include "inspect/views/terminal.h"

#include <string>

namespace heed {

// What the program `inspect` prints for its arguments (argv[0] is its name). UsageError for others than --help lists.
// `progress` hears of what takes long.
std::string inspect(int argc, const char* const* argv, const Terminal& terminal, const OnProgress& progress = {});

}  // namespace heed
