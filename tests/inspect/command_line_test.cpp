#include "tests/inspect/inspected_run.h"

#include <heed/version.h>

#include <algorithm>

using namespace heed;
namespace fs = std::filesystem;

TEST_CASE("inspect throws a UsageError for wrong usage and says what it expects") {
  const InspectedRun run;
  CHECK(run.is_usage_error({}, "expected a run directory (see inspect --help)"));
  CHECK(run.is_usage_error({"causes"}, "expected a run directory (see inspect causes --help)"));
  CHECK(run.is_usage_error(
      {"RUN", "extra"},
      "expected one run, got 'extra' too; inspect compare RUN RUN compares two (see inspect --help)"));
  CHECK(run.is_usage_error({"--json", "causes", "RUN"},
                           fmt::format("expected one run, got '{}' too; the command comes first: inspect causes RUN "
                                       "(see inspect --help)",
                                       run.path.string())));
  CHECK(run.is_usage_error({"compare", "RUN", "RUN", "--step", "1", "--step", "2", "--step", "3"},
                           "expected two runs, or one run and --step twice, got --step 3 times "
                           "(see inspect compare --help)"));
  CHECK(run.is_usage_error({"compare", "RUN", "--step", "1"},
                           "expected two runs, or one run and --step twice, got --step once "
                           "(see inspect compare --help)"));
  CHECK(run.is_usage_error(
      {"RUN", "--step", "1", "--step", "2"},
      "expected one --step; inspect compare RUN --step N --step N compares two (see inspect --help)"));
  CHECK(
      run.is_usage_error({"RUN", "--probe", "1", "--sentence", "x"},
                         "--probe chooses a watched sentence and cannot be used with --sentence (see inspect --help)"));
  CHECK(
      run.is_usage_error({"causes", "RUN", "--limit", "0"}, "--limit must be at least 1 (see inspect causes --help)"));
  CHECK(run.is_usage_error({"RUN", "--json", "--matrix"},
                           "--json cannot be used with --matrix: it already prints all weights (see inspect --help)"));
  CHECK(run.is_usage_error({"steps", "RUN"}, "expected --sentence TEXT (see inspect steps --help)"));
  CHECK(run.is_usage_error({"RUN", "--query", "it"}, "--query needs --sentence (see inspect --help)"));
  CHECK(run.is_usage_error({"causes", "RUN", "--json", "--head", "1"},
                           "--json prints every layer and head (see inspect causes --help)"));
  CHECK(run.is_usage_error({"match", "RUN"}, "expected two runs or more, got 1 (see inspect match --help)"));
  CHECK(run.is_usage_error({"page", "RUN"}, "expected --out FILE (see inspect page --help)"));
  CHECK(run.is_usage_error({"export", "RUN"},
                           "expected --svg FILE, --pdf FILE, --png FILE, --csv FILE, --npy FILE, --hugging-face DIR, "
                           "--adapter DIR or --gguf FILE (see "
                           "inspect export "
                           "--help)"));
  CHECK(run.is_usage_error({"causes", "RUN", "--layer", "two"},
                           "--layer: expected a whole number, got 'two' (see inspect causes --help)"));
  CHECK_THROWS_AS(run.inspect({"RUN", "--bogus"}), UsageError);
  CHECK_THROWS_AS(run.inspect({"causes", "RUN", "--matrix"}), UsageError);
  CHECK(run.is_usage_error({"verify", "RUN", "--json"}, "--json needs --against (see inspect verify --help)"));
}

TEST_CASE("The message for an option of another command names that command") {
  const InspectedRun run;
  CHECK(
      run.is_usage_error({"RUN", "--svg", "a.svg"},
                         "--svg is an option of inspect circuit, inspect curves, inspect export (see inspect --help)"));
  CHECK(run.is_usage_error({"causes", "RUN", "--matrix"},
                           "--matrix is an option of inspect RUN (see inspect causes --help)"));
  CHECK(run.is_usage_error({"verify", "RUN", "--temperature=1"},
                           "--temperature is an option of inspect generate (see inspect verify --help)"));
}

TEST_CASE("The message for an option without its value shows the value as the help does") {
  const InspectedRun run;
  CHECK(run.is_usage_error({"export", "RUN", "--svg"}, "--svg needs a value: --svg FILE (see inspect export --help)"));
  CHECK(run.is_usage_error({"RUN", "--sentence"}, "--sentence needs a value: --sentence TEXT (see inspect --help)"));
  CHECK(
      run.is_usage_error({"causes", "RUN", "--limit"}, "--limit needs a value: --limit N (see inspect causes --help)"));
}

