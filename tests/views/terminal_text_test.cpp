#include "views/terminal_text.h"

#include "tests/catch.h"

#include <heed/files/utf8.h>

using namespace heed;

TEST_CASE("TerminalText replaces control characters with signs and joins split characters") {
  TerminalText shown;
  CHECK(shown.add("a\x1b[2Jb\n\tc\a") == "a␛[2Jb\n\tc␇");
  CHECK(shown.add("\u202e") == "⟨U+202E⟩");
  CHECK(shown.add("\xe8\x8b") == "");
  CHECK(shown.add("\xb9 \xf0\x9f") == "苹 ");
  CHECK(shown.add("\x98\x80\xc3") == "😀");
  CHECK(shown.finish() == visible("\xc3"));
  CHECK(shown.finish() == "");
}
