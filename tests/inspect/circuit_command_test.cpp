#include "tests/catch.h"
#include "tests/inspect/inspected_run.h"
#include "tests/inspect/pretrained_model.h"
#include "tests/scratch.h"
#include "tokenizers/internal/json.h"

#include <heed/files/file.h>
#include <heed/formats/datasets/jsonl.h>

#include <fmt/ranges.h>

using namespace heed;
namespace fs = std::filesystem;

namespace {

// Returns dog_example() with other words behind the query: another sentence for each number below 36.
Example numbered_example(int number) {
  const std::vector<std::string> words{"didn't", "cross", "because", "was", "too", "tired"};
  Example e = dog_example();
  e.tokens[3] = words[static_cast<std::size_t>(number % 6)], e.tokens[4] = words[static_cast<std::size_t>(number / 6)];
  return e;
}

// Writes pairs in words of small_model().
void write_pairs(const fs::path& file, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    Example other = numbered_example(i);
    std::swap(other.tokens[0], other.tokens[1]);
    text += fmt::format("{{\"clean\": \"{}\", \"corrupted\": \"{}\", \"answer\": \"dog\", \"wrong\": \"street\"}}\n",
                        fmt::join(numbered_example(i).tokens, " "), fmt::join(other.tokens, " "));
  }
  write_file(file, text);
}

}  // namespace

TEST_CASE("inspect circuit studies the pairs of a file, with the options that it is given") {
  const InspectedRun run;
  write_pairs(run.path / "pairs.jsonl", 12);
  const Json json = parse_json(run.inspect({"circuit", "RUN", "RUN/pairs.jsonl", "--json"}));
  CHECK(json["pairs"] == 12);
  CHECK(json["method"] == "exact");
  CHECK(json["methods"] == Json({"exact", "deeplift", "eap_ig", "eap"}));
  CHECK(json["target"] == 0.8);
  const Json other = parse_json(run.inspect({"circuit", "RUN", "RUN/pairs.jsonl", "--json", "--limit", "8", "--method",
                                             "exact", "--choice", "threshold", "--faithfulness", "0.5"}));
  CHECK(
      (other["pairs"] == 8 && other["method"] == "exact" && other["choice"] == "threshold" && other["target"] == 0.5));
  CHECK(run.inspect({"circuit", "RUN", "RUN/pairs.jsonl", "--svg", "RUN/circuit.svg"}).find("circuit.svg: ") !=
        std::string::npos);
  CHECK(read_file(run.path / "circuit.svg").starts_with("<svg "));
  CHECK(run.inspect({"circuit", "RUN", "RUN/pairs.jsonl"}).find("area under the curve (CPR)") != std::string::npos);
}

TEST_CASE("inspect circuit says what it does not have") {
  const InspectedRun run;
  write_pairs(run.path / "pairs.jsonl", 12);
  CHECK(run.is_usage_error(
      {"circuit", "RUN", "RUN/pairs.jsonl", "--method", "best"},
      "expected one of eap, eap_ig, deeplift, exact as --method, got 'best' (see inspect circuit --help)"));
  CHECK(run.is_usage_error({"circuit", "RUN", "RUN/pairs.jsonl", "--faithfulness", "80"},
                           "expected --faithfulness above 0 and at most 1, got 80 (see inspect circuit --help)"));
  CHECK(run.is_usage_error({"circuit", "RUN", "RUN/pairs.jsonl", "--faithfulness", "most"},
                           "--faithfulness: expected a number such as 0.8, got 'most' (see inspect circuit --help)"));
  CHECK(run.is_usage_error({"circuit", "RUN", "RUN", "--svg", "a.svg"},
                           "--svg is for one model (see inspect circuit --help)"));
  CHECK(run.is_usage_error({"circuit", "RUN", "RUN", "--without", "embedding"},
                           "--without is for one model (see inspect circuit --help)"));
  CHECK(run.error({"circuit", "RUN", "--over-training"}) ==
        "RUN: keeps only the last model, so earlier circuits cannot be found; train with dump.weights: true");
  write_jsonl(held_out_path(run.path), std::vector(9, dog_example()));
  CHECK(run.error({"circuit", "RUN"}).starts_with("RUN: its held-out sentences have no minimal pairs"));
  CHECK(run.error({"circuit", "RUN", "RUN/missing.jsonl"}).find("RUN/missing.jsonl") != std::string::npos);
}

