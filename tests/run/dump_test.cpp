#include "run/dump.h"

#include "tests/catch.h"
#include "tests/inspect/sample.h"
#include "tests/message.h"
#include "tests/scratch.h"

#include <heed/formats/safetensors.h>

#include <fstream>

using namespace heed;

namespace {

// Returns the message of read_dump() for `content`, without the name of the file.
std::string reading(const SafeTensors& content) {
  const ScratchDirectory scratch;
  const std::filesystem::path file = scratch.path / "dump.safetensors";
  write_safetensors(file, content);
  const std::string text = message([&] { read_dump(file); });
  return text.starts_with(file.string()) ? text.substr(file.string().size() + 2) : text;
}

std::string sentence_json(const std::string& query, const std::string& antecedent,
                          const std::string& probability = "0.5") {
  return R"([{"tokens":["a","b"],"query":)" + query + R"(,"antecedent":)" + antecedent +
         R"(,"predicted":"a","probability":)" + probability + "}]";
}

SafeTensors small_dump() {
  SafeTensors content;
  content.tensors = {{"sentence.0.layer.0", tensor({1, 2, 2}, {1, 0, 0.5, 0.5})},
                     {"sentence.0.layer.1", tensor({1, 2, 2}, {1, 0, 0.5, 0.5})}};
  content.metadata = {{"step", "7"}, {"sentences", sentence_json("1", "0")}};
  return content;
}

}  // namespace

TEST_CASE("read_dump returns the snapshot that write_dump wrote") {
  const ScratchDirectory scratch;
  SentenceAttention chinese = chinese_sentence();
  chinese.antecedent = -1;
  chinese.layers.push_back(chinese.layers[0]);
  write_dump(scratch.path, {400, {english_sentence(), chinese}});
  const std::filesystem::path file = scratch.path / "attention" / "step-000400.safetensors";
  REQUIRE(std::filesystem::exists(file));

  const Dump dump = read_dump(file);
  CHECK(dump.step == 400);
  REQUIRE(dump.sentences.size() == 2);
  CHECK(dump.sentences[0].tokens == english_sentence().tokens);
  CHECK(dump.sentences[0].query == 7);
  CHECK(dump.sentences[0].antecedent == 1);
  CHECK(dump.sentences[0].predicted == "animal");
  CHECK(dump.sentences[0].probability == 0.9984);
  CHECK(dump.sentences[0].layers[1].to_vector() == english_sentence().layers[1].to_vector());
  CHECK(dump.sentences[1].tokens == chinese.tokens);
  CHECK(dump.sentences[1].antecedent == -1);
  CHECK(dump.sentences[1].layers[0].shape() == Shape{1, 3, 3});
}

TEST_CASE("a dump's tensors and metadata have the documented names") {
  const ScratchDirectory scratch;
  write_dump(scratch.path, {3, {chinese_sentence()}});
  const SafeTensors content = read_safetensors(dump_path(scratch.path, 3));
  REQUIRE(content.tensors.size() == 1);
  CHECK(content.tensors[0].first == "sentence.0.layer.0");
  CHECK(content.metadata.at("step") == "3");
  CHECK(content.metadata.at("sentences") ==
        R"([{"tokens":["苹果","很","甜"],"query":2,"antecedent":0,"predicted":"苹果","probability":0.75}])");
}

TEST_CASE("dump_steps lists the dumps in order and nothing else") {
  const ScratchDirectory scratch;
  CHECK(dump_steps(scratch.path).empty());
  for (const int step : {100, 0, 1000000, 20}) write_dump(scratch.path, {step, {chinese_sentence()}});
  std::ofstream(scratch.path / "attention" / "step-7.safetensors") << "x";
  std::ofstream(scratch.path / "attention" / "notes.txt") << "x";
  CHECK(dump_steps(scratch.path) == std::vector<std::int64_t>{0, 20, 100, 1000000});
}

TEST_CASE("last_dump returns the snapshot of the last step") {
  const ScratchDirectory scratch;
  CHECK(message([&] { last_dump(scratch.path); }) == scratch.path.string() + ": has no snapshots of attention");
  for (const int step : {100, 20}) write_dump(scratch.path, {step, {chinese_sentence()}});
  CHECK(last_dump(scratch.path).step == 100);
}

