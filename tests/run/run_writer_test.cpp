#include "inspect/command.h"
#include "tests/catch.h"
#include "tests/message.h"
#include "tests/scratch.h"

#include <heed/files/file.h>
#include <heed/heed.h>
#include <heed/models/reading.h>
#include <heed/run/run_writer.h>

#include <cmath>
#include <limits>

using namespace heed;

namespace {

// An untrained decoder over words, and a sentence to watch.
struct OwnModel {
  Model saved{};
  Example watched{};
  explicit OwnModel(const std::string& text = "a b c a b") {
    saved.vocabulary = Vocabulary({"a", "b", "c"});
    ModelConfig config = language_model(gpt2(1, 2, 8));
    config.transformer.vocabulary = 3, config.transformer.max_length = 8;
    saved.build(Scope(saved.parameters, 1), config);
    watched = question(saved, text);
    watched.answer = "c";
  }
};

}  // namespace

TEST_CASE("RunWriter stores the last model, and the attention and metrics of each step") {
  const Scratch scratch;
  const OwnModel own;
  RunWriter run(scratch / "mine", own.saved, {own.watched}, {own.watched});
  run.write({.step = 0, .train_loss = 1.5});
  Tensor weight = own.saved.parameters["words.weight"];
  weight.mutable_data<float>()[0] = 7;  // a step of training
  run.write({.step = 10, .train_loss = 0.5, .held_out = {.loss = 0.75}});

  CHECK(dump_steps(run.path()) == std::vector<std::int64_t>{0, 10});
  const Model read = load_model(model_path(run.path()));
  CHECK(read.step == 10);
  CHECK(read.parameters["words.weight"].at({0, 0}) == 7);
  CHECK(read.queries == std::vector<std::string>{"b"});
  const Dump last = last_dump(run.path());
  CHECK(last.sentences.at(0).tokens == own.watched.tokens);
  const SentenceAttention now = attend(own.saved, own.watched);
  CHECK(last.sentences[0].layers.at(0).to_vector() == now.layers.at(0).to_vector());
  const std::vector<Metrics> metrics = read_metrics(run.path());
  REQUIRE(metrics.size() == 2);
  CHECK(metrics[1].held_out.loss == 0.75);
  CHECK(metrics[0].train_loss == 1.5);
  CHECK(std::isnan(metrics[0].held_out.accuracy));
  CHECK(std::filesystem::exists(held_out_path(run.path())));
}

TEST_CASE("RunWriter refuses examples that inspect could not read") {
  const Scratch scratch;
  const OwnModel own;
  const auto refusal = [&](const Example& watched, const Example& held_out) {
    const std::string text =
        message([&] { RunWriter(scratch / "mine", own.saved, {watched}, {held_out}); }, (scratch / "mine").string());
    CHECK_FALSE(std::filesystem::exists(scratch / "mine"));
    return text;
  };
  Example example = own.watched;
  example.counterpart = 1;
  CHECK(refusal(own.watched, example) == "FILE/held_out.jsonl:1: twin: expected a number from 0 to 0, got 1");
  example = own.watched;
  example.antecedent = 9;
  CHECK(refusal(own.watched, example) == "FILE/held_out.jsonl:1: antecedent: expected a number from 0 to 4, got 9");
  example = own.watched;
  example.answer = "z";
  CHECK(refusal(own.watched, example).starts_with("unknown word 'z'"));
  example.answer.clear();
  CHECK(refusal(own.watched, example) == "RunWriter: held-out example 0 has no answer");
  example = own.watched;
  example.query = 5;
  CHECK(refusal(example, own.watched) == "expected a query from 0 to 4, got 5");
  example.tokens.clear();
  CHECK(refusal(example, own.watched) == "expected a text of at least one token, got none");
}

TEST_CASE("RunWriter appends a number to the name of its directory if the name is taken") {
  const Scratch scratch;
  const OwnModel own;
  const auto make = [&] { return RunWriter(scratch / "runs" / "mine", own.saved, {}).path().filename(); };
  CHECK(make() == "mine");
  CHECK(make() == "mine-2");
  CHECK(make() == "mine-3");
}

TEST_CASE("RunWriter refuses invalid models, steps and weights, and keeps the last state") {
  const Scratch scratch;
  const OwnModel own;
  const auto mine = scratch / "mine";
  Example unknown = own.watched;
  unknown.tokens[0] = "z";
  CHECK(message([&] { RunWriter(mine, own.saved, {unknown}); }) == "not among the 3 words that the model knows: 'z'");
  CHECK(message([&] { RunWriter(mine, Model{}, {}); }) == "saved model: expected a network, got none");
  Model short_of_words = own.saved;
  short_of_words.vocabulary = Vocabulary({"a", "b"});
  CHECK(message([&] { RunWriter(mine, short_of_words, {}); }) ==
        "saved model: expected a vocabulary of 3 words as in the network's configuration, got 2");
  Model short_of_parameters = own.saved;
  short_of_parameters.parameters = Parameters();
  CHECK(message([&] { RunWriter(mine, short_of_parameters, {}); }) ==
        "saved model: its parameters are not those of its network: expected words.weight (3, 8), got no more. "
        "Construct the "
        "network with a Scope of these parameters");
  CHECK_FALSE(std::filesystem::exists(mine));

  RunWriter run(mine, own.saved, {own.watched});
  CHECK(message([&] { run.write({.step = -1}); }) == "RunWriter: expected a step from 0, got -1");
  run.write({.step = 3});
  CHECK(message([&] { run.write({.step = 3}); }) == "RunWriter: expected a step after 3, got 3");
  Tensor weight = own.saved.parameters["words.weight"];
  weight.mutable_data<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  CHECK(message([&] { run.write({.step = 4}); }) == "RunWriter: parameter words.weight is not finite at step 4");
  CHECK(load_model(model_path(mine)).step == 3);
  CHECK(dump_steps(mine) == std::vector<std::int64_t>{3});
}

TEST_CASE("inspect verify accepts a run of RunWriter and notices a missing file") {
  const Scratch scratch;
  const OwnModel own;
  RunWriter run(scratch / "mine", own.saved, {own.watched});
  run.write({.step = 0});
  const std::string directory = run.path().string();
  const char* const words[] = {"inspect", "verify", directory.c_str()};
  const auto verify = [&] { return inspect(3, words, Terminal{}); };
  const std::string said = verify();
  CHECK(said.find("model.safetensors") != std::string::npos);
  CHECK(said.find("config.yaml") == std::string::npos);
  std::filesystem::remove(metrics_path(run.path()));
  CHECK(message([&] { verify(); }).find("1 of 3 files are not whole") != std::string::npos);
}
