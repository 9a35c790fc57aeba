#include "tests/catch.h"
#include "tests/message.h"
#include "tests/train/train_scratch.h"
#include "tokenizers/internal/json.h"
#include "train/config/keys.h"

#include <heed/formats/safetensors.h>

#include <map>

using namespace heed;
namespace fs = std::filesystem;

namespace {

struct ResumeScratch : ProgramScratch {
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

  std::map<std::string, std::string> run() const {
    std::map<std::string, std::string> files;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(*this / "r")) {
      if (entry.is_regular_file()) files[entry.path().string()] = read_file(entry.path());
    }
    return files;
  }

  // Removes what older checkpoints do not have: the configuration and the digests of the data.
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
        said.starts_with("1: train: r: data.train 'text.txt' differs from the data of this run: expected sentences or "
                         "text of digest "));
    CHECK(said.ends_with(". Resume with the same data, or begin a new run with --set model.from=r\n"));
  }
  CHECK((place.run() == before));
  place.forget_origin();
  write_file(place / "text.txt", swapped);
  CHECK(
      place.error(longer) ==
      "1: train: r: data.train 'text.txt' differs from the data of this run: expected 14 characters, of which number 1 "
      "is 'a'; got 14, of which number 1 is 't'. Resume with the same data, or begin a new run with --set "
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
  const std::string cow =
      R"({"tokens": ["a", "cow", "and", "a", "dog", "as", "it", "sat"], "query": 6, "antecedent": 1})";
  const std::string pig =
      R"({"tokens": ["a", "pig", "and", "a", "dog", "as", "it", "ran"], "query": 6, "antecedent": 4})";
  const auto lines = [](const std::string& first, const std::string& second) { return first + "\n" + second + "\n"; };
  write_file(place / "a.jsonl", lines(cat, dog));
  write_file(place / "b.jsonl", lines(cow, pig));
  REQUIRE(place.error("train --quiet --config small.yaml --out r --set data.task=jsonl --set data.tokens=words --set "
                      "data.train=a.jsonl --set data.test=b.jsonl") == "0: ");
  for (const std::string file : {"a.jsonl", "b.jsonl"}) {
    const bool is_train = file == "a.jsonl";
    write_file(place / file, is_train ? lines(dog, cat) : lines(pig, cow));
    CHECK(place.error("train --quiet --resume r")
              .starts_with("1: train: r: data." + std::string(is_train ? "train" : "test") + " '" + file +
                           "' differs from the data of this run: "));
    write_file(place / file, is_train ? lines(cat, dog) : lines(cow, pig));
  }
  CHECK(place.error("train --quiet --resume r") == "0: ");

  // The data may be moved, but not changed.
  REQUIRE(place.error("mkdir d && mv a.jsonl b.jsonl d && cp -r r s") == "0: ");
  const std::string before = read_file(place / "r/config.yaml"), there = " --set train.steps=30 --set data.train=";
  CHECK(place.error("train --quiet --resume r" + there + "d/a.jsonl --set data.test=d/b.jsonl") == "0: ");
  write_file(place / "d/c.jsonl", dog + "\n");
  CHECK(place.error("train --quiet --resume s" + there + "d/c.jsonl --set data.test=d/b.jsonl")
            .starts_with("1: train: s: data.train 'd/c.jsonl' differs from the data of this run: "));
  CHECK(read_file(place / "s/config.yaml") == before);
  CHECK(read_file(place / "r/config.yaml").find("d/b.jsonl") != std::string::npos);
}

