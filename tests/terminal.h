#pragma once
#include <cstdio>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

namespace heed {

/// Returns whether a pseudo-terminal can be made here; says that the test is left out when it cannot.
inline bool has_pseudo_terminals() {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  int end = -1;
  if (terminal >= 0 && ::grantpt(terminal) == 0 && ::unlockpt(terminal) == 0) {
    end = ::open(::ptsname(terminal), O_RDWR | O_NOCTTY);
  }
  if (end < 0) std::puts("left out: no pseudo-terminal can be made here (is /dev/pts mounted?)");
  ::close(end);
  ::close(terminal);
  return end >= 0;
}

}  // namespace heed
