#include "tests/catch.h"
#include "tests/message.h"
#include "tests/scratch.h"

#include <heed/files/file.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace heed;

TEST_CASE("write_file and read_file preserve all bytes, and leave no temporary file") {
  const Scratch scratch;
  const auto path = scratch / "weights 权重.bin";
  for (const std::string& bytes : {std::string(3'000'000, 'x'), std::string("a\0b\r\n\xff", 6), std::string()}) {
    write_file(path, bytes);
    CHECK(read_file(path) == bytes);
    CHECK(scratch.files() == 1);
  }
}

TEST_CASE("write_file writes pieces in their order") {
  const Scratch scratch;
  std::string all;
  write_file(scratch / "file", [&](const auto& write) {
    for (const std::size_t size : {3, 0, 700'000, 700'000, 2'000'000, 5, 1 << 20, (1 << 20) + 1, 1}) {
      const std::string piece(size, static_cast<char>('a' + all.size() % 26));
      write(piece);
      all += piece;
    }
  });
  CHECK((read_file(scratch / "file") == all));
  write_file(scratch / "file", [](const auto&) {});
  CHECK(read_file(scratch / "file").empty());
}

TEST_CASE("write_file keeps the old file when the writing function throws") {
  const Scratch scratch;
  write_file(scratch / "file", "old");
  CHECK(message([&] {
          write_file(scratch / "file", [](const auto& write) {
            write(std::string(3'000'000, 'x'));
            fail("no more");
          });
        }) == "no more");
  CHECK(read_file(scratch / "file") == "old");
  CHECK(scratch.files() == 1);
}

TEST_CASE("A new file has the permissions of the user's umask") {
  const Scratch scratch;
  const auto before = ::umask(027);
  write_file(scratch / "a", "a");
  ::umask(before);
  CHECK(std::filesystem::status(scratch / "a").permissions() == std::filesystem::perms{0640});
}

TEST_CASE("Errors in reading and writing a file name the file and the reason") {
  const Scratch scratch;
  const std::string root = scratch.path.string();
  write_file(scratch / "file", "kept");
  std::filesystem::create_directory(scratch / "directory");

  CHECK(message([&] { read_file(scratch / "none"); }) == "cannot read " + root + "/none: No such file or directory");
  CHECK(message([&] { read_file(scratch / "directory"); }) == "cannot read " + root + "/directory: Is a directory");
  CHECK(message([&] { write_file(scratch / "none/file", ""); }) ==
        "cannot write " + root + "/none/file: No such file or directory: the directory " + root +
            "/none does not exist");
  CHECK(message([&] { write_file(scratch / "file/inside", ""); }) ==
        "cannot write " + root + "/file/inside: Not a directory");
  CHECK(message([&] { write_file(scratch / "directory", "x"); }) ==
        "cannot write " + root + "/directory: Is a directory");
  CHECK(message([] { read_file(""); }) == "cannot read a file: the path is empty");
  const std::string long_name(250, 'x');  // too long with the suffix of the temporary file
  CHECK(message([&] { write_file(scratch / long_name, "x"); }) ==
        "cannot write " + root + "/" + long_name + ": File name too long");
  CHECK(read_file(scratch / "file") == "kept");
  CHECK(scratch.files() == 2);
}