TEST_CASE("inspect circuit compares runs, and the steps of one") {
  const InspectedRun run;
  std::vector<Example> examples;
  for (int i = 0; i < 10; ++i) {
    examples.push_back(numbered_example(i));
    examples.back().counterpart = 2 * i + 1;
    examples.push_back(numbered_example(i));
    std::swap(examples.back().tokens[0], examples.back().tokens[1]);
    examples.back().answer = "street", examples.back().counterpart = 2 * i;
  }
  write_jsonl(held_out_path(run.path), examples);
  const Scratch others;
  const std::string other = others / "other";
  fs::copy(run.path, other, fs::copy_options::recursive);
  CHECK(run.error({"circuit", "RUN", "RUN"}) == "RUN: this run is given twice; expected different runs");
  const Json seeds = parse_json(run.inspect({"circuit", "RUN", other, "--json"}));
  CHECK(seeds["models"].size() == 2);
  CHECK(seeds["models"][0]["study"]["groups"] == 10);
  CHECK(seeds["models"][0]["study"] == seeds["models"][1]["study"]);
  CHECK(run.inspect({"circuit", "RUN", other}).find("\nmodel") != std::string::npos);
  CHECK(seeds.contains("matched") == (seeds["found"] == 2));
  fs::create_directory(run.path / "models");
  save_model(dumped_model_path(run.path, 400), small_model());
  CHECK(run.inspect({"circuit", "RUN", "--over-training"}).find("\nstep 400 ") != std::string::npos);
}

TEST_CASE("inspect circuit studies pretrained models of every family") {
  const Scratch scratch;
  std::string lines;
  for (int i = 0; i < 8; ++i) {
    lines += fmt::format(
        "{{\"clean\": \"w{0} w11 w12 w5\", \"corrupted\": \"w{0} w12 w11 w5\", \"answer\": \"w20\", \"wrong\": "
        "\"w21\"}}\n",
        30 + i);
  }
  write_file(scratch / "pairs.jsonl", lines);
  for (const auto& [word, class_name] : {std::pair{"w20", "positive"}, std::pair{"w21", "negative"}}) {
    for (std::size_t at = 0; (at = lines.find(word, at)) != lines.npos;) lines.replace(at, 3, class_name);
  }
  write_file(scratch / "classes.jsonl", lines);
  int studied = 0;
  for (const auto& entry : fs::directory_iterator("tests/golden/hugging_face")) {
    if (!fs::exists(entry.path() / "model.safetensors")) continue;
    const fs::path directory = scratch / entry.path().filename().string();
    fs::copy(entry.path(), directory);
    write_file(directory / "tokenizer.json", tokenizer_of_words());
    CAPTURE(directory.string());
    const bool classifies = directory.string().ends_with("_classes");
    const std::string text = message([&] {
      const fs::path pairs = scratch / (classifies ? "classes.jsonl" : "pairs.jsonl");
      const Json json = parse_json(shown({"circuit", directory.string(), pairs, "--json"}));
      CHECK(json["pairs"] == 8);
      CHECK(json["curve"].back()["faithfulness"]["mean"].get<double>() == Approx(1));
      ++studied;
    });
    if (text != "no error") CHECK(text == "the model has no head: it shows states and attention, but gives no answers");
  }
  CHECK(studied >= 28);
}

TEST_CASE("inspect why --answer reads a file of pairs") {
  const InspectedRun run;
  write_pairs(run.path / "pairs.jsonl", 12);
  const Json json = parse_json(run.inspect({"why", "RUN", "RUN/pairs.jsonl", "--answer", "--json"}));
  CHECK((json["pairs"] == 12 && json["layers"].size() == 3 && json["layers"][2]["clean"].contains("low")));
  CHECK(run.inspect({"why", "RUN", "RUN/pairs.jsonl", "--answer"}).find("\nlayer 2 ") != std::string::npos);
  CHECK(run.error({"why", "RUN", "RUN/pairs.jsonl"}).starts_with("a file of pairs is for --answer; give it or leave "));
  CHECK(run.is_usage_error({"why", "RUN", "RUN/pairs.jsonl", "--answer", "--probe", "1"},
                           "--probe cannot be used with a file of pairs (see inspect why --help)"));
}
