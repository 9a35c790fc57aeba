#include "tests/message.h"
#include "tests/models/writer.h"

#include <limits>

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

TEST_CASE("generate() refuses counts and sampling parameters out of range before it writes the prompt") {
  const auto refusal = [](const Generation& wanted) {
    bool has_written = false;
    const std::string text =
        message([&] { generate(writer(), wanted, [&](std::string_view) { return has_written = true; }); });
    CHECK_FALSE(has_written);
    return text;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(refusal({.prompt = "a", .tokens = -1}) == "generate: tokens must be at least 0, got -1");
  for (const auto& [temperature, shown] :
       {std::pair{-1.0, "-1"}, {nan, "nan"}, {std::numeric_limits<double>::infinity(), "inf"}}) {
    CHECK(refusal({.prompt = "a", .sampling = {.temperature = temperature}}) ==
          "generate: temperature must be finite and at least 0, got " + std::string(shown));
  }
  CHECK(refusal({.prompt = "a", .sampling = {.top_k = -1}}) ==
        "generate: top_k must be at least 1, or 0 for all tokens, got -1");
  for (const double top_p : {0.0, -0.5, 1.5, nan}) {
    CHECK(refusal({.prompt = "a", .sampling = {.top_p = top_p}}) ==
          fmt::format("generate: top_p must be above 0 and at most 1, got {}", top_p));
  }
}
