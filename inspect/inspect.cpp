#include "inspect/command.h"
#include "run/internal/program.h"
#include "views/terminal_text.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace {

volatile std::sig_atomic_t interrupted = 0;

void note_interrupt(int signal) {
  interrupted = signal;
  std::signal(signal, SIG_DFL);
}

// Returns 0, or the errno of the failed write.
int write_out(std::string_view text) {
  errno = 0;
  const bool is_written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  return is_written ? 0 : errno ? errno : EIO;
}

}  // namespace

int main(int argc, char** argv) {
  return heed::run_processes("inspect", argv[0], [&](const heed::Communicator& processes) {
    const bool is_first = processes.rank() == 0;  // the others print nothing
    std::string text;
    bool is_continued = false;
    int failed = 0;
    const bool on_terminal = isatty(STDOUT_FILENO);
    heed::TerminalText shown;
    {
      heed::LiveLine line(STDERR_FILENO, heed::faster(argc, argv));
      const heed::OnProgress progress = [&](const std::string& what, double share, double seconds) {
        if (is_first) line.show(what, share, seconds);
      };
      const heed::OnText on_text = [&](std::string_view piece) {  // an interrupt stops after a whole token
        if (!std::exchange(is_continued, true)) heed::handle_signal(SIGINT, note_interrupt);
        line.erase();
        failed = on_terminal ? write_out(shown.add(piece)) : write_out(piece);
        return !failed && !interrupted;
      };
      text = heed::inspect(argc, argv, heed::terminal_of(STDOUT_FILENO), progress, on_text, processes);
    }
    if (is_continued) text = on_terminal ? shown.finish() + "\n" + text : "";
    if (!failed && is_first) failed = write_out(text);
    if (failed && failed != EPIPE) heed::fail("standard output: {}", std::strerror(failed));
    return interrupted ? 128 + interrupted : failed ? 1 : 0;
  });
}
