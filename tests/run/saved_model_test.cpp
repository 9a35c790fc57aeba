#include "run/saved_model.h"

#include "tests/catch.h"
#include "tests/inspect/sample.h"
#include "tests/message.h"
#include "tests/scratch.h"

#include <heed/files/file.h>
#include <heed/files/safetensors.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>

using namespace heed;

namespace {

constexpr const char* famous = "The animal didn't cross the street because it was too tired";

// The message that loading gives after `change`, without the file's name.
template <class Change>
std::string loading(const Change& change) {
  const ScratchDirectory scratch;
  const std::filesystem::path file = model_path(scratch.path);
  save_model(file, small_model());
  SafeTensors content = read_safetensors(file);
  change(content);
  write_safetensors(file, content);
  const std::string text = message([&] { load_model(file); });
  return text.starts_with(file.string()) ? text.substr(file.string().size() + 2) : text;
}

// The same after one entry of the model's description is set to `value`.
std::string describing(const std::string& pointer, const nlohmann::ordered_json& value) {
  return loading([&](SafeTensors& content) {
    auto description = nlohmann::ordered_json::parse(content.metadata.at("heed.model"));
    description[nlohmann::ordered_json::json_pointer(pointer)] = value;
    content.metadata["heed.model"] = description.dump();
  });
}

}  // namespace

TEST_CASE("a model is loaded as it was saved") {
  const auto positions = GENERATE(Positions::learned, Positions::sinusoidal, Positions::none);
  const auto tie = GENERATE(Tie::none, Tie::K_is_V, Tie::Q_is_K);
  const ScratchDirectory scratch;
  const SavedModel model = small_model(positions, tie, Bias::yes);
  save_model(model_path(scratch.path), model);
  const SavedModel loaded = load_model(model_path(scratch.path));

  CHECK(loaded.vocabulary.words() == model.vocabulary.words());
  CHECK(loaded.queries == std::vector<std::string>{"it"});
  CHECK(loaded.tokenizer.split() == Split::words);
  CHECK(loaded.step == 400);
  const Example example = question(model, famous);
  const SentenceAttention before = attend(*model.reader, model.vocabulary, example);
  const SentenceAttention after = attend(*loaded.reader, loaded.vocabulary, question(loaded, famous));
  CHECK(after.predicted == before.predicted);
  CHECK(after.probability == before.probability);
  REQUIRE(after.layers.size() == 2);
  CHECK(after.layers[1].to_vector() == before.layers[1].to_vector());

  const std::string bytes = read_file(model_path(scratch.path));
  save_model(model_path(scratch.path), loaded);
  CHECK(read_file(model_path(scratch.path)) == bytes);
}

TEST_CASE("a decoder is loaded as it was saved, and what is as usual is not written") {
  const ScratchDirectory scratch;
  const SavedModel model = small_model(decoder_config(Predicts::next));
  save_model(model_path(scratch.path), model);
  const SavedModel loaded = load_model(model_path(scratch.path));
  const Example example = question(model, famous);
  const SentenceAttention before = attend(*model.reader, model.vocabulary, example);
  const SentenceAttention after = attend(*loaded.reader, loaded.vocabulary, example);
  CHECK(after.probability == before.probability);
  CHECK(after.layers[1].to_vector() == before.layers[1].to_vector());
  const std::string usual = to_json(small_model().reader->config).dump();
  const std::string decoder = to_json(model.reader->config).dump();
  for (const char* name : {"norm\"", "activation", "kv_heads", "normalised"}) {
    CHECK(usual.find(name) == std::string::npos);
    CHECK(decoder.find(name) != std::string::npos);
  }
}

