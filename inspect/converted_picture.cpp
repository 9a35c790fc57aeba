#include "inspect/converted_picture.h"

#include <heed/autograd/error.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <spawn.h>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>

namespace heed {
namespace {

// A file without a name, which holds what a program reads or writes: pipes would need a thread for each.
struct Temporary {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::tmpfile(), std::fclose};

  Temporary() {
    if (!file) fail("cannot make a temporary file: {}", std::strerror(errno));
  }
  void write(std::string_view text) const {
    const bool is_written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size();
    if (!is_written || std::fflush(file.get()) != 0) fail("cannot write a temporary file: {}", std::strerror(errno));
    std::rewind(file.get());
  }
  std::string read() const {
    std::rewind(file.get());
    std::string text;
    std::array<char, 65536> part{};
    while (const std::size_t count = std::fread(part.data(), 1, part.size(), file.get()))
      text.append(part.data(), count);
    return text;
  }
  int descriptor() const { return fileno(file.get()); }
};

}  // namespace

std::string converted_picture(const std::string& svg, const char* format) {
  const Temporary in, out, errors;
  in.write(svg);
  std::string program = "rsvg-convert", kind = "--format=" + std::string(format), zoom = "--zoom=2";
  const bool is_of_dots = std::string_view(format) == "png";
  std::array<char*, 4> words{program.data(), kind.data(), is_of_dots ? zoom.data() : nullptr, nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.descriptor(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.descriptor(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors.descriptor(), STDERR_FILENO);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, program.c_str(), &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed == ENOENT) {
    fail(
        "--{} needs the program rsvg-convert, which is not installed. On Debian: sudo apt install librsvg2-bin. --svg "
        "FILE "
        "writes the same picture without it",
        format);
  }
  if (failed != 0) fail("rsvg-convert cannot be started: {}", std::strerror(failed));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  std::string picture = out.read();
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || picture.empty()) {
    std::string said = errors.read();
    while (!said.empty() && said.back() == '\n') said.pop_back();
    fail("rsvg-convert did not make a {}: {}", format, said.empty() ? "it said nothing" : said);
  }
  return picture;
}

}  // namespace heed
