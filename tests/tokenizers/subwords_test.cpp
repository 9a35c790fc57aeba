#include "tests/catch.h"
#include "tests/message.h"

#include <heed/autograd/random.h>
#include <heed/files/file.h>
#include <heed/tokenizers/subwords.h>
#include <heed/tokenizers/tokenize.h>

using namespace heed;

namespace {

const std::string& english() {
  static const std::string text =
      read_file("docs/tutorial/self-attention.md") + read_file("docs/explanation/architecture.md");
  return text;
}

std::string again(const Tokenizer& tokenizer, const std::string& text) { return tokenizer.join(tokenizer(text)); }

}  // namespace

TEST_CASE("Subwords reproduce any text byte for byte") {
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

TEST_CASE("Subwords learned from the same text are equal, also after saving and loading") {
  const Subwords learned = Subwords::learn({english()}, 500), other = Subwords::learn({english()}, 500);
  CHECK(learned.model() == other.model());
  CHECK(learned.words() == Subwords(learned.model()).words());
  CHECK(learned.words().size() == 500);
  const Tokenizer a = Tokenizer::of_text(learned), b = Tokenizer::of_text(Subwords(learned.model()));
  CHECK(a("the attention of heads") == b("the attention of heads"));
}

TEST_CASE("Subwords split a text that SentencePiece would change into bytes") {
  std::string model = Subwords::learn({english()}, 500).model();
  const std::size_t normaliser = model.find("identity");
  REQUIRE(normaliser != model.npos);
  const std::size_t dummy_prefix = model.find(std::string("\x18\x00", 2), normaliser);  // add_dummy_prefix: false
  REQUIRE(dummy_prefix < normaliser + 12);
  model[dummy_prefix + 1] = 1;
  const Tokenizer tokenizer = Tokenizer::of_text(Subwords(model));
  CHECK(tokenizer("ab\nc") == std::vector<std::string>{"<0x61>", "<0x62>", "<0x0A>", "<0x63>"});
  CHECK(again(tokenizer, english()) == english());
}

TEST_CASE("Subwords reject an unusable text and a damaged model") {
  for (const std::string_view nothing : {"", "\n\n\n", "\xff\xfe", "\u2581"}) {
    CHECK(message([&] { Subwords::learn({nothing}, 400); }) ==
          "data.tokens: subwords are learned from lines of UTF-8; the text has only line ends, NUL, U+2581 and "
          "invalid bytes, or is empty");
  }
  CHECK(message([] { Subwords::learn({"the cat sat on the mat"}, 20); }) ==
        "data.vocabulary: expected at least 267, the number of different characters in the text and of byte values, "
        "got 20");
  std::string model = Subwords::learn({english()}, 500).model();
  for (std::size_t at = 0; (at = model.find("<0x", at)) != model.npos; ++at) {
    REQUIRE(model[at + 12] == 6);  // the type of a piece: a byte
    model[at + 12] = 1;            // a piece as any other
  }
  const std::size_t fallback = model.find("\x98\x02\x01");  // byte_fallback: true
  REQUIRE(fallback != model.npos);
  model[fallback + 2] = 0;
  CHECK(message([&] { Subwords{model}; }) == "the subwords cannot be read: some bytes are missing");
  CHECK(message([] { Subwords("nonsense"); }).starts_with("the subwords cannot be read: "));
  CHECK(message([] { Subwords(""); }) == "the subwords cannot be read: they are damaged");
  const std::string learned = Subwords::learn({english()}, 500).model();
  CHECK(message([&] { Subwords(learned.substr(0, learned.size() - 1)); }) ==
        "the subwords cannot be read: they are truncated");
}

TEST_CASE("Subwords reject models that normalise text, whose table SentencePiece would not check") {
  const std::string learned = Subwords::learn({english()}, 500).model();
  const auto field = [](int number, const std::string& content) {  // of fewer than 128 bytes
    return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(content.size())} + content;
  };
  const std::string table = field(2, std::string("\x04\0\0\0", 4) + "\xff\xff\xff\xff" + "x");
  const auto said = [&](const std::string& more) { return message([&] { Subwords(learned + more); }); };
  for (const std::string& more : {field(3, table), field(5, table), field(4, "tests")}) {
    CHECK(said(more) == "the subwords cannot be read: they normalise text or contain self tests");
  }
  CHECK(said(field(3, field(2, ""))) == "no error");
  CHECK(said("\x79" + std::string(8, '\0') + "\x7d" + std::string(4, '\0')) ==
        "no error");  // numbers of another version
  CHECK(said("\x1a\x7f") == "the subwords cannot be read: they are truncated");
  CHECK(said("\x1b") == "the subwords cannot be read: they hold a field of an unknown kind");
  CHECK(said("\x9a") == "the subwords cannot be read: they are truncated");
}