TEST_CASE("An interrupted write leaves the old file and no temporary file") {
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

TEST_CASE("With several writers of a file, it holds the complete content of one of them") {
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

TEST_CASE("Endless files and FIFOs without a writer are rejected in time") {
  const Scratch scratch;
  CHECK(message([] { read_file("/dev/zero"); }) ==
        "cannot read /dev/zero: it is not a regular file and has more than 256 MiB");
  CHECK(read_file("/dev/null").empty());
  const std::string fifo = (scratch / "fifo").string();
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  CHECK(message([&] { read_file(fifo); }) == "cannot read " + fifo + ": it is a FIFO, and nobody writes to it");
  const int silent = ::open(fifo.c_str(), O_RDWR);
  REQUIRE(::write(silent, "beginning", 9) == 9);
  CHECK(message([&] { read_file(fifo, std::chrono::seconds(1)); }) ==
        "cannot read " + fifo + ": it is a FIFO, and its writer sent nothing for 1 s. Give a regular file");
  ::close(silent);
#if !defined(HEED_SANITIZED)  // a sanitizer's operator new ends the program instead of throwing
  const std::string huge = (scratch / "huge").string();
  write_file(huge, "x");
  std::error_code too_large;
  std::filesystem::resize_file(huge, std::uintmax_t{1} << 43, too_large);  // a hole of 8 TiB
  if (too_large) std::filesystem::resize_file(huge, std::uintmax_t{1} << 42);
  CHECK(message([&] { read_file(huge); }).ends_with(" bytes do not fit into memory"));
#endif
}

TEST_CASE("A file that is truncated during the read is rejected") {
  const Scratch scratch;
  const std::string path = (scratch / "file").string();
  constexpr std::uintmax_t size = std::uintmax_t{1} << 28;
  const auto is_being_read = [&] {  // a descriptor of this process has a position within the file
    for (const auto& link : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code closed;
      if (std::filesystem::read_symlink(link.path(), closed) != path) continue;
      std::ifstream about("/proc/self/fdinfo/" + link.path().filename().string());
      std::string name;
      std::uintmax_t position = 0;
      about >> name >> position;
      return position > 0;
    }
    return false;
  };
  std::string said = "no error";
  for (int attempt = 0; attempt < 20 && said == "no error"; ++attempt) {  // a whole file may be read before it is cut
    write_file(path, "");
    std::filesystem::resize_file(path, size);
    std::atomic<bool> is_read = false;
    std::thread cutter([&] {
      while (!is_read && !is_being_read()) {
      }
      std::filesystem::resize_file(path, 5);
    });
    said = message([&] { read_file(path); });
    is_read = true;
    cutter.join();
  }
  CHECK(said == "cannot read " + path + ": it was truncated from " + std::to_string(size) +
                    " bytes to 5 while it was read; try again when it is whole");
}

TEST_CASE("make_directories creates parent directories, and its errors state the system's reason") {
  const Scratch scratch;
  make_directories(scratch / "a/b");
  make_directories(scratch / "a/b");
  CHECK(std::filesystem::is_directory(scratch / "a/b"));
  write_file(scratch / "file", "");
  const auto said = [&](const std::string& name) {
    return message([&] { make_directories(scratch / name); }, scratch.path.string());
  };
  CHECK(said("file/b") == "cannot make the directory FILE/file/b: Not a directory");
  CHECK(said("file") == "cannot make the directory FILE/file: Not a directory");
  CHECK(said(std::string(300, 'x')) ==
        "cannot make the directory FILE/" + std::string(300, 'x') + ": File name too long");
}

TEST_CASE("A FIFO is read to its end, however slowly it is written") {
  const Scratch scratch;
  const std::string fifo = (scratch / "fifo").string();
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  const auto written = [&](const std::vector<std::string>& parts) {
    std::thread writer([&] {
      std::ofstream file(fifo);
      for (const std::string& part : parts) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        file << part << std::flush;
      }
    });
    const std::string bytes = read_file(fifo);
    writer.join();
    return bytes;
  };
  CHECK(written({"first ", std::string(200'000, 'x'), " last"}) == "first " + std::string(200'000, 'x') + " last");
  CHECK(written({}).empty());
}

TEST_CASE("A device or FIFO is written in place") {
  const Scratch scratch;
  write_file("/dev/null", "x");
  CHECK(std::filesystem::is_character_file("/dev/null"));
  CHECK(message([] { write_file("/dev/full", "x"); }) ==
        "cannot write /dev/full: No space left on device. Free some space on that disk and try again");
  const std::string fifo = (scratch / "fifo").string();
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  CHECK(message([&] { write_file(fifo, "x"); }) ==
        "cannot write " + fifo + ": No such device or address: nobody reads from it");
  const std::string bytes(1'000'000, 'x');  // more than a pipe holds
  const int reader = ::open(fifo.c_str(), O_RDONLY | O_NONBLOCK);
  std::thread writer([&] { write_file(fifo, bytes); });
  std::string read;
  while (read.size() < bytes.size()) {
    char block[5000];
    const ssize_t count = ::read(reader, block, sizeof block);
    if (count > 0) read.append(block, static_cast<std::size_t>(count));
  }
  writer.join();
  ::close(reader);
  CHECK(read == bytes);
  CHECK(std::filesystem::is_fifo(fifo));
  CHECK(scratch.files() == 1);
}

TEST_CASE("write_file writes to a /proc/self/fd path in place") {
  const Scratch scratch;
  const int file = ::open((scratch / "file").c_str(), O_WRONLY | O_CREAT, 0600);
  REQUIRE(::write(file, "before ", 7) == 7);
  write_file(fmt::format("/proc/self/fd/{}", file), "after");
  ::close(file);
  CHECK(read_file(scratch / "file") == "before after");
  CHECK(scratch.files() == 1);
}

TEST_CASE("Writing to a symbolic link replaces its target") {
  const Scratch scratch;
  namespace fs = std::filesystem;
  fs::create_directory(scratch / "there");
  fs::create_symlink("there/file", scratch / "link");
  fs::create_symlink(scratch / "link", scratch / "second");
  for (const std::string bytes : {"new", "replaced"}) {  // the first creates the target
    write_file(scratch / "second", bytes);
    CHECK(read_file(scratch / "there/file") == bytes);
    CHECK(fs::is_symlink(scratch / "link"));
    CHECK(fs::is_symlink(scratch / "second"));
  }
  CHECK(std::distance(fs::directory_iterator(scratch / "there"), fs::directory_iterator()) == 1);
  fs::create_symlink("round", scratch / "round");
  CHECK(message([&] { write_file(scratch / "round", "x"); }) ==
        "cannot write " + (scratch / "round").string() + ": Too many levels of symbolic links");
}

TEST_CASE("write_file keeps the old file in a directory that it cannot sync") {
  const Scratch scratch;
  const std::string root = scratch.path.string();
  write_file(scratch / "file", "old");
  namespace fs = std::filesystem;
  fs::permissions(scratch.path, fs::perms{0333});
  const bool is_root = ::geteuid() == 0;  // root may read every file
  fs::permissions(scratch / "file", fs::perms{0666});
  if (is_root) REQUIRE(::seteuid(65534) == 0);
  const std::string said = message([&] { write_file(scratch / "file", "new"); });
  if (is_root) REQUIRE(::seteuid(0) == 0);
  fs::permissions(scratch.path, fs::perms{0700});
  CHECK(said == "cannot write " + root + "/file: Permission denied. Check its permissions and those of its directory");
  CHECK(read_file(scratch / "file") == "old");
  CHECK(scratch.files() == 1);
}

TEST_CASE("entries_of lists a directory in order; a missing one is empty, an unreadable one an error") {
  const Scratch scratch;
  write_file(scratch / "b", "");
  write_file(scratch / "a", "");
  CHECK(entries_of(scratch.path) == std::vector{scratch / "a", scratch / "b"});
  CHECK(entries_of(scratch / "none").empty());
  CHECK(message([&] { entries_of(scratch / "a"); }, scratch.path.string()) == "cannot read FILE/a: Not a directory");
}

TEST_CASE("divided_paths splits at commas, except in the name of an existing file") {
  CHECK(divided_paths("a.txt,b.txt, c/d.txt") == std::vector<std::string>{"a.txt", "b.txt", "c/d.txt"});
  CHECK(divided_paths("a.txt") == std::vector<std::string>{"a.txt"});
  const Scratch scratch;
  const std::string own = scratch / "a,b.txt";
  write_file(own, "");
  CHECK(divided_paths(own) == std::vector<std::string>{own});
  for (const char* list : {"", "a,,b", "a,", ",a", "a, "}) {
    CHECK(message([&] { divided_paths(list); }) ==
          fmt::format("'{}': expected file names separated by commas, got an empty name", list));
  }
}

TEST_CASE("OpenFile reads any part of a file, and reports one that was truncated") {
  const Scratch scratch;
  write_file(scratch / "file", "0123456789");
  const OpenFile file(scratch / "file");
  CHECK(file.size() == 10);
  CHECK((file.read(3, 4) == "3456" && file.read(10, 0).empty()));
  std::filesystem::resize_file(scratch / "file", 5);
  CHECK(file.read(0, 5) == "01234");
  CHECK(message([&] { file.read(3, 4); }, scratch.path.string()) ==
        "cannot read FILE/file: it was truncated from 10 bytes to 5 while it was read; try again when it is whole");
  CHECK(message([&] { OpenFile(scratch / "none"); }, scratch.path.string()) ==
        "cannot read FILE/none: No such file or directory");
  CHECK(message([&] { OpenFile{scratch.path}; }, scratch.path.string()) == "cannot read FILE: expected a regular file");
}

TEST_CASE("shell_word quotes a path so that a shell reads the same path") {
  CHECK(shell_word("runs/four-2_b.c") == "runs/four-2_b.c");
  CHECK(shell_word("-y") == "./-y");
  for (const std::string path : {"my run", "it's", "$HOME", "a;b", "*", "", "a\nb", "跑 1", "\"", "\\"}) {
    CAPTURE(path);
    const Scratch scratch;
    REQUIRE(std::system(("printf %s " + shell_word(path) + " >" + (scratch / "out").string()).c_str()) == 0);
    CHECK(read_file(scratch / "out") == path);
  }
}
