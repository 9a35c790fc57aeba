#include "tests/catch.h"
#include "tests/message.h"
#include "tests/scratch.h"

#include <heed/files/file.h>
#include <heed/files/mapped_file.h>

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
}
