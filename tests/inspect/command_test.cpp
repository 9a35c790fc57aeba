#include "inspect/command.h"

#include "inspect/view.h"
#include "sample.h"
#include "tests/catch.h"
#include "tests/message.h"

#include <fmt/ranges.h>

using namespace heed;

namespace {

// A run with dumps of steps 0 and 400 and the model of step 400.
struct Run : ScratchDirectory {
  Run() {
    write_dump(path, {0, {chinese_sentence()}});
    write_dump(path, {400, {english_sentence()}});
    save_model(model_path(path), small_model());
  }

  std::string inspect(std::vector<std::string> arguments) const {
    std::vector<const char*> argv{"inspect"};
    for (std::string& argument : arguments) {
      if (argument.starts_with("RUN")) argument = path.string() + argument.substr(3);
      argv.push_back(argument.c_str());
    }
    return heed::inspect(static_cast<int>(argv.size()), argv.data(), {});
  }

  // The message, with the run's directory as RUN.
  std::string error(const std::vector<std::string>& arguments) const {
    std::string text = message([&] { inspect(arguments); });
    const std::size_t begin = text.find(path.string());
    return begin == std::string::npos ? text : text.replace(begin, path.string().size(), "RUN");
  }

  bool is_usage_error(const std::vector<std::string>& arguments, const std::string& text) const {
    try {
      inspect(arguments);
    } catch (const UsageError& usage) {
      CHECK(usage.what() == text + " (see inspect --help)");
      return true;
    }
    return false;
  }
};

constexpr const char* dog_sentence = "The dog didn't cross the street because it was too tired";

}  // namespace

TEST_CASE("inspect shows the last dump, or the one chosen") {
  const Run run;
  CHECK(run.inspect({"RUN"}) == query_view({400, {english_sentence()}}, {}));
  CHECK(run.inspect({"RUN", "--step", "0"}) == query_view({0, {chinese_sentence()}}, {}));
  CHECK(run.inspect({"RUN/attention/step-000000.safetensors"}) == query_view({0, {chinese_sentence()}}, {}));
  CHECK(run.inspect({"RUN", "--matrix", "--layer", "2", "--head=1"}) ==
        matrix_view({400, {english_sentence()}}, {.terminal = {}, .layer = 2, .head = 1, .before = nullptr}));
  CHECK(run.inspect({"--json", "RUN"}) == json_view({400, {english_sentence()}}));
}

TEST_CASE("inspect runs the saved model on a sentence") {
  const Run run;
  const SavedModel model = small_model();
  const Dump dump{400, {attend(*model.reader, model.vocabulary, question(model, dog_sentence))}};
  CHECK(run.inspect({"RUN", "--sentence", dog_sentence}) == query_view(dump, {}));
  CHECK(run.inspect({"RUN", "--sentence", dog_sentence, "--json", "--step", "400"}) == json_view(dump));
  CHECK(run.inspect({"RUN", "--sentence", dog_sentence, "--query", "dog"}).find("  dog -> ") != std::string::npos);
  CHECK(run.inspect({"RUN", "--sentence", dog_sentence, "--steps"}) ==
        steps_view(model, question(model, dog_sentence), {}));
  CHECK(run.inspect({"RUN", "--weights"}) == weights_view(model, {}));
  CHECK(run.error({"RUN", "--sentence", "The stret was it"}) ==
        "not among the 14 words that the model knows: 'stret' (did you mean 'street'?)");
}

TEST_CASE("inspect says what is not there") {
  const Run run;
  CHECK(run.error({"RUN/nowhere"}) == "RUN/nowhere: there is no such run; train --config FILE makes one");
  CHECK(run.error({"RUN", "--step", "7"}) == "RUN: has no dump of step 7; there are 0, 400");
  CHECK(run.error({"RUN/attention"}) == "RUN/attention: holds no attention dumps");
  CHECK(run.error({"RUN/attention", "--weights"}) ==
        "RUN/attention/model.safetensors: is missing; has the run been saved?");
  CHECK(run.error({"RUN", "--weights", "--step", "0"}) ==
        "RUN: only the last model is kept, of step 400; there is none of step 0");
  CHECK(run.error({"RUN/attention/step-000000.safetensors", "--step", "400"}) ==
        "RUN/attention/step-000000.safetensors: is the dump of step 0, not 400");
  CHECK(run.error({"RUN/attention/step-000000.safetensors", "--weights"}) ==
        "RUN/attention/step-000000.safetensors: is a single file; --sentence, --weights and --steps need the run "
        "directory with its model");
  CHECK(run.error({"RUN/model.safetensors"}) ==
        "RUN/model.safetensors: is no attention dump: its metadata has no 'step'");
}

TEST_CASE("inspect tells wrong usage from other errors") {
  const Run run;
  CHECK(run.is_usage_error({}, "expected a run directory"));
  CHECK(run.is_usage_error({"RUN", "extra"}, "expected one run directory, got 'extra' too"));
  CHECK(run.is_usage_error({"RUN", "--steps"}, "--steps needs --sentence"));
  CHECK(run.is_usage_error({"RUN", "--query", "it"}, "--query needs --sentence"));
  CHECK(run.is_usage_error({"RUN", "--weights", "--sentence", "x"}, "--weights shows the model, not a --sentence"));
  CHECK(run.is_usage_error({"RUN", "--json", "--head", "1"}, "--json prints every layer and head"));
  CHECK(run.is_usage_error({"RUN", "--json", "--matrix"},
                           "--matrix, --weights, --steps, --json are different views: choose one"));
  CHECK_THROWS_AS(run.inspect({"RUN", "--bogus"}), UsageError);
  CHECK_THROWS_AS(run.inspect({"RUN", "--layer", "two"}), UsageError);
}

TEST_CASE("inspect --help and --version need no run") {
  const Run run;
  const std::string help = run.inspect({"--help"});
  for (const char* option : {"--sentence", "--query", "--matrix", "--weights", "--steps", "--json", "--step ",
                             "--layer", "--head", "counted from 1", "count from 0"}) {
    CHECK(help.find(option) != std::string::npos);
  }
  CHECK(run.inspect({"--version"}) == "inspect " HEED_VERSION "\n");
}
