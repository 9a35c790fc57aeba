#include "tests/catch.h"
#include "tests/message.h"
#include "tests/models/writer.h"

#include <algorithm>
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

TEST_CASE("generate() counts the tokens that the model no longer reads") {
  const Model model = writer();  // reads four characters
  const auto forgotten = [&](const char* prompt, int tokens) {
    return generate(model, {.prompt = prompt, .tokens = tokens}, [](std::string_view) { return true; }).forgotten;
  };
  CHECK(forgotten("ab", 3) == 0);
  CHECK(forgotten("ab", 4) == 3);  // the last two of five were read
  CHECK(forgotten("ab", 6) == 3);
  CHECK(forgotten("abaaba", 1) == 2);
  CHECK(forgotten("abaaba", 0) == 0);
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

TEST_CASE("generate() gives each of several texts what it gets alone") {
  const Positions positions = GENERATE(Positions::learned, Positions::sinusoidal, Positions::none, Positions::rotary);
  Model model = writer("\n", GENERATE(1, 5, 20), 3, positions);
  const std::string whole = continued(model, {.prompt = "ab", .tokens = 30});
  std::vector<Generation> wanted{{.prompt = "ab", .tokens = 30},
                                 {.prompt = "a", .tokens = 17, .seed = 2},
                                 {.prompt = "abbaabbabab", .tokens = 25, .sampling = {.temperature = 0}},
                                 {.prompt = "b", .tokens = 0},
                                 {.prompt = "bab", .tokens = 40, .seed = 3, .stop = "aab"},
                                 {.prompt = "ba", .tokens = 30, .sampling = {.temperature = 0.5, .top_k = 2}}};
  SECTION("to their ends") {}
  SECTION("which a token can end") { model.end_tokens = {2}; }
  std::vector<std::string> texts(wanted.size());
  const std::vector<Generated> results = generate(model, wanted, [&](std::size_t i, std::string_view piece) {
    texts[i] += piece;
    return true;
  });
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    CAPTURE(i);
    std::string text;
    const Generated alone = generate(model, wanted[i], [&](std::string_view piece) { return text += piece, true; });
    CHECK(texts[i] == text);
    CHECK(results[i].tokens == alone.tokens);
    CHECK(results[i].ended_by == alone.ended_by);
    CHECK(results[i].passes == alone.passes);
    CHECK(results[i].forgotten == alone.forgotten);
  }
}

TEST_CASE("generate() of several texts ends those whose receiver has enough, and refuses all before it writes any") {
  const Model model = writer();
  std::vector<Generation> wanted(3, {.prompt = "ab", .tokens = 9});
  std::vector<int> pieces(3);
  const OnTexts write = [&](std::size_t i, std::string_view) { return ++pieces[i] <= static_cast<int>(2 * i); };
  const std::vector<Generated> results = generate(model, wanted, write);
  CHECK(pieces == std::vector{1, 3, 5});
  CHECK((results[0].tokens.empty() && results[0].ended_by == Ending::stop));
  CHECK((results[2].tokens.size() == 4 && results[2].ended_by == Ending::stop));
  CHECK(generate(model, std::vector<Generation>(), write).empty());
  const std::vector<Generation> many(70, {.prompt = "ab", .tokens = 3});
  std::vector<std::string> texts(70);
  CHECK(generate(model, many, [&](std::size_t i, std::string_view piece) { return texts[i] += piece, true; })[69]
            .passes == 3);
  CHECK(std::ranges::count(texts, continued(model, many[0])) == 70);
  std::vector<Generation> uneven(9, {.prompt = "ab", .tokens = 2});
  uneven[4].prompt = std::string(60, 'a');
  const Model reader = writer("\n", 80);
  std::vector<std::size_t> order;
  generate(reader, uneven, [&](std::size_t i, std::string_view) { return order.push_back(i), true; });
  CHECK(std::vector(order.end() - 3, order.end()) == std::vector<std::size_t>{4, 4, 4});  // read alone, without padding
  pieces = {0, 0, 0};
  wanted[2].speculate = true;
  CHECK(message([&] { generate(model, wanted, write); }) == "generate: speculate is for one text, got 3");
  wanted[2] = {.prompt = "abc"};
  CHECK(message([&] { generate(model, wanted, write); }).starts_with("text 2: prompt: the model knows 3 characters"));
  CHECK(pieces == std::vector{0, 0, 0});
}
