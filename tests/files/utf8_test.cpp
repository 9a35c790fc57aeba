#include "tests/catch.h"
#include "tests/message.h"

#include <heed/files/utf8.h>
#include <heed/tokenizers/graphemes.h>

using namespace heed;

TEST_CASE("checked_utf8 accepts UTF-8 and names the first invalid byte") {
  CHECK(checked_utf8("它很甜 ok", "f") == "它很甜 ok");
  CHECK(checked_utf8("\xef\xbb\xbf"
                     "abc",
                     "f") == "abc");
  CHECK(checked_utf8("", "f").empty());
  CHECK(checked_utf8("\xf4\x8f\xbf\xbf", "f").size() == 4);  // U+10FFFF, the last one
  const auto refusal = [](const std::string& text) { return message([&] { checked_utf8(text, "f.txt"); }); };
  CHECK(refusal("ab\xff") == "f.txt: not UTF-8 at byte 2: 0xff");
  CHECK(refusal("\xef\xbb\xbf"
                "a\x80") == "f.txt: not UTF-8 at byte 4: 0x80");
  CHECK(refusal("a\n\nb\xff\n") == "f.txt: not UTF-8 at byte 4, in line 3: 0xff");
  CHECK(refusal("a\xe5\xae") == "f.txt: not UTF-8 at byte 1: 0xe5");         // cut
  CHECK(refusal("\xc0\xaf") == "f.txt: not UTF-8 at byte 0: 0xc0");          // overlong
  CHECK(refusal("\xe0\x80\xaf") == "f.txt: not UTF-8 at byte 0: 0xe0");      // overlong
  CHECK(refusal("x\xed\xa0\x80") == "f.txt: not UTF-8 at byte 1: 0xed");     // surrogate
  CHECK(refusal("\xf4\x90\x80\x80") == "f.txt: not UTF-8 at byte 0: 0xf4");  // above U+10FFFF
}

TEST_CASE("checked_text recognises UTF-16 and UTF-32, and suggests the command that converts them") {
  const auto refusal = [](const std::string& text) { return message([&] { checked_text(text, "f.txt"); }); };
  const auto converted = [](const std::string& encoding) {
    return ". It looks like " + encoding + ": convert it with iconv -f " + encoding + " -t UTF-8";
  };
  CHECK(refusal("\xff\xfe"
                "a") == "f.txt: not UTF-8 at byte 0: 0xff" + converted("UTF-16"));
  CHECK(refusal(std::string("\xfe\xff\0a", 4)) == "f.txt: not UTF-8 at byte 0: 0xfe" + converted("UTF-16"));
  CHECK(refusal(std::string("\xff\xfe\0\0a\0\0\0", 8)) == "f.txt: not UTF-8 at byte 0: 0xff" + converted("UTF-32"));
  CHECK(refusal(std::string("\0\0\xfe\xff\0\0\0a", 8)) == "f.txt: not UTF-8 at byte 2: 0xfe" + converted("UTF-32"));
  CHECK(refusal(std::string("a\0b\0\n\0", 6)) == "f.txt: expected text, got a NUL at byte 1" + converted("UTF-16LE"));
  CHECK(refusal(std::string("\0a\0b\0\n", 6)) == "f.txt: expected text, got a NUL at byte 0" + converted("UTF-16BE"));
  CHECK(refusal(std::string("one\ntwo\nth\0ree and more", 22)) ==
        "f.txt: expected text, got a NUL at byte 10, in line 3. tr -d '\\0' removes it");
  CHECK(refusal(std::string(100, '\0')) == "f.txt: expected text, got a NUL at byte 0. tr -d '\\0' removes it");
  CHECK(checked_utf8(std::string_view("a\0b", 3), "f").size() == 3);  // a NUL is UTF-8
}

TEST_CASE("visible() replaces control and invisible characters by visible symbols") {
  CHECK(visible("苹果 it's שלום") == "苹果 it's שלום");
  CHECK(visible(std::string_view("a\0b\t\x7f", 5)) == "a␀b␉␡");
  CHECK(visible("\xe2\x80\xae|\xe2\x81\xa6|\xc2\x85|\xe2\x80\xa8|\xef\xbb\xbf") ==
        "⟨U+202E⟩|⟨U+2066⟩|⟨U+0085⟩|⟨U+2028⟩|⟨U+FEFF⟩");
  CHECK(visible("\xd9\x85\xe2\x80\x8c\xd9\x85") == "\xd9\x85\xe2\x80\x8c\xd9\x85");  // joins letters
  CHECK(visible("a\xff") == "a\xef\xbf\xbd");
}

TEST_CASE("excerpt() truncates text of any length between characters") {
  CHECK(excerpt("animal") == "animal");
  CHECK(excerpt("a\x1b[31m") == "a␛[31m");
  CHECK(excerpt("苹果苹果", 8) == "苹果苹果");
  CHECK(excerpt("苹果苹果", 7) == "苹果苹…");
  std::string accents = "e";
  for (int i = 0; i < 1000; ++i) accents += "\u0301";
  CHECK(excerpt(accents, 5).find("\uFFFD") == std::string::npos);  // cut between code points
  for (const std::string& character : {std::string("x"), std::string("苹"), std::string("👩‍👩‍👧"),
                                       std::string("\xff"), std::string("\xe2\x80\xae"), std::string("e\u0301")}) {
    std::string text;
    for (int i = 0; i < 1000; ++i) text += character;
    for (int columns = 1; columns <= 60; ++columns) {
      const std::string cut = excerpt(text, columns);
      CHECK(display_width(cut) <= columns);
      CHECK(cut.ends_with("…") == true);
      CHECK(checked_utf8(cut, "cut") == cut);
    }
  }
}