TEST_CASE("read_dump names the contradiction in a snapshot") {
  REQUIRE(reading(small_dump()) == "no error");
  SafeTensors content = small_dump();

  SECTION("no metadata") {
    content.metadata.erase("sentences");
    CHECK(reading(content) == "is not a snapshot of attention: the metadata entry 'sentences' is missing");
  }
  SECTION("step is not a number") {
    content.metadata["step"] = "7x";
    CHECK(reading(content) == "metadata 'step' must be a whole number, got '7x'");
  }
  SECTION("sentences are not JSON") {
    content.metadata["sentences"] = "[{";
    CHECK(reading(content).starts_with("metadata 'sentences' is damaged: "));
  }
  SECTION("sentences are not an array") {
    content.metadata["sentences"] = "{}";
    CHECK(reading(content) == "metadata 'sentences' is damaged: expected an array");
  }
  SECTION("a field is missing") {
    content.metadata["sentences"] = R"([{"tokens":["a","b"]}])";
    CHECK(reading(content).find("key 'query' not found") != std::string::npos);
  }
  SECTION("query is out of range") {
    content.metadata["sentences"] = sentence_json("2", "0");
    CHECK(reading(content) == "sentence 0: query must be one of its tokens 0 to 1, got 2");
  }
  SECTION("query is not an integer") {
    content.metadata["sentences"] = sentence_json("0.5", "0");
    CHECK(reading(content) == "metadata 'sentences' is damaged: 'query' must be an index, got 0.5");
  }
  SECTION("antecedent is out of range") {
    content.metadata["sentences"] = sentence_json("1", "9");
    CHECK(reading(content) == "sentence 0: antecedent must be one of its tokens 0 to 1, or -1, got 9");
  }
  SECTION("probability") {
    content.metadata["sentences"] = sentence_json("1", "0", "1.5");
    CHECK(reading(content) == "sentence 0: probability must lie in [0, 1], got 1.5");
  }
  SECTION("no tokens") {
    content.metadata["sentences"] = R"([{"tokens":[],"query":0,"antecedent":-1,"predicted":"a","probability":0.5}])";
    CHECK(reading(content) == "sentence 0: expected at least one token");
  }
  SECTION("a candidate beyond the tokens, or of none") {
    const auto with = [&](const char* span) {
      std::string sentence = sentence_json("1", "0");
      content.metadata["sentences"] = sentence.insert(sentence.size() - 2, fmt::format(R"(,"candidates":[{}])", span));
      return reading(content);
    };
    CHECK(with("[0,1]") == "no error");
    CHECK(with("[1,3]") == "sentence 0: a candidate must be a span of its 2 tokens, got [1, 3)");
    CHECK(with("[1,1]") == "sentence 0: a candidate must be a span of its 2 tokens, got [1, 1)");
    CHECK(with("[0,1e99]") == "metadata 'sentences' is damaged: 'candidates' must be an index, got 1e+99");
    CHECK(with("[0,4294967297]") == "metadata 'sentences' is damaged: 'candidates' must be an index, got 4294967297");
    CHECK(with("[-1,1]") == "sentence 0: a candidate must be a span of its 2 tokens, got [-1, 1)");
  }
  SECTION("tensors of no sentence") {
    content.metadata["sentences"] = "[]";
    CHECK(reading(content) == "expected one tensor per sentence (0) and layer, got 2");
    content.tensors.clear();
    CHECK(reading(content) == "no error");
  }
  SECTION("more layers of one sentence than of another") {
    const std::string sentence = sentence_json("1", "0");
    content.metadata["sentences"] = sentence.substr(0, sentence.size() - 1) + "," + sentence.substr(1);
    content.tensors.emplace_back("sentence.1.layer.0", content.tensors[0].second);
    CHECK(reading(content) == "expected one tensor per sentence (2) and layer, got 3");
  }
  SECTION("T differs from the tokens") {
    content.tensors[1].second = tensor({1, 3, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1});
    CHECK(reading(content) ==
          "sentence.0.layer.1: expected float32 of shape (heads, 2, 2) for 2 tokens, got float32 (1, 3, 3)");
  }
  SECTION("float64") {
    content.tensors[0].second = content.tensors[0].second.to(DType::float64);
    CHECK(reading(content) ==
          "sentence.0.layer.0: expected float32 of shape (heads, 2, 2) for 2 tokens, got float64 (1, 2, 2)");
  }
  SECTION("a layer is missing") {
    content.tensors[1].first = "sentence.0.layer.2";
    CHECK(reading(content) == "the tensor 'sentence.0.layer.1' is missing");
  }
  SECTION("no layers") {
    content.tensors.clear();
    CHECK(reading(content) == "sentence 0: expected at least one layer");
  }
  SECTION("a row does not sum to 1") {
    content.tensors[1].second = tensor({1, 2, 2}, {1, 0, 0.5, 0.498});
    CHECK(reading(content) ==
          "sentence.0.layer.1: expected a query's weights to sum to 1, got 0.998 at head 0, query 1 (from 0)");
  }
  SECTION("a weight is out of range") {
    content.tensors[0].second = tensor({1, 2, 2}, {1.5, -0.5, 0.5, 0.5});
    CHECK(reading(content) ==
          "sentence.0.layer.0: expected weights in [0, 1], got 1.5 at head 0, query 0, key 0 (from 0)");
    content.tensors[0].second = tensor({1, 2, 2}, {1, 0, std::nan(""), 0.5});
    CHECK(reading(content) ==
          "sentence.0.layer.0: expected weights in [0, 1], got nan at head 0, query 1, key 0 (from 0)");
  }
}

