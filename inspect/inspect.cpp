#include "inspect/command.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <unistd.h>

int main(int argc, char** argv) {
  try {
    const std::string text = heed::inspect(argc, argv, heed::terminal_of(STDOUT_FILENO));
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    if (!written && errno != EPIPE) heed::fail("standard output: {}", std::strerror(errno));
    return written ? 0 : 1;
  } catch (const heed::UsageError& error) {
    fmt::print(stderr, "inspect: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "inspect: {}\n", error.what());
    return 1;
  }
}
