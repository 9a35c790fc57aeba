#include "tests/catch.h"
#include "tests/message.h"

#include <heed/tokenizers/tokenize.h>

using namespace heed;
using Words = std::vector<std::string>;

TEST_CASE("The split into words is at white space and punctuation") {
  CHECK(tokenize("The animal didn't cross.", Split::words) == Words{"The", "animal", "didn't", "cross", "."});
  CHECK(tokenize("  a\t b\u3000c\u00a0d\r\n", Split::words) == Words{"a", "b", "c", "d"});
  CHECK(tokenize("小狗 没有 过，因为 它。", Split::words) == Words{"小狗", "没有", "过", "，", "因为", "它", "。"});
  CHECK(tokenize("well-known 'quoted' it's- rock’n’roll", Split::words) ==
        Words{"well-known", "'", "quoted", "'", "it's", "-", "rock’n’roll"});
  CHECK(tokenize("(why?!) a+b", Split::words) == Words{"(", "why", "?", "!", ")", "a", "+", "b"});
  CHECK(tokenize("cafe\u0301", Split::words) == Words{"cafe\u0301"});
  CHECK(tokenize("", Split::words).empty());
  CHECK(Tokenizer(Split::words).join({"it", "'s", "<0x41>"}) == "it 's <0x41>");
  CHECK(Tokenizer(Split::characters).join({"苹", "果"}) == "苹果");
  CHECK(message([] { tokenize("ab\xc3", Split::words); }) == "text: not UTF-8 at byte 2: 0xc3");
}

TEST_CASE("The split into characters yields grapheme clusters, and keeps ASCII words together") {
  CHECK(tokenize("苹果很甜", Split::characters) == Words{"苹", "果", "很", "甜"});
  CHECK(tokenize("用GPT4写， 好!", Split::characters) == Words{"用", "GPT4", "写", "，", "好", "!"});
  CHECK(tokenize("e\u0301a 👩‍👩‍👧", Split::characters) == Words{"e\u0301", "a", "👩‍👩‍👧"});
}

TEST_CASE("The tokens of a text reproduce it byte for byte, for each kind of split") {
  const Tokenizer words = Tokenizer::of_text(Split::words), characters = Tokenizer::of_text(Split::characters),
                  bytes = Tokenizer::of_text(Split::bytes);
  CHECK(words("a cat,  didn't\r\n\n it's - so") ==
        Words{"a", " cat", ",", " ", " didn't", "\r\n", "\n", " it's", " ", "-", " so"});
  CHECK(characters("e\u0301 \n苹") == Words{"e", "\u0301", " ", "\n", "苹"});
  CHECK(bytes("a\xe2\n") == Words{"a", "<0xE2>", "\n"});
  const std::string hard = "\xef\xbb\xbf  \u2581the\t'tis-  it's- \u3000 e\u0301\r\n\r\n<0xE2>👩‍👩‍👧\n ";
  for (const Tokenizer& tokenizer : {words, characters, bytes}) CHECK(tokenizer.join(tokenizer(hard)) == hard);
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  CHECK(bytes.join(bytes(all)) == all);
  CHECK(bytes(all).size() == 256);
  for (const Tokenizer& tokenizer : {words, characters}) {
    CHECK(message([&] { tokenizer("ab\xc3"); }) == "text: not UTF-8 at byte 2: 0xc3");
  }
  CHECK(message([] { tokenize("a", Split::bytes); }) == "a sentence is split into words or characters, not bytes");
}
