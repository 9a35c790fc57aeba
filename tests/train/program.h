#pragma once
#include "run/internal/program.h"
#include "tests/scratch.h"

#include <heed/files/file.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <sys/wait.h>

namespace heed {

// Exit code and output of a program in the directory of this test program.
struct Ended {
  int code;
  std::string out, err;
};

/// Runs "PROGRAM ARGUMENTS" through the shell in `directory`. Kills it after 10 minutes; the code is then 124. In the command,
/// `await CONDITION` waits for a condition, at most until the last background job has ended.
inline Ended run_program(const Scratch& directory, const std::string& command) {
  const std::string programs = std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
  const std::string await = "await() { until \"$@\" || ! kill -0 $!; do sleep 0.01; done 2>/dev/null; }\n";
  const std::string line = "cd " + directory.path.string() + " && PATH=" + programs +
                           ":$PATH timeout -k 10 600 sh -c " +
                           shell_word(await + "{ " + command + "; } >out.txt 2>err.txt");
  const int status = std::system(line.c_str());
  return {WEXITSTATUS(status), read_file(directory / "out.txt"), read_file(directory / "err.txt")};
}

// A directory in which programs run.
struct ProgramScratch : Scratch {
  // Returns the exit code, a colon, and the text on stderr.
  std::string error(const std::string& command) const {
    const Ended ended = run_program(*this, command);
    return std::to_string(ended.code) + ": " + ended.err;
  }
};

}  // namespace heed
