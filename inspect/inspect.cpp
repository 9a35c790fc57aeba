#include "inspect/command.h"
#include "run/program.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>

int main(int argc, char** argv) {
  return heed::run_program("inspect", [&] {
    std::string text;
    {
      heed::LiveLine line(STDERR_FILENO);
      text = heed::inspect(argc, argv, heed::terminal_of(STDOUT_FILENO),
                           [&](const std::string& what, double share) { line.show(what, share); });
    }
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    if (!written && errno != EPIPE) heed::fail("standard output: {}", std::strerror(errno));
    return written ? 0 : 1;
  });
}
