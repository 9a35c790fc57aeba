#include "tests/message.h"
#include "tests/models/writer.h"

using namespace heed;

TEST_CASE("generate() adds the requested number of tokens and repeats them for the same seed") {
  const Model model = writer();
  const std::string text = continued(model, {.prompt = "ab", .tokens = 30});
  CHECK(text.size() == 32);
  CHECK(text.starts_with("ab"));
  CHECK(continued(model, {.prompt = "ab", .tokens = 30}) == text);
  CHECK(continued(model, {.prompt = "ab", .tokens = 10}) == text.substr(0, 12));
  CHECK(continued(model, {.prompt = "ab", .tokens = 30, .seed = 2}) != text);
}

TEST_CASE("generate() ends before the stop text, and when the callback returns false") {
  const Model model = writer();
  const std::string text = continued(model, {.prompt = "a", .tokens = 60});
  for (const std::string stop : {"b", "\n\n", "ab", "aa", "b\n"}) {
    CAPTURE(stop);
    const std::size_t found = text.find(stop, 1);
    REQUIRE(found != std::string::npos);
    CHECK(continued(model, {.prompt = "a", .tokens = 60, .stop = stop}) == text.substr(0, found));
  }
  CHECK(continued(model, {.prompt = "a", .tokens = 60, .stop = "bc"}) == text);
  int pieces = 0;
  generate(model, {.prompt = "a"}, [&](std::string_view) { return ++pieces < 3; });
  CHECK(pieces == 3);
}

TEST_CASE("generate() refuses models of questions, empty prompts and unknown characters") {
  const auto saying = [](const Model& model, const std::string& begin) {
    return message([&] { continued(model, {.prompt = begin}); });
  };
  CHECK(saying(small_model(), "animal") ==
        "the model answers questions about sentences; only one that was trained with data.task: text continues a text");
  CHECK(saying(writer(), "") == "prompt: expected a text of at least one token, got none");
  CHECK(saying(writer(), "axbéx") ==
        "prompt: the model knows 3 characters, but not these: 'x', 'é'. Models with data.tokens: bytes or subwords "
        "know every text");
}
