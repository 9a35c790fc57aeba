#include "inspect/continuation.h"

#include "inspect/command.h"
#include "run/internal/program.h"
#include "tests/catch.h"
#include "tests/inspect/sample.h"
#include "tests/message.h"

#include <heed/files/utf8.h>

using namespace heed;

namespace {

// An untrained model of the characters a, b and a third.
SavedModel writer(const char* third = "\n") {
  SavedModel model;
  for (const char* character : {"a", "b", third}) model.vocabulary.add(character);
  model.tokenizer = Tokenizer::of_text(Split::characters);
  make_network(model, decoder_of({.max_length = 4, .layers = 1, .block = {.attention = {.d_model = 8}}}));
  return model;
}

std::string continued(const SavedModel& model, const Continuation& continuation) {
  std::string text;
  continue_text(model, continuation, [&](std::string_view piece) {
    text += piece;
    return true;
  });
  return text;
}

}  // namespace

TEST_CASE("continue_text adds the requested number of tokens and repeats them for the same seed") {
  const SavedModel model = writer();
  const std::string text = continued(model, {.begin = "ab", .tokens = 30});
  CHECK(text.size() == 32);
  CHECK(text.starts_with("ab"));
  CHECK(continued(model, {.begin = "ab", .tokens = 30}) == text);
  CHECK(continued(model, {.begin = "ab", .tokens = 10}) == text.substr(0, 12));
  CHECK(continued(model, {.begin = "ab", .tokens = 30, .seed = 2}) != text);
}

TEST_CASE("continue_text ends before the stop text, and when the callback returns false") {
  const SavedModel model = writer();
  const std::string text = continued(model, {.begin = "a", .tokens = 60});
  for (const std::string stop : {"b", "\n\n", "ab", "aa", "b\n"}) {
    CAPTURE(stop);
    const std::size_t found = text.find(stop, 1);
    REQUIRE(found != std::string::npos);
    CHECK(continued(model, {.begin = "a", .tokens = 60, .stop = stop}) == text.substr(0, found));
  }
  CHECK(continued(model, {.begin = "a", .tokens = 60, .stop = "bc"}) == text);
  int pieces = 0;
  continue_text(model, {.begin = "a"}, [&](std::string_view) { return ++pieces < 3; });
  CHECK(pieces == 3);
}

TEST_CASE("continue_text refuses models of questions, empty prompts and unknown characters") {
  const auto saying = [](const SavedModel& model, const std::string& begin) {
    return message([&] { continued(model, {.begin = begin}); });
  };
  CHECK(saying(small_model(), "animal") ==
        "the model answers questions about sentences; only one that was trained with data.task: text continues a text");
  CHECK(saying(writer(), "") == "--prompt: expected a text of at least one token, got none");
  CHECK(saying(writer(), "axbéx") ==
        "--prompt: the model knows 3 characters, but not these: 'x', 'é'. Models with data.tokens: bytes or subwords "
        "know every text");
}

TEST_CASE("inspect generate obeys its options and refuses invalid ones") {
  const ScratchDirectory scratch;
  save_model(model_path(scratch.path), writer());
  const auto inspecting = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"inspect", "generate", scratch.path.string()});
    std::vector<const char*> argv;
    for (const std::string& argument : arguments) argv.push_back(argument.c_str());
    return heed::inspect(static_cast<int>(argv.size()), argv.data(), {});
  };
  CHECK(inspecting({"--prompt", "ab", "--tokens", "20", "--seed", "3"}) ==
        continued(writer(), {.begin = "ab", .tokens = 20, .seed = 3}));
  CHECK(inspecting({"--prompt", "ab", "--temperature", "0.5", "--top-k", "2", "--top-p", "0.9", "--stop", "\\n"}) ==
        continued(writer(), {.begin = "ab", .sampling = {.temperature = 0.5, .top_k = 2, .top_p = 0.9}, .stop = "\n"}));
  for (const auto& [third, escaped] : {std::pair{"\n", "\\n"}, {"\r", "\\r"}, {"\t", "\\t"}, {"\\", "\\\\"}}) {
    save_model(model_path(scratch.path), writer(third));
    const std::string text = inspecting({"--prompt", "ab"});
    REQUIRE(text.find(third) != std::string::npos);
    CHECK(inspecting({"--prompt", "ab", "--stop", escaped}) == text.substr(0, text.find(third)));
  }
  const Json json = parse_json(inspecting({"--prompt", "ab", "--tokens", "20", "--seed", "3", "--json"}));
  CHECK(json["prompt"] == "ab");
  CHECK("ab" + json["text"].get<std::string>() == continued(writer("\\"), {.begin = "ab", .tokens = 20, .seed = 3}));
  CHECK(json["tokens"].size() == 20);
  CHECK(json["seed"] == 3);
  CHECK(message([&] { inspecting({"--prompt", ""}); }) == "--prompt: expected a text of at least one token, got none");
  const auto misuse = [&](const std::vector<std::string>& arguments) {
    try {
      inspecting(arguments);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(misuse({"--top-k", "3"}) == "expected --prompt TEXT (see inspect generate --help)");
  CHECK(misuse({"--prompt", "a", "--top-p", "0"}) ==
        "--top-p must be above 0 and at most 1 (see inspect generate --help)");
  for (const char* number : {"0,8", "0.5x", "0x1p-1", "half"}) {
    for (const std::string option : {"--temperature", "--top-p"}) {
      CHECK(misuse({"--prompt", "a", option, number}) ==
            option + ": expected a number such as 0.8, got '" + number + "' (see inspect generate --help)");
    }
  }
  CHECK(misuse({"--prompt", "a", "--tokens", "0"}) == "--tokens must be at least 1 (see inspect generate --help)");
  CHECK(misuse({"--prompt", "a", "--temperature", "-1"}) ==
        "--temperature must be at least 0 (see inspect generate --help)");
}

TEST_CASE("inspect generate --json writes valid JSON if the generated bytes are not UTF-8") {
  const ScratchDirectory scratch;
  SavedModel model;
  for (const char* token : {"a", "b", "<0x80>", "<0xFF>"}) model.vocabulary.add(token);
  model.tokenizer = Tokenizer::of_text(Split::bytes);
  make_network(model, decoder_of({.max_length = 4, .layers = 1, .block = {.attention = {.d_model = 8}}}));
  save_model(model_path(scratch.path), model);
  const std::string run = scratch.path.string();
  const char* const argv[] = {"inspect", "generate", run.c_str(), "--prompt", "ab", "--tokens", "40", "--json"};
  const Json json = parse_json(heed::inspect(static_cast<int>(std::size(argv)), argv, {}));
  CHECK(json["tokens"].size() == 40);
  CHECK(json["text"].get<std::string>().find("\ufffd") != std::string::npos);
}

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
