#pragma once
#include "tests/scratch.h"

#include <heed/files/file.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <sys/wait.h>

namespace heed {

// What a program of this build, beside this test program, said and how it ended.
struct Ended {
  int code;
  std::string out, err;
};

// Runs "PROGRAM ARGUMENTS" through the shell in `directory`.
inline Ended run_program(const Scratch& directory, const std::string& command) {
  const std::string programs = std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
  const std::string line = "cd " + directory.path.string() + " && export PATH=" + programs + ":$PATH && { " + command +
                           "; } >out.txt 2>err.txt";
  const int status = std::system(line.c_str());
  return {WEXITSTATUS(status), read_file(directory / "out.txt"), read_file(directory / "err.txt")};
}

}  // namespace heed
