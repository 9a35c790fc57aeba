#include "tests/catch.h"
#include "tests/message.h"

#include <heed/data/tokenize.h>

using namespace heed;
using Words = std::vector<std::string>;

TEST_CASE("words are split at white space and punctuation") {
  CHECK(tokenize("The animal didn't cross.", Split::words) == Words{"The", "animal", "didn't", "cross", "."});
  CHECK(tokenize("  a\t b\u3000c\u00a0d\r\n", Split::words) == Words{"a", "b", "c", "d"});
  CHECK(tokenize("小狗 没有 过，因为 它。", Split::words) == Words{"小狗", "没有", "过", "，", "因为", "它", "。"});
  CHECK(tokenize("well-known 'quoted' it's- rock’n’roll", Split::words) ==
        Words{"well-known", "'", "quoted", "'", "it's", "-", "rock’n’roll"});
  CHECK(tokenize("(why?!) a+b", Split::words) == Words{"(", "why", "?", "!", ")", "a", "+", "b"});
  CHECK(tokenize("cafe\u0301", Split::words) == Words{"cafe\u0301"});
  CHECK(tokenize("", Split::words).empty());
  CHECK(message([] { tokenize("ab\xc3", Split::words); }) == "text: not UTF-8 at byte 2: 0xc3");
}

TEST_CASE("characters are grapheme clusters, ASCII runs stay together") {
  CHECK(tokenize("苹果很甜", Split::characters) == Words{"苹", "果", "很", "甜"});
  CHECK(tokenize("用GPT4写， 好!", Split::characters) == Words{"用", "GPT4", "写", "，", "好", "!"});
  CHECK(tokenize("e\u0301a 👩‍👩‍👧", Split::characters) == Words{"e\u0301", "a", "👩‍👩‍👧"});
}
