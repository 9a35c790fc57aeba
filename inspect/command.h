#pragma once
#include "inspect/continuation.h"
#include "inspect/progress.h"
#include "inspect/views/terminal.h"

#include <string>

namespace heed {

// What the program `inspect` prints for its arguments (argv[0] is its name). UsageError for others than --help lists.
// `progress` hears of what takes long; `write` is given what --continue writes, as it comes, which is then not returned.
std::string inspect(int argc, const char* const* argv, const Terminal& terminal, const OnProgress& progress = {},
                    const OnText& write = {});

}  // namespace heed
