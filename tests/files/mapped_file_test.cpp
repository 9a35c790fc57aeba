#include "tests/catch.h"
#include "tests/message.h"
#include "tests/scratch.h"

#include <heed/files/file.h>
#include <heed/files/mapped_file.h>

#include <sys/resource.h>
#include <sys/stat.h>

using namespace heed;

TEST_CASE("A mapped file has the bytes of the file") {
  const Scratch place;
  const std::string bytes("a\0b\xff", 4);
  write_file(place / "four", bytes);
  write_file(place / "none", "");
  CHECK(MappedFile(place / "four").bytes() == bytes);
  CHECK(MappedFile(place / "none").bytes().empty());
}

TEST_CASE("What is no file cannot be mapped, and says so") {
  const Scratch place;
  ::mkfifo((place / "pipe").c_str(), 0600);
  const auto mapping = [&](const std::string& name) {
    return message([&] { const MappedFile file(place / name); }, place.path.string());
  };
  CHECK(mapping("missing") == "FILE/missing: cannot be opened: No such file or directory");
  CHECK(mapping("") == "FILE/: expected a file of text, got a directory");
  CHECK(mapping("pipe") == "FILE/pipe: expected a file of text, got no regular file");
#if !defined(HEED_SANITIZED)  // whose own address space is larger than the limit
  write_file(place / "huge", "x");
  std::filesystem::resize_file(place / "huge", std::uintmax_t{1} << 42);  // a hole of 4 TiB
  rlimit before{};
  ::getrlimit(RLIMIT_AS, &before);
  const rlimit small{rlim_t{1} << 41, before.rlim_max};
  ::setrlimit(RLIMIT_AS, &small);
  const std::string said = mapping("huge");
  rlimit set{};
  ::getrlimit(RLIMIT_AS, &set);
  ::setrlimit(RLIMIT_AS, &before);
  const bool is_emulated = set.rlim_cur != small.rlim_cur;  // QEMU takes no such limit
  CHECK((is_emulated || said == "FILE/huge: cannot be read: Cannot allocate memory"));
#endif
}