TEST_CASE("write_dump refuses a snapshot that contradicts itself") {
  const ScratchDirectory scratch;
  SentenceAttention sentence = chinese_sentence();
  sentence.query = 3;
  CHECK(message([&] {
          write_dump(scratch.path, {0, {sentence}});
        }).ends_with("sentence 0: query must be one of its tokens 0 to 2, got 3"));
  const auto said = [&](const Dump& dump) { return message([&] { write_dump(scratch.path, dump); }, scratch.path); };
  CHECK(said({-1, {chinese_sentence()}}) ==
        "FILE/attention/step--00001.safetensors: step must not be negative, got -1");
  CHECK(said({0, {english_sentence(), chinese_sentence()}}) ==
        "FILE/attention/step-000000.safetensors: sentence 1: has 1 layer, but sentence 0 has 2");
  CHECK(dump_steps(scratch.path).empty());
}

TEST_CASE("write_dump fails if the run has a file named attention") {
  const ScratchDirectory scratch;
  std::ofstream(scratch.path / "attention") << "mine";
  CHECK(message(
            [&] {
              write_dump(scratch.path, {0, {chinese_sentence()}});
            },
            scratch.path) == "cannot make the directory FILE/attention: File exists");
}

TEST_CASE("check_same_model compares the layers, heads and words of a snapshot with the model") {
  const Model model = small_model();
  const auto checking = [&](const SentenceAttention& sentence) {
    return message([&] { check_same_model({400, {sentence}}, model, "dump"); });
  };
  CHECK(checking(english_sentence()) == "no error");
  CHECK(
      checking(chinese_sentence()) ==
      "dump: comes from a model of 1 layer with 1 head, but the run's model has 2 layers with 2 heads: they belong to "
      "different runs");
  SentenceAttention other = english_sentence();
  other.tokens[0] = "wombat";
  CHECK(checking(other) == "dump: the run's model does not know the word 'wombat': they belong to different runs");
}

TEST_CASE("A snapshot keeps the candidates of its sentences") {
  const ScratchDirectory scratch;
  const Model model = small_model(chooser_of(small_config()));
  const Example example = question(model, "The [animal] didn't cross [the street] because it was too tired");
  const SentenceAttention sentence = attend(model, example);
  write_dump(scratch.path, {400, {sentence}});
  CHECK(last_dump(scratch.path).sentences[0].candidates == std::vector<Span>{{1, 2}, {4, 6}});
  check_same_model(last_dump(scratch.path), model, "dump");
}

TEST_CASE("write_dump does not create a run directory that was removed") {
  const Scratch scratch;
  const std::filesystem::path gone = scratch / "gone";
  CHECK(message([&] {
          write_dump(gone, {0, {english_sentence()}});
        }) == "cannot make the directory " + (gone / "attention").string() +
                  ": No such file or directory: the directory " + gone.string() + " does not exist");
  CHECK_FALSE(std::filesystem::exists(gone));
}
