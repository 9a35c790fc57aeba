#include "tests/catch.h"
#include "tests/message.h"
#include "tests/scratch.h"

#include <heed/files/file.h>
#include <heed/files/text_file.h>

using namespace heed;

namespace {

struct Written : Scratch {
  std::string path = (*this / "text").string();
  explicit Written(const std::string& bytes) { write_file(path, bytes); }
};

}  // namespace

TEST_CASE("TextFile splits a text into lines at any kind of line end") {
  using Lines = std::vector<std::string_view>;
  const auto lines_are = [](const std::string& bytes, const Lines& expected) {
    const Written written(bytes);
    const TextFile file(written.path);
    return file.name() == written.path && file.lines() == expected;
  };
  CHECK(lines_are("", {}));
  CHECK(lines_are("a", {"a"}));
  CHECK(lines_are("a\n\nb\n", {"a", "", "b"}));
  CHECK(lines_are("\xef\xbb\xbf\u82f9\r\nb\r", {"\u82f9", "b"}));
}

TEST_CASE("TextFile::finish lists the first 20 mistakes with their lines") {
  const Written written("");
  TextFile file(written.path);
  file.finish();  // nothing to say
  std::string listed;
  for (std::size_t line = 1; line <= 20; ++line) {
    file.mistake(line, "expected {}", line * line);
    listed += fmt::format("{}{}:{}: expected {}", line > 1 ? "\n" : "", written.path, line, line * line);
  }
  CHECK(message([&] { file.finish(); }) == listed);
  for (std::size_t line = 21; line <= 60; ++line) file.mistake(line, "wrong");
  CHECK(file.mistakes() == 60);
  CHECK(message([&] { file.finish(); }) == listed + "\n... and 40 more");
}

TEST_CASE("TextFile stops reading at the thousandth mistake") {
  const Written written("");
  TextFile file(written.path);
  int noted = 0;
  const std::string said = message([&] {
    for (; noted < 5000; ++noted) file.mistake(1, "wrong");
  });
  CHECK(noted == 999);
  CHECK(said.ends_with(":1: wrong\n... and at least 980 more; the rest was not read"));
  CHECK(message([&] { file.mistake(1, "from a catch block"); }) == said);
}

TEST_CASE("Messages of TextFile escape control characters") {
  const Written written("");
  TextFile file(written.path);
  file.mistake(1, "got '{}'", "\x1b[2J\xe2\x80\xae\xc2\x9b\n");
  CHECK(message([&] { file.finish(); }) == written.path + ":1: got '␛[2J⟨U+202E⟩⟨U+009B⟩␊'");
}

TEST_CASE("TextFile rejects a file that is not text") {
  const Written binary("ab\xff");
  const std::string root = binary.Scratch::path.string();
  CHECK(message([&] { TextFile file(binary.path); }) == binary.path + ": not UTF-8 at byte 2: 0xff");
  CHECK(message([&] { TextFile file(root); }) == root + ": expected a text file, got a directory");
  CHECK(message([&] { TextFile file(root + "/none"); }) == "cannot read " + root + "/none: No such file or directory");
  CHECK(message([] { TextFile file("/proc/self/mem"); }) == "cannot read /proc/self/mem: Input/output error");
}