TEST_CASE("loading a file that is no model says why") {
  CHECK(loading([](SafeTensors&) {}) == "no error");
  CHECK(loading([](SafeTensors& content) { content.metadata["heed.step"] = "-1"; }) ==
        "metadata 'heed.step': a step must not be negative, got -1");
  for (const char* name : {"heed.model", "heed.vocabulary", "heed.queries", "heed.split", "heed.step"}) {
    CHECK(loading([&](SafeTensors& content) { content.metadata.erase(name); }) ==
          fmt::format("is no model saved by train: its metadata has no '{}'", name));
    CHECK(loading([&](SafeTensors& content) {
            content.metadata[name] = "[3";
          }).starts_with(fmt::format("metadata '{}': ", name)));
  }
  CHECK(loading([](SafeTensors& content) { content.metadata["heed.split"] = "letters"; }) ==
        "metadata 'heed.split': expected one of words, characters, bytes, subwords, got 'letters'");
  CHECK(loading([](SafeTensors& content) { content.metadata["heed.vocabulary"] = R"(["a","a"])"; }) ==
        "metadata 'heed.vocabulary': vocabulary: 'a' occurs twice");
  CHECK(describing("/layers", 0) == "metadata 'heed.model': 'layers' must be an integer from 1 to 16777216, got 0");
  CHECK(describing("/attention/heads", "two") ==
        "metadata 'heed.model': 'heads' must be an integer from 1 to 16777216, got \"two\"");
  CHECK(describing("/positions", "random") ==
        "metadata 'heed.model': expected one of none, learned, sinusoidal, rotary, got 'random'");
  CHECK(loading([](SafeTensors& content) { content.metadata["heed.unknown"] = "<unk>"; }) ==
        "metadata 'heed.unknown': '<unk>' is none of its words");
  CHECK(describing("/mlp", 17).find("encoder.0.mlp.in.weight: expected shape (8, 17), got (8, 16)") !=
        std::string::npos);
}

TEST_CASE("a model with a value that is not finite is not loaded, and the value is named") {
  const auto with = [](float value) {
    return loading([=](SafeTensors& content) {
      for (auto& [name, tensor] : content.tensors) {
        if (name == "encoder.0.attention.W_K.weight") tensor.mutable_data<float>()[7] = value;
      }
    });
  };
  const std::string told = "tensor 'encoder.0.attention.W_K.weight' (8, 6): value 7 (from 0) is ";
  CHECK(with(std::numeric_limits<float>::quiet_NaN()).starts_with(told + "nan, which is not finite"));
  CHECK(with(-std::numeric_limits<float>::infinity()).starts_with(told + "-inf, which is not finite"));
  CHECK(with(3.4e38f) == "no error");  // finite; what it computes with it may not be
}

TEST_CASE("attend refuses what is not finite, and names where it begins") {
  SavedModel model = small_model();
  const Tensor gain = model.parameters["encoder.1.attention_norm.gain"];
  Tensor(gain).copy_from(zeros(gain.shape()) + 3.4e38);
  CHECK(message([&] { attend(*model.reader, model.vocabulary, question(model, famous)); })
            .starts_with("the model computes values that are not finite, the first of them in "
                         "encoder.1.attention_norm.output (1, 11, 8): its weights are too large"));
}

TEST_CASE("a dump is of a model when its layers, heads and words are") {
  const SavedModel model = small_model();
  const auto checking = [&](const SentenceAttention& sentence) {
    return message([&] { check_same_model({400, {sentence}}, model, "dump"); });
  };
  CHECK(checking(english_sentence()) == "no error");
  CHECK(checking(chinese_sentence()) ==
        "dump: is of a model with 1 layers of 1 heads, the run's model has 2 of 2: they are of different runs");
  SentenceAttention other = english_sentence();
  other.tokens[0] = "wombat";
  CHECK(checking(other) == "dump: the run's model does not know its word 'wombat': they are of different runs");
}

TEST_CASE("a description larger than its file allocates nothing") {
  const std::int64_t before = memory_use().bytes_reserved;
  for (const char* size : {"/layers", "/mlp", "/max_length", "/sentences", "/attention/d_model", "/attention/d_k"}) {
    INFO(size);
    CHECK(describing(size, 16777216).starts_with("the model that it describes has at least "));
  }
  CHECK(loading([](SafeTensors& content) {
          auto description = nlohmann::ordered_json::parse(content.metadata.at("heed.model"));
          description["positions"] = "rotary";
          description["max_length"] = 16777216;
          content.metadata["heed.model"] = description.dump();
        }) == "the rotary positions that it describes have 100663296 numbers, at most 67108864 are read");
  CHECK(loading([](SafeTensors& content) {
          auto description = nlohmann::ordered_json::parse(content.metadata.at("heed.model"));
          description["positions"] = "rotary";
          description["max_length"] = 16777216;
          description["attention"]["d_k"] = 0;  // d_model / heads
          content.metadata["heed.model"] = description.dump();
        }) == "the rotary positions that it describes have 134217728 numbers, at most 67108864 are read");
  CHECK(memory_use().bytes_reserved - before < 1'000'000);
}

