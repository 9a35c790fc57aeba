#include "tests/formats/hugging_face/copied_model.h"
#include "tests/inspect/inspected_run.h"
#include "tests/inspect/pretrained_model.h"
#include "tokenizers/internal/json.h"

#include <heed/files/file.h>
#include <heed/formats/datasets/jsonl.h>

using namespace heed;

TEST_CASE("inspect evaluate prints accuracy and loss of sentences with intervals") {
  const InspectedRun run;
  std::vector<Example> examples(3, dog_example());
  examples[1].relation = "agreement", examples[2].relation = "reflexive";
  const std::string file = (run.path / "mine.jsonl").string();
  write_jsonl(file, examples);
  const std::string text = run.inspect({"evaluate", "RUN", file});
  CHECK(text.starts_with(file + ": 3 sentences\n"));
  for (const char* row :
       {"\n  right  ", "\n    agreement (1) ", "\n    reflexive (1) ", "\n  loss, nats per answer "}) {
    CAPTURE(row, text);
    CHECK(text.find(row) != std::string::npos);
  }
  const Json json = parse_json(run.inspect({"evaluate", "RUN", file, file, "--json"}));
  REQUIRE(json.size() == 2);
  CHECK((json[0]["sentences"] == 3 && json[0]["accuracy"]["low"].is_number() && json[0]["groups"].size() == 3));
  CHECK(run.error({"evaluate", "RUN", file, "--context", "4"}).find("--context is for texts, and ") == 0);
  CHECK(run.error({"evaluate", "RUN"}).starts_with("expected a FILE: a text, or sentences as JSONL, such as"));
  CHECK(run.error({"evaluate", "RUN", "missing.jsonl"}) == "cannot read missing.jsonl: No such file or directory");
}

TEST_CASE("inspect evaluate counts the sentences that the run was trained on") {
  const InspectedRun run;
  std::vector<Example> examples(3, dog_example());
  examples[1].tokens[1] = "cross";
  const std::string own = (run.path / "own.jsonl").string(), file = (run.path / "mine.jsonl").string();
  write_jsonl(own, examples);
  examples[2].tokens[1] = "animal";
  write_jsonl(file, examples);
  write_jsonl(held_out_path(run.path), {examples[1]});
  const auto said = [&](const char* text) {
    return run.inspect({"evaluate", "RUN", file}).find(text) != std::string::npos;
  };
  CHECK(!said("trained on"));
  write_file(run.path / "config.yaml", "seed: 1\ndata:\n  train: \"missing.jsonl," + own + "\"\n");
  CHECK(said("\nThe run was trained on 1 of these 3 sentences.\n"));  // it held out the second
  CHECK(parse_json(run.inspect({"evaluate", "RUN", file, "--json"}))[0]["learned"] == 1);
}

TEST_CASE("inspect evaluate prints loss and perplexity of a text for a pretrained model") {
  CopiedModel copy("gpt2");
  write_file(copy.path() / "tokenizer.json", tokenizer_of_words());
  const std::string file = (copy.path() / "words.txt").string();
  std::string words;
  for (int i = 0; i < 200; ++i) words += "w" + std::to_string(i * i % 61) + " ";
  write_file(file, words);
  const std::string text = shown({"evaluate", copy.path().string(), file, "--context", "8"});
  CAPTURE(text);
  CHECK(text.find(": 200 tokens in windows of 8; 199 of them,") != std::string::npos);
  CHECK(text.find("those before it in its window\n") != std::string::npos);
  for (const char* row :
       {"\n  loss, nats per token  ", "\n  perplexity  ", "\n  bits per byte  ", "\n  right first guess  "}) {
    CHECK(text.find(row) != std::string::npos);
  }
  const Json json = parse_json(shown({"evaluate", copy.path().string(), file, "--json"}))[0];
  CHECK(json["perplexity"]["share"].get<double>() == Approx(std::exp(json["loss"]["share"].get<double>())));
  CopiedModel masked("bert");
  CHECK(message([&] { shown({"evaluate", masked.path().string(), file}); }).find("has no ") != std::string::npos);
}
