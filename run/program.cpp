#include "run/program.h"

#include <csignal>
#include <cstdio>

namespace heed {

int run_program(const char* name, const std::function<int()>& body) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is then an error of its write
  try {
    return body();
  } catch (const UsageError& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 1;
  }
}

}  // namespace heed
