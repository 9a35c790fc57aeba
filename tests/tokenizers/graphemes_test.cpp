#include "tests/catch.h"

#include <heed/tokenizers/graphemes.h>

using namespace heed;

TEST_CASE("Each byte that is not UTF-8 is a separate grapheme") {
  const std::vector<Grapheme> all = graphemes("e\u0301\xff\u0301\xe5\xae");
  std::vector<std::string> texts;
  for (const Grapheme& g : all) texts.emplace_back(g.text);
  CHECK(texts == std::vector<std::string>{"e\u0301", "\xff", "\u0301", "\xe5", "\xae"});
  CHECK(all[1].first == -1);
  CHECK(all[1].width == 1);
  CHECK(display_width("a\xff") == 2);
  CHECK(fit_width("a\xff", 3) == "a\uFFFD ");
}

TEST_CASE("display_width counts terminal columns of wide, combining and joined characters") {
  CHECK(display_width("") == 0);
  CHECK(display_width("it") == 2);
  CHECK(display_width("苹果 很 甜") == 10);
  CHECK(display_width("，") == 2);
  CHECK(display_width("e\u0301") == 1);             // e and a combining accent
  CHECK(display_width("👩‍👩‍👧") == 2);  // joined into one character
  CHECK(display_width("🇨🇳") == 2);
  CHECK(display_width("…") == 1);
}

TEST_CASE("fit_width truncates and pads text to exactly the width") {
  CHECK(fit_width("it", 4) == "it  ");
  CHECK(fit_width("animal", 6) == "animal");
  CHECK(fit_width("animal", 4) == "ani…");
  CHECK(fit_width("苹果", 4) == "苹果");
  CHECK(fit_width("苹果树", 4) == "苹… ");  // half of a wide character is not shown
  CHECK(fit_width("苹果", 1) == "…");
  CHECK(fit_width("苹果", 0) == "");
  CHECK(fit_width("e\u0301e\u0301e\u0301", 2) == "e\u0301…");
  CHECK(fit_width("a\tb\x1b", 5) == "a\uFFFDb\uFFFD ");       // characters that move the cursor are replaced
  CHECK(display_width(fit_width("\x01\x01\u302e", 5)) == 5);  // a combining mark after a replaced control character
  for (int width = 0; width < 12; ++width) {
    CHECK(display_width(fit_width("The 苹果 e\u0301 👩‍👩‍👧.", width)) == width);
  }
}
