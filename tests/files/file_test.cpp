#include "tests/catch.h"
#include "tests/message.h"
#include "tests/scratch.h"

#include <heed/files/file.h>

#include <csignal>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>
#include <vector>

using namespace heed;

TEST_CASE("A file is read as it was written, and replaced whole") {
  const Scratch scratch;
  const auto path = scratch / "weights 权重.bin";
  for (const std::string& bytes : {std::string(3'000'000, 'x'), std::string("a\0b\r\n\xff", 6), std::string()}) {
    write_file(path, bytes);
    CHECK(read_file(path) == bytes);
    CHECK(scratch.files() == 1);
  }
}

TEST_CASE("A new file has the permissions that the user's umask leaves") {
  const Scratch scratch;
  const auto before = ::umask(027);
  write_file(scratch / "a", "a");
  ::umask(before);
  CHECK(std::filesystem::status(scratch / "a").permissions() == std::filesystem::perms{0640});
}

TEST_CASE("A file that cannot be read or written is named, with the reason") {
  const Scratch scratch;
  const std::string root = scratch.path.string();
  write_file(scratch / "file", "kept");
  std::filesystem::create_directory(scratch / "directory");

  CHECK(message([&] { read_file(scratch / "none"); }) == "cannot read " + root + "/none: No such file or directory");
  CHECK(message([&] { read_file(scratch / "directory"); }) == "cannot read " + root + "/directory: Is a directory");
  CHECK(message([&] { write_file(scratch / "none/file", ""); }) ==
        "cannot write " + root + "/none/file: No such file or directory: there is no directory " + root + "/none");
  CHECK(message([&] { write_file(scratch / "file/inside", ""); }) ==
        "cannot write " + root + "/file/inside: Not a directory");
  CHECK(message([&] { write_file(scratch / "directory", "x"); }) ==
        "cannot write " + root + "/directory: Is a directory");
  CHECK(read_file(scratch / "file") == "kept");
  CHECK(scratch.files() == 2);
}

TEST_CASE("A write that stops half-way leaves the old file and nothing beside it") {
  const Scratch scratch;
  write_file(scratch / "file", "old");

  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{1000, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  const std::string said = message([&] { write_file(scratch / "file", std::string(5000, 'x')); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);

  CHECK(said == "cannot write " + (scratch / "file").string() + ": File too large");
  CHECK(read_file(scratch / "file") == "old");
  CHECK(scratch.files() == 1);
}

TEST_CASE("Of several writers of one file, one wins whole") {
  const Scratch scratch;
  std::vector<std::thread> writers;
  for (const char letter : {'a', 'b', 'c', 'd'}) {
    writers.emplace_back([&, letter] {
      for (int i = 0; i < 5; ++i) write_file(scratch / "file", std::string(100'000, letter));
    });
  }
  for (std::thread& writer : writers) writer.join();
  const std::string bytes = read_file(scratch / "file");
  CHECK(bytes == std::string(100'000, bytes.at(0)));
  CHECK(scratch.files() == 1);
}