TEST_CASE("The message for a mistyped command suggests the nearest one") {
  const InspectedRun run;
  CHECK(run.is_usage_error(
      {"cuases", "RUN"}, "'cuases' is not a command or an existing run (did you mean 'causes'?) (see inspect --help)"));
  CHECK(run.is_usage_error({"shwo", "RUN"},
                           "shwo: there is no such run, model or command; train --config FILE makes a run, and hf "
                           "download OWNER/NAME --local-dir DIR fetches a model of Hugging Face (see inspect --help)"));
  CHECK(run.is_usage_error({"RUN", "--threads", "2"},
                           "--threads is an option of train; OMP_NUM_THREADS=2 inspect ... sets the number of threads "
                           "(see inspect --help)"));
  CHECK(run.is_usage_error({"causes", "RUN", "--threads=x"},
                           "--threads is an option of train; OMP_NUM_THREADS=N inspect ... sets the number of threads "
                           "(see inspect causes --help)"));
  CHECK(run.error({"RUN/causs"}).starts_with("RUN/causs: there is no such run or model; "));
}

TEST_CASE("inspect opens a run directory with the name of a command as ./causes") {
  const InspectedRun run;
  struct Back {
    fs::path path = fs::current_path();
    ~Back() { fs::current_path(path); }
  } back;
  fs::current_path(run.path);
  fs::create_directory("causes");
  write_dump("causes", {400, {english_sentence()}});
  CHECK(run.inspect({"./causes"}) == query_view({400, {english_sentence()}}, {}));
  CHECK(run.is_usage_error({"causes"}, "expected a run directory (see inspect causes --help)"));
  CHECK(run.inspect({"compare", "causes", "--step", "400", "--step", "400"}) != "");
}

TEST_CASE("inspect --help lists every command on one screen") {
  const InspectedRun run;
  const std::string help = run.inspect({"--help"});
  CHECK(std::ranges::count(help, '\n') <= 24);
  std::size_t longest = 0;
  for (std::size_t begin = 0, end; (end = help.find('\n', begin)) != std::string::npos; begin = end + 1)
    longest = std::max(longest, end - begin);
  CHECK(longest <= 80);
  for (const char* command : {"causes", "circuit", "why", "history", "match", "report", "generate", "weights", "steps",
                              "induction", "compare", "page", "export", "verify"}) {
    INFO(command);
    CHECK(help.find(fmt::format("\n  {} ", command)) != std::string::npos);
    const std::string own = run.inspect({command, "--help"});
    CHECK(own.find(fmt::format("inspect {} RUN", command)) != std::string::npos);
    CHECK(own.find(fmt::format("\nExample: inspect {} runs/", command)) != std::string::npos);
    CHECK(run.inspect({command, "RUN", "--help"}) == own);
  }
  const std::string own = run.inspect({"RUN", "--help"});
  for (const char* option : {"--sentence", "--query", "--matrix", "--json", "--step ", "--probe", "--layer", "--head",
                             "counted from 1", "count from 0"}) {
    INFO(option);
    CHECK(own.find(option) != std::string::npos);
  }
  CHECK(run.inspect({"--version"}) == "inspect " HEED_VERSION "\n");
}

TEST_CASE("The JSON of weights, steps, induction and compare counts layers and heads from 0") {
  const InspectedRun run;
  write_dump(run.path, {0, {english_sentence()}});
  const Json weights = parse_json(run.inspect({"weights", "RUN", "--json", "--layer", "2", "--head", "1"}));
  CHECK(weights["step"] == 400);
  CHECK(weights["layers"].size() == 1);
  CHECK((weights["layers"][0]["layer"] == 1 && weights["layers"][0]["head"] == 0));
  CHECK(weights["layers"][0]["matrices"][0]["name"] == "W_Q");
  CHECK(weights["layers"][0]["matrices"][0]["shape"] == Json::array({8, 3}));

  const Json steps = parse_json(run.inspect({"steps", "RUN", "--json", "--sentence", dog_sentence}));
  CHECK((steps["layer"] == 0 && steps["head"] == 0 && steps["not_finite"] == ""));
  const auto step = std::ranges::find_if(
      steps["steps"], [](const Json& one) { return one["equation"] == "weights = softmax(scaled)"; });
  REQUIRE(step != steps["steps"].end());
  const Model model = small_model();
  const Tensor own = attend(model, question(model, dog_sentence)).layers[0];
  CHECK((*step)["values"][7][1].get<double>() == Approx(own.at({0, 7, 1})));

  const Json induction = parse_json(run.inspect({"induction", "RUN", "--json", "--layer", "2"}));
  CHECK(induction["steps"].size() == 2);
  CHECK(induction["steps"][1]["heads"].size() == 2);
  CHECK((induction["steps"][1]["heads"][1]["layer"] == 1 && induction["steps"][1]["heads"][1]["head"] == 1));
  CHECK(induction["steps"][1]["loss"].is_null());

  const Json compared = parse_json(run.inspect({"compare", "RUN", "--step", "0", "--step", "400", "--json"}));
  CHECK((compared["sides"][0]["step"] == 0 && compared["sides"][1]["step"] == 400));
  CHECK(compared["sentences"][0]["heads"].size() == 4);
  const Json& head = compared["sentences"][0]["heads"][2];
  CHECK((head["layer"] == 1 && head["head"] == 0 && head["strongest"][1]["token"] == 1));
  CHECK(head["most_apart"]["change"] == 0);
  CHECK(compared["left_out"] == 0);
}