TEST_CASE("attend gives what the model gives") {
  const SavedModel model = small_model();
  const Example example = question(model, famous);
  const SentenceAttention sentence = attend(*model.reader, model.vocabulary, example);
  const Reader::Output output = (*model.reader)(reader_input(*model.reader, model.vocabulary, example), Weights::yes);
  REQUIRE(sentence.layers.size() == 2);
  for (std::size_t l = 0; l < 2; ++l) {
    CHECK(sentence.layers[l].shape() == Shape{2, 11, 11});
    CHECK(sentence.layers[l].to_vector() == output.weights[l].to_vector());
  }
  double total = 0;
  for (const double logit : output.logits.to_vector()) total += std::exp(logit);
  const double logit = output.logits.at({0, model.vocabulary[sentence.predicted]});
  CHECK(sentence.probability == Approx(std::exp(logit) / total));
  CHECK(logit == Approx(max(output.logits).item()));
}

TEST_CASE("a question is the last token of a kind asked about, or the one that is named") {
  const SavedModel model = small_model();
  CHECK(question(model, famous).query == 7);
  CHECK(question(model, "it was because it was tired").query == 3);
  CHECK(question(model, famous, "street").query == 5);
  CHECK(message([&] { question(model, "The animal was tired"); }) ==
        "the sentence has none of the words that the model was asked about (it); choose one with --query");
  CHECK(message([&] { question(model, "The animal was tired", "animl"); }) ==
        "the sentence has no token 'animl' (did you mean 'animal'?); its tokens: The animal was tired");
  CHECK(message([&] { question(model, "  "); }) == "the sentence is empty");

  SavedModel chinese = small_model();
  chinese.queries = {"它"};
  const std::string run_together = "因为它太累了";
  for (const std::string query : {"", "它"}) {
    CHECK(message([&] { question(chinese, run_together, query); }) ==
          "the sentence holds '它', but not as a token of its own: put spaces between the words, as in training, or "
          "train with data.tokens: characters; its tokens: " +
              run_together);
  }
  CHECK(question(chinese, "因为 它 太 累 了").query == 1);
  CHECK(message([&] { question(chinese, "苹果 很 甜", "果实"); }) ==
        "the sentence has no token '果实'; its tokens: 苹果 很 甜");
  chinese.tokenizer = Tokenizer(Split::characters);
  CHECK(question(chinese, run_together).query == 2);
  CHECK(message([&] { question(model, "it \xff"); }).find("sentence") != std::string::npos);
}

TEST_CASE("a text that the model cannot read is refused") {
  const auto reading = [](const SavedModel& model, const char* text) {
    return message([&] { attend(*model.reader, model.vocabulary, question(model, text)); });
  };
  const SavedModel model = small_model();
  CHECK(reading(model, "it was stret zzzzz") ==
        "not among the 14 words that the model knows: 'stret' (did you mean 'street'?), 'zzzzz'");
  CHECK(reading(model, "it it it it it it it it it it it it it") ==
        "the text has 13 tokens; the model has positions for 12");
  CHECK(reading(small_model(Positions::none), "it it it it it it it it it it it it it") == "no error");

  const SavedModel story = small_model(Positions::learned, Tie::none, Bias::no, 2);
  CHECK(reading(story, "the dog was tired . was it the dog ?") == "no error");
  CHECK(question(story, "the dog was tired . was it ?").sentences == std::vector<int>{1, 1, 1, 1, 1, 0, 0, 0});
  CHECK(reading(story, "the dog . the street . was it ?") == "the text has 3 sentences; the model reads up to 2");
  const Example undivided{.tokens = {"it"}, .query = 0};
  CHECK(message([&] { attend(*story.reader, story.vocabulary, undivided); }) ==
        "the model reads sentences; the text is not divided into them");
  CHECK(reading(small_model(decoder_config(Predicts::next)), "it it it it it it it it it it it it it") ==
        "the text has 13 tokens; the model sees 12 at once");
}

