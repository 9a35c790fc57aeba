#include "inspect/command.h"
#include "run/program.h"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <unistd.h>
#include <utility>

namespace {

volatile std::sig_atomic_t interrupted = 0;

void note_interrupt(int signal) {
  interrupted = signal;
  std::signal(signal, SIG_DFL);
}

bool write_out(std::string_view text) {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  return heed::run_program("inspect", [&] {
    std::string text;
    bool is_continued = false, written = true;
    const heed::OnText on_text = [&](std::string_view piece) {  // an interrupt ends it after a whole token
      if (!std::exchange(is_continued, true)) std::signal(SIGINT, note_interrupt);
      written = write_out(piece);
      return written && !interrupted;
    };
    {
      heed::LiveLine line(STDERR_FILENO);
      text = heed::inspect(
          argc, argv, heed::terminal_of(STDOUT_FILENO),
          [&](const std::string& what, double share) { line.show(what, share); }, on_text);
    }
    if (is_continued && isatty(STDOUT_FILENO)) text = "\n";
    written = written && write_out(text);
    if (!written && errno != EPIPE) heed::fail("standard output: {}", std::strerror(errno));
    return interrupted ? 128 + interrupted : written ? 0 : 1;
  });
}
