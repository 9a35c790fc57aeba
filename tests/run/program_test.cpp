#include "run/internal/program.h"

#include "tests/catch.h"
#include "tests/scratch.h"

#include <heed/files/file.h>

#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

using namespace heed;

namespace {

// Redirects descriptor `number` to a file while it exists.
class Redirected {
 public:
  Redirected(int number, const std::string& path) : number_(number), before_(::dup(number)) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(file, number_);
    ::close(file);
  }
  ~Redirected() {
    ::dup2(before_, number_);
    ::close(before_);
  }
  Redirected(const Redirected&) = delete;

 private:
  int number_, before_;
};

// Returns the messages of run_program() for `body`.
std::string said_of(const std::function<int()>& body) {
  const Scratch scratch;
  std::fflush(stderr);
  {
    const Redirected errors(STDERR_FILENO, scratch / "err");
    CHECK(run_program("test", "bin/test", body) == 1);
    std::fflush(stderr);
  }
  return read_file(scratch / "err");
}

}  // namespace

// tests/train/train_test.cpp runs programs to test its messages, and closed and full streams.
TEST_CASE("run_program returns the body's code, 2 for a command line error, 1 for any other error") {
  CHECK(run_program("test", "bin/test", [] { return 7; }) == 7);
  CHECK(run_program("test", "bin/test", []() -> int { throw UsageError("a command line (said by a test)"); }) == 2);
  CHECK(run_program("test", "bin/test", []() -> int { throw Error("an error (said by a test)"); }) == 1);
  CHECK(run_program("test", "bin/test", []() -> int { throw std::runtime_error("another error (said by a test)"); }) ==
        1);
}

TEST_CASE("command_of names another program with the directory and prefix of the running one") {
  const auto named = [](const char* called_as) {
    std::string name;
    run_program("train", called_as, [&] {
      name = command_of("inspect");
      return 0;
    });
    return name;
  };
  const Scratch scratch;
  for (const char* name : {"inspect", "heed-inspect"}) write_file(scratch / name, "");
  CHECK(named("train") == "inspect");
  CHECK(named("heed-train") == "heed-inspect");
  CHECK(named((scratch / "train").c_str()) == (scratch / "inspect").string());
  CHECK(named((scratch / "heed-train").c_str()) == (scratch / "heed-inspect").string());
  CHECK(named((scratch / "a-train").c_str()) == "inspect");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(scratch.path.parent_path());
  CHECK(named((scratch / "train").c_str()) == (scratch.path.filename() / "inspect").string());
  std::filesystem::current_path(scratch.path);
  CHECK(named((scratch / "train").c_str()) == "./inspect");
  std::filesystem::current_path(before);
  CHECK(named("my-trainer") == "inspect");
  CHECK(named(nullptr) == "inspect");
}

TEST_CASE("Each very long line of a message is cut at 1,000 columns") {
  const auto said =
      said_of([]() -> int { throw Error("short\n" + std::string(1001, 'x') + "\n" + std::string(1000, 'y')); });
  CHECK(said == "test: short\n" + std::string(999, 'x') + "…\n" + std::string(1000, 'y') + "\n");
}

TEST_CASE("run_program names a path that the system cannot read, with the reason") {
  const Scratch scratch;
  std::filesystem::create_symlink("loop", scratch / "loop");
  const std::string said = said_of([&] { return std::filesystem::exists(scratch / "loop") ? 7 : 8; });
  CHECK(said == "test: cannot read " + (scratch / "loop").string() + ": Too many levels of symbolic links\n");
}

TEST_CASE("run_program reports a failed write to standard output even if the last one succeeded") {
  std::fflush(stdout);
  const std::string said = said_of([] {
    const Redirected full(STDOUT_FILENO, "/dev/full");
    std::fputs("\n", stdout);
    std::fflush(stdout);
    return 0;
  });
  std::clearerr(stdout);
  CHECK(said == "test: cannot write to standard output\n");
}

TEST_CASE("command_line_error names the option of an invalid number and corrects unknown options") {
  const auto error = [](std::vector<const char*> words, const char* message) {
    return command_line_error(static_cast<int>(words.size()), words.data(), message,
                              "  --seed N  --tokens N (see --help)");
  };
  CHECK(error({"inspect", "run", "--tokens", "1.5"}, "Argument '1.5' failed to parse") ==
        "--tokens: expected a whole number, got '1.5'");
  CHECK(error({"inspect", "run", "--seed=-1"}, "Argument '-1' failed to parse") ==
        "--seed: expected a whole number from 0, got '-1'");
  CHECK(error({"inspect", "run", "--tokens", "1e3"}, "Argument '1e3' failed to parse") ==
        "--tokens: expected a whole number, got '1e3'");
  CHECK(error({"inspect", "run", "--tokens", "99999999999"}, "Argument '99999999999' failed to parse") ==
        "--tokens: expected a smaller number, got '99999999999'");
  CHECK(error({"inspect", "run", "--threads", ""}, "Argument '' failed to parse") ==
        "--threads: expected a whole number, got ''");
  CHECK(error({"inspect", "run", "--sed", "1"}, "Option 'sed' does not exist") ==
        "unknown option --sed (did you mean '--seed'?)");
  CHECK(error({"inspect", "run", "--token=1"}, "Option 'token' does not exist") ==
        "unknown option --token (did you mean '--tokens'?)");
  CHECK(error({"inspect", "run", "--other"}, "Option 'other' does not exist") == "unknown option --other");
  CHECK(error({"inspect", "run", "-x"}, "Option 'x' does not exist") == "Option 'x' does not exist");
  CHECK(error({"inspect", "run", "7"}, "Argument 'x' failed to parse") == "Argument 'x' failed to parse");
}