TEST_CASE("A model of text takes any bytes, asks at the last token, and comes back with what cuts its texts") {
  const ScratchDirectory scratch;
  SavedModel model = small_model(decoder_config(Predicts::next));
  model.tokenizer = Tokenizer::of_text(Split::bytes);
  save_model(model_path(scratch.path), model);
  const Example example = question(load_model(model_path(scratch.path)), "a\xff");
  CHECK(example.tokens == std::vector<std::string>{"a", "<0xFF>"});
  CHECK(example.query == 1);

  model.tokenizer = Tokenizer::of_text(Subwords::learn({read_file("docs/design.md")}, 400));
  save_model(model_path(scratch.path), model);
  CHECK(message([&] { load_model(model_path(scratch.path)); }, model_path(scratch.path)) ==
        "FILE: metadata 'heed.subwords': its words are not those of 'heed.vocabulary'");
}

namespace {

SavedModel choosing_model() {
  SavedModel model;
  model.vocabulary.let_stand_for_unknown("<unk>");
  for (const std::string& word : english_sentence().tokens) model.vocabulary.add(word);
  ReaderConfig config = small_model().reader->config;
  config.vocabulary = model.vocabulary.size();
  config.answer = Answer::candidate_or_none;
  model.reader = std::make_unique<Reader>(Scope(model.parameters, 5), config);
  model.queries = {"it"};
  return model;
}

}  // namespace

TEST_CASE("A model that chooses comes back with its unknown word, and answers the same") {
  const Scratch scratch;
  const SavedModel model = choosing_model();
  save_model(scratch / "model", model);
  const SavedModel read = load_model(scratch / "model");
  CHECK(read.reader->config.answer == Answer::candidate_or_none);
  CHECK(read.vocabulary.unknown() == 0);
  const char* text = "The [animal] didn't cross [the quagmire] because it was too tired";
  const SentenceAttention before = attend(*model.reader, model.vocabulary, question(model, text));
  const SentenceAttention after = attend(*read.reader, read.vocabulary, question(read, text));
  CHECK(after.tokens[5] == "quagmire");
  CHECK(after.candidates == std::vector<Span>{{1, 2}, {4, 6}});
  CHECK(after.predicted == before.predicted);
  CHECK(after.probability == before.probability);
  const std::vector<std::string> possible{"animal", "the quagmire", "(none)"};
  CHECK(std::ranges::find(possible, after.predicted) != possible.end());

  write_dump(scratch.path, {400, {after}});
  CHECK(last_dump(scratch.path).sentences[0].candidates == after.candidates);
  check_same_model(last_dump(scratch.path), read, "dump");
}

TEST_CASE("A question to a model that chooses has brackets and a word to ask about, or an error says so") {
  const SavedModel model = choosing_model();
  const auto said = [&](const char* text, const char* query = "") {
    return message([&] { question(model, text, query); });
  };
  CHECK(said("The animal was tired because it was") ==
        "the model chooses among candidates; mark them with brackets: The [trophy] doesn't fit in [the suitcase] ...");
  CHECK(said("The [animal] was tired") ==
        "the sentence has none of the words that the model was asked about (it); choose one with --query");
  CHECK(said("The [animal] was tired", "dog") == "the sentence has no token 'dog'");
  CHECK(said("The [animal] was tired", "was") == "no error");
  CHECK(question(model, "it saw [it] and [a dog] as it did").query == 7);
  CHECK(said("The [animal was it") == "'[' without ']' after it");
  Example unmarked{.tokens = {"The", "animal", "it"}, .query = 2};
  CHECK(message([&] {
          attend(*model.reader, model.vocabulary, unmarked);
        }).starts_with("the model chooses among candidates; mark them"));
}
