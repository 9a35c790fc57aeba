#include "tests/catch.h"
#include "tests/train/program.h"

#include <heed/files/safetensors.h>

#include <map>

using namespace heed;
namespace fs = std::filesystem;

namespace {

struct ResumeScratch : Scratch {
  ResumeScratch() {
    write_file(*this / "small.yaml",
               "data: {task: text, train: text.txt, tokens: characters, context: 8}\n"
               "model: {d_model: 8, dropout: 0.2}\n"
               "train: {steps: 20, batch_size: 4, evaluate_every: 10, checkpoint_every: 10}\n"
               "dump: {every: 10, sentences: 2}\n");
    write_file(*this / "text.txt", text());
  }

  static std::string text() {
    std::string text;
    for (int i = 0; i < 30; ++i) text += "a cat sat.\nthe dog ran.\n";
    return text;
  }

  std::string error(const std::string& command) const {
    const Ended ended = run_program(*this, command);
    return std::to_string(ended.code) + ": " + ended.err;
  }

  std::map<std::string, std::string> run() const {
    std::map<std::string, std::string> files;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(*this / "r")) {
      if (entry.is_regular_file()) files[entry.path().string()] = read_file(entry.path());
    }
    return files;
  }

  // Removes what older checkpoints lack: the configuration and the digests of the data.
  void forget_origin() const {
    SafeTensors content = read_safetensors(*this / "r/checkpoint.safetensors");
    for (const char* name : {"heed.config", "heed.train", "heed.held_out"}) content.metadata.erase(name);
    write_safetensors(*this / "r/checkpoint.safetensors", content);
  }
};

}  // namespace

TEST_CASE("train refuses to resume a run on changed data and leaves its files unchanged") {
  const ResumeScratch place;
  REQUIRE(place.error("train --quiet --config small.yaml --out r") == "0: ");
  const auto before = place.run();
  const std::string longer = "train --quiet --resume r --set train.steps=30";
  const std::string text = place.text();
  const std::string swapped = "the dog ran.\na cat sat.\n" + text.substr(24);  // the same characters in another order
  for (const std::string& other : {swapped, text + text.substr(0, 24), text.substr(24)}) {
    write_file(place / "text.txt", other);
    const std::string said = place.error(longer);
    CHECK(
        said.starts_with("1: train: r: data.train 'text.txt' has changed since this run began: expected sentences or "
                         "text of digest "));
    CHECK(said.ends_with(". Put the file back as it was, or begin a new run with --set model.from=r\n"));
  }
  CHECK((place.run() == before));
  place.forget_origin();
  write_file(place / "text.txt", swapped);
  CHECK(
      place.error(longer) ==
      "1: train: r: data.train 'text.txt' has changed since this run began: expected 14 characters, of which number 1 "
      "is 'a'; got 14, of which number 1 is 't'. Put the file back as it was, or begin a new run with --set "
      "model.from=r\n");
  write_file(place / "text.txt", text);
  CHECK(place.error(longer) == "0: ");
}

TEST_CASE("train refuses to resume if sentences of the training or test file change their order") {
  const ResumeScratch place;
  const std::string cat =
      R"({"tokens": ["a", "cat", "and", "a", "dog", "as", "it", "sat"], "query": 6, "antecedent": 1})";
  const std::string dog =
      R"({"tokens": ["a", "cat", "and", "a", "dog", "as", "it", "ran"], "query": 6, "antecedent": 4})";
  write_file(place / "a.jsonl", cat + "\n" + dog + "\n");
  write_file(place / "b.jsonl", cat + "\n" + dog + "\n");
  REQUIRE(place.error("train --quiet --config small.yaml --out r --set data.task=jsonl --set data.tokens=words --set "
                      "data.train=a.jsonl --set data.test=b.jsonl") == "0: ");
  for (const std::string file : {"a.jsonl", "b.jsonl"}) {
    write_file(place / file, dog + "\n" + cat + "\n");
    CHECK(place.error("train --quiet --resume r")
              .starts_with("1: train: r: data." + std::string(file == "a.jsonl" ? "train" : "test") + " '" + file +
                           "' has changed since this run began: "));
    write_file(place / file, cat + "\n" + dog + "\n");
  }
  CHECK(place.error("train --quiet --resume r") == "0: ");

  // The data may be moved, but not changed.
  REQUIRE(place.error("mkdir d && mv a.jsonl b.jsonl d && cp -r r s") == "0: ");
  const std::string before = read_file(place / "r/config.yaml"), there = " --set train.steps=30 --set data.train=";
  CHECK(place.error("train --quiet --resume r" + there + "d/b.jsonl --set data.test=d/a.jsonl") == "0: ");
  write_file(place / "d/c.jsonl", dog + "\n");
  CHECK(place.error("train --quiet --resume s" + there + "d/c.jsonl --set data.test=d/b.jsonl")
            .starts_with("1: train: s: data.train 'd/c.jsonl' has changed since this run began: "));
  CHECK(read_file(place / "s/config.yaml") == before);
  CHECK(read_file(place / "r/config.yaml").find("d/b.jsonl") != std::string::npos);
}

TEST_CASE("train refuses to restart a trained run whose checkpoint is missing") {
  const ResumeScratch place;
  REQUIRE(place.error("train --quiet --config small.yaml --out r") == "0: ");
  fs::remove(place / "r/checkpoint.safetensors");
  const auto refused = [&](const std::string& file) {
    const auto before = place.run();
    CHECK(place.error("train --quiet --resume r") ==
          "1: train: r: checkpoint.safetensors is missing, and training anew would overwrite r/" + file +
              " of step 20; put the checkpoint back, or start a new run with --set "
              "model.from=r\n");
    CHECK((place.run() == before));
    fs::remove(place / "r" / file);
  };
  fs::remove(place / "r/held_out.jsonl");
  CHECK(place.error("inspect causes r")
            .find("held_out.jsonl: is missing; checkpoint.safetensors is also missing, so train --resume cannot write "
                  "it") != std::string::npos);
  refused("model.safetensors");
  refused("metrics.jsonl");
  fs::remove(place / "r/attention/step-000010.safetensors");
  refused("attention/step-000020.safetensors");
  CHECK(place.error("train --quiet --resume r") == "0: ");  // like a run that was killed before its first checkpoint
}

TEST_CASE("Edits of config.yaml in a run obey the same restrictions as --set") {
  const ResumeScratch place;
  REQUIRE(place.error("train --quiet --config small.yaml --out r") == "0: ");
  const std::string config = read_file(place / "r/config.yaml");
  const auto edited = [&](const std::string& from, const std::string& to) {
    std::string text = config;
    REQUIRE(text.find(from) != text.npos);
    write_file(place / "r/config.yaml", text.replace(text.find(from), from.size(), to));
    return place.error("train --quiet --resume r");
  };
  CHECK(edited("seed: 1", "seed: 99")
            .starts_with("1: train: r/config.yaml:2:7: seed cannot change when a run is resumed"));
  CHECK(edited("dropout: 0.2", "dropout: 0.5").find(": model.dropout cannot change when a run is resumed") !=
        std::string::npos);
  CHECK(edited("probes: []", "probes: [{text: a cat}]").find(": probes cannot change when a run is resumed") !=
        std::string::npos);
  CHECK(edited("steps: 20", "steps: 30") == "0: ");
  CHECK(read_file(place / "r/metrics.jsonl").find("\"step\":30") != std::string::npos);
}