TEST_CASE("train resumes with another value of every key that it lists, and refuses every other key") {
  const ResumeScratch place;
  const std::map<std::string, std::string> others{
      {"optim.lr", "0.01"},
      {"optim.weight_decay", "0.1"},
      {"optim.schedule", "linear"},
      {"optim.min_lr", "0.0001"},
      {"optim.warmup", "3"},
      {"optim.step_size", "5 --set optim.schedule=step"},
      {"optim.gamma", "0.5 --set optim.schedule=step --set optim.step_size=5"},
      {"optim.decay_steps", "5 --set optim.schedule=warmup_stable_decay"},
      {"optim.clip", "2"},
      {"train.steps", "25"},
      {"train.shard_optimizer", "true"},
      {"train.patience", "2"},
      {"train.evaluate_every", "5"},
      {"train.checkpoint_every", "5"},
      {"dump.every", "5"},
      {"dump.weights", "true"},
      {"data.train", "moved.txt"},
      {"data.test", "moved_test.txt"}};
  REQUIRE(place.error("cp text.txt test.txt && cp text.txt moved.txt && cp text.txt moved_test.txt && "
                      "train --quiet --config small.yaml --set data.test=test.txt --out began") == "0: ");
  Config config = read_config((place / "began/config.yaml").string());
  for (const Key& key : keys(config)) {
    INFO(key.name);
    const bool is_listed = resumable_keys().find(key.name) != std::string::npos;
    CHECK(is_listed == others.contains(key.name));
    if (is_listed) {
      const std::string longer = key.name == "train.steps" ? "" : " --set train.steps=30";
      CHECK(place.error("rm -rf r && cp -r began r && train --quiet --resume r" + longer + " --set " + key.name + "=" +
                        others.at(key.name)) == "0: ");
      continue;
    }
    std::vector<std::string> values{"true", "false", "2", "3", "0.5", "512"};
    if (const auto* choice = std::get_if<Choice>(&key.slot)) values = choice->names;
    const std::string before = written(key);
    const auto other = std::ranges::find_if(
        values, [&](const std::string& value) { return assign(key, value, false) && written(key) != before; });
    REQUIRE(other != values.end());
    CHECK(message([&] {
            read_resumed_config(place / "began/config.yaml", {key.name + "=" + *other});
          }).find(key.name + " cannot change when a run is resumed") != std::string::npos);
  }
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

TEST_CASE("train --resume writes missing files of a finished run again") {
  const TrainScratch place;
  REQUIRE(place.error("train --quiet --config small.yaml --out r") == "0: ");
  const auto again = [&](const std::string& file, const std::string& damage) {
    CAPTURE(file, damage);
    const std::string before = read_file(place / ("r/" + file));
    const Ended ended = run_program(place, damage + "; train --resume r");
    CHECK(ended.code == 0);
    CHECK(ended.out.find("Look closer: inspect r") != std::string::npos);
    CHECK(read_file(place / ("r/" + file)) == before);
  };
  again("model.safetensors", "rm r/model.safetensors");
  again("attention/step-000000.safetensors", "rm r/attention/*");
  again("attention/step-000060.safetensors", "rm -r r/attention");
  again("metrics.jsonl", ": > r/metrics.jsonl");
  again("metrics.jsonl", "rm r/metrics.jsonl");
  again("held_out.jsonl", "rm r/held_out.jsonl");
}

TEST_CASE("train refuses to resume a run whose held-out sentences were cut, and says how to have them again") {
  const TrainScratch place;
  REQUIRE(place.error("train --quiet --config small.yaml --out r") == "0: ");
  const std::string whole = read_file(place / "r/held_out.jsonl");
  const auto lines = std::ranges::count(whole, '\n');
  const std::string again = "; remove the file, and train --resume r writes it again\n";
  const auto resumed = [&](const std::string& text) {
    write_file(place / "r/held_out.jsonl", text);
    return place.error("train --quiet --resume r");
  };
  std::string fewer = whole;  // without the last pair
  for (int i = 0; i < 2; ++i) fewer.resize(fewer.rfind('\n', fewer.size() - 2) + 1);
  CHECK(resumed(fewer) == fmt::format("1: train: r/held_out.jsonl: differs from the sentences that the run held out: "
                                      "expected {}, got {}{}",
                                      lines, lines - 2, again));
  CHECK(resumed(whole.substr(whole.find('\n') + 1) + whole.substr(0, whole.find('\n') + 1)).ends_with(again));
  const std::string cut = resumed(whole.substr(0, whole.size() - 20));
  CHECK(cut.starts_with("1: train: r/held_out.jsonl:"));
  CHECK(cut.ends_with(again));
  fs::remove(place / "r/held_out.jsonl");
  CHECK(place.error("train --quiet --resume r") == "0: ");
  CHECK(read_file(place / "r/held_out.jsonl") == whole);
}

TEST_CASE("A checkpoint that contradicts itself is refused") {
  const TrainScratch place;
  REQUIRE(place.error("train --quiet --config small.yaml --out r") == "0: ");
  const SafeTensors whole = read_safetensors(place / "r/checkpoint.safetensors");
  const auto with = [&](const char* key, const Json& value) {
    SafeTensors content = whole;
    Json progress = parse_json(content.metadata.at("heed.progress"));
    progress[key] = value;
    content.metadata["heed.progress"] = format_json(progress);
    write_safetensors(place / "r/checkpoint.safetensors", content);
    return place.error("train --quiet --resume r");
  };
  const std::string start = "1: train: r/checkpoint.safetensors: metadata 'heed.progress' cannot be read: ";
  CHECK(with("step", -1) == start + "'step': expected an integer from 0, got -1\n");
  CHECK(with("step", 4.7) == start + "'step': expected an integer from 0, got 4.7\n");
  CHECK(with("step", "60") == start + "'step': expected an integer from 0, got \"60\"\n");
  CHECK(with("step", 1000000) ==
        "1: train: r/checkpoint.safetensors: contradicts itself: 1000000 steps taken, 60 by the optimiser\n");
  CHECK(with("loss_sum", nullptr) == start + "'loss_sum': expected a number, got null\n");
  CHECK(with("metrics", Json::array()) == start + "'metrics': expected lines, got []\n");
  CHECK(with("metrics", {"{\"step\":61}"}) == start + "'metrics': the last is of step 61, after step 60\n");
  CHECK(with("step", 60) == "0: ");
}

TEST_CASE("train --resume extends a finished run, and an interruption on the way changes no bit") {
  const TrainScratch place;
  REQUIRE(place.error("train --quiet --config small.yaml --out a") == "0: ");
  REQUIRE(place.error("cp -r a b && cp -r a c") == "0: ");
  const Ended longer = run_program(place, "train --resume a --set train.steps=300 --set optim.lr=0.001");
  CHECK(longer.code == 0);
  CHECK(longer.out.find("from   step 60 of 300: optim.lr 0.001 (was 0.003), train.steps 300 (was 60); the\n"
                        "       new schedule holds from there\n") != std::string::npos);
  CHECK(read_file(place / "a/config.yaml").find("\n  steps: 300\n") != std::string::npos);
  CHECK(fs::exists(place / "a/attention/step-000300.safetensors"));

  // Killed before the end, then resumed without any setting.
  const std::string killed = place.error(
      "train --quiet --resume b --set train.steps=300 --set optim.lr=0.001 & "
      "await grep -q '\"step\":100,' b/metrics.jsonl; kill -9 $!; wait $!");
  CHECK(killed.starts_with("137: "));
  CHECK(place.error("train --quiet --resume b --threads 1") == "0: ");
  for (const std::string file : {"config.yaml", "model.safetensors", "metrics.jsonl", "checkpoint.safetensors"}) {
    CAPTURE(file);
    CHECK(read_file(place / ("a/" + file)) == read_file(place / ("b/" + file)));
  }

  const std::string before = read_file(place / "c/config.yaml");
  CHECK(place.error("train --resume c --set train.steps=20") ==
        "1: train: --set train.steps=20: train.steps must be at least the 60 steps already taken, got 20\n");
  CHECK(place.error("train --resume c --set optim.lr=0.1") ==
        "1: train: c: all of its 60 steps are done, so these settings would change nothing: optim.lr 0.1 (was 0.003); "
        "also raise train.steps\n");
  CHECK(place.error("train --resume c --set model.heads=4")
            .starts_with("1: train: --set model.heads=4: model.heads cannot change when a run is resumed; these keys "
                         "can: optim.lr, "));
  CHECK(read_file(place / "c/config.yaml") == before);
  CHECK(run_program(place, "train --resume c")
            .out.find("from   step 60 of 60: nothing is left to train; --set train.steps=N extends it\n") !=
        std::string::npos);
  CHECK(run_program(place, "train --help").out.find("train.checkpoint_every") != std::string::npos);
}

TEST_CASE("A resumed run keeps the subwords that it has learned") {
  const TrainScratch place;
  std::string text, later;
  for (int i = 0; i < 400; ++i) {
    text += fmt::format("the cat {} sat on the mat\n", i);
    later += fmt::format("quick zephyrs vex {} daft jackdaws\n", i);
  }
  write_file(place / "text.txt", text);
  const std::string settings =
      "--set data.task=text --set data.train=text.txt --set data.tokens=subwords --set data.vocabulary=300 "
      "--set data.context=8 --set train.steps=10 ";
  REQUIRE(place.error("train --quiet --config small.yaml --out r " + settings) == "0: ");
  const std::string learned = read_safetensors(place / "r/model.safetensors").metadata.at("heed.subwords");
  CHECK(place.error("train --quiet --resume r --set train.steps=20") == "0: ");
  CHECK(read_safetensors(place / "r/model.safetensors").metadata.at("heed.subwords") == learned);
  write_file(place / "text.txt", later + text);
  CHECK(place.error("train --quiet --resume r").find("'text.txt' differs from the data of this run") !=
        std::string::npos);
  REQUIRE(place.error("train --quiet --config small.yaml --out s " + settings) == "0: ");
  CHECK(read_safetensors(place / "s/model.safetensors").metadata.at("heed.subwords") != learned);
}
