#include "tests/catch.h"
#include "tests/message.h"

#include <heed/autograd/random.h>
#include <heed/data/subwords.h>
#include <heed/data/tokenize.h>
#include <heed/files/file.h>

using namespace heed;

namespace {

const std::string& english() {
  static const std::string text = read_file("docs/self-attention.md") + read_file("docs/design.md");
  return text;
}

std::string again(const Tokenizer& tokenizer, const std::string& text) { return tokenizer.join(tokenizer(text)); }

}  // namespace

TEST_CASE("Subwords give back any text, byte for byte") {
  const Tokenizer tokenizer = Tokenizer::of_text(Subwords::learn({english()}, 600));
  CHECK(again(tokenizer, english()) == english());
  CHECK(tokenizer(english()).size() < english().size() * 6 / 10);
  for (const std::string text : {"", " ", "  two  spaces ", "\n\n", "\r\n\t", "\u2581", "a\u2581 b", "\xff\xfe",
                                 "ab\xc3", "\xe2\x96", "<unk>", "<0x0A>", "</s>", "苹果很甜", "👩‍👩‍👧",
                                 "e\u0301 \u00e9", "\xef\xbb\xbfx", "\u3000\u00a0", "\u2126 \u212b"}) {
    CAPTURE(text);
    CHECK(again(tokenizer, text) == text);
  }
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  CHECK(again(tokenizer, all) == all);
  CHECK(again(tokenizer, std::string(20'000, 'x')) == std::string(20'000, 'x'));
  Random random(1);
  for (int i = 0; i < 200; ++i) {
    std::string text = english().substr(static_cast<std::size_t>(random.below(1000)), 60);
    for (int edit = 0; edit < 4; ++edit) {
      text[static_cast<std::size_t>(random.below(60))] = static_cast<char>(random.below(256));
    }
    CHECK(again(tokenizer, text) == text);
  }
}

TEST_CASE("Subwords are the same for the same text, and from what they were saved as") {
  const Subwords learned = Subwords::learn({english()}, 500), other = Subwords::learn({english()}, 500);
  CHECK(learned.model() == other.model());
  CHECK(learned.words() == Subwords(learned.model()).words());
  CHECK(learned.words().size() == 500);
  const Tokenizer a = Tokenizer::of_text(learned), b = Tokenizer::of_text(Subwords(learned.model()));
  CHECK(a("the attention of heads") == b("the attention of heads"));
}

TEST_CASE("What subwords cannot be learned from or read from is an error") {
  CHECK(message([] { Subwords::learn({"\xff\xfe"}, 400); }) ==
        "data.tokens: subwords are learned from text; got none that is UTF-8");
  CHECK(message([] { Subwords("nonsense"); }).starts_with("the subwords cannot be read: "));
}
