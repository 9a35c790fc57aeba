#include "formats/internal/description.h"
#include "tests/catch.h"
#include "tests/golden.h"
#include "tests/message.h"
#include "tests/models/sample.h"
#include "tests/scratch.h"

#include <heed/files/file.h>
#include <heed/formats/safetensors.h>
#include <heed/models/reading.h>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <limits>

using namespace heed;

namespace {

ModelOutput read_by(const Model& model, const Example& example) {
  return model.run(batch_of(model, example), {.weights = true});
}

void check_same_answers(const Model& one, const Model& other, const Example& example) {
  const ModelOutput a = read_by(one, example), b = read_by(other, example);
  CHECK(a.logits.to_vector() == b.logits.to_vector());
  REQUIRE(a.weights.size() == b.weights.size());
  for (std::size_t l = 0; l < a.weights.size(); ++l) CHECK(a.weights[l].to_vector() == b.weights[l].to_vector());
}

Example tired_question(const Model& model) { return question(model, fmt::format("{}", fmt::join(tired_animal, " "))); }

// The message that loading gives after `change`, without the file's name.
template <class Change>
std::string loading(const Change& change) {
  const Scratch scratch;
  const std::filesystem::path file = scratch / "model.safetensors";
  save_model(file, small_model());
  SafeTensors content = read_safetensors(file);
  change(content);
  write_safetensors(file, content);
  const std::string text = message([&] { load_model(file); });
  return text.starts_with(file.string()) ? text.substr(file.string().size() + 2) : text;
}

// The same after entries of the model's description are set.
std::string describing(const std::vector<std::pair<std::string, nlohmann::ordered_json>>& changes) {
  return loading([&](SafeTensors& content) {
    auto description = nlohmann::ordered_json::parse(content.metadata.at("heed.model"));
    for (const auto& [pointer, value] : changes) {
      description.at("transformer")[nlohmann::ordered_json::json_pointer(pointer)] = value;
    }
    content.metadata["heed.model"] = description.dump();
  });
}
std::string describing(const std::string& pointer, const nlohmann::ordered_json& value) {
  return describing({{pointer, value}});
}

}  // namespace

TEST_CASE("load_model returns a word answerer as it was saved") {
  const auto positions = GENERATE(Positions::learned, Positions::sinusoidal, Positions::none);
  const auto tie = GENERATE(Tie::none, Tie::K_is_V, Tie::Q_is_K);
  const Scratch scratch;
  const Model model = small_model(positions, tie, true);
  save_model(scratch / "model", model);
  const Model loaded = load_model(scratch / "model");

  CHECK(loaded.vocabulary.words() == model.vocabulary.words());
  CHECK(loaded.queries == std::vector<std::string>{"it"});
  CHECK(loaded.tokenizer.split() == Split::words);
  CHECK(loaded.step == 400);
  CHECK(saved_step(scratch / "model") == 400);
  CHECK((loaded.layers() == 2 && loaded.heads() == 2));
  check_same_answers(model, loaded, tired_question(model));

  std::filesystem::create_directory(scratch / "run");
  save_model(scratch / "run/model.safetensors", model);
  check_same_answers(model, load_model(scratch / "run"), tired_question(model));  // a run directory
  CHECK(read_description(scratch / "run").vocabulary.words() == model.vocabulary.words());
  CHECK(saved_step(scratch / "run") == 400);

  const std::string bytes = read_file(scratch / "model");
  write_file(scratch / "cut", bytes.substr(0, bytes.size() - 4) + "\x7f\x7f\x7f\x7f");
  CHECK(message([&] { load_model(scratch / "cut"); }).find("digest") != std::string::npos);
  CHECK(saved_step(scratch / "cut") == 400);  // its parameters are not read
  CHECK(read_description(scratch / "cut").step == 400);
  save_model(scratch / "model", loaded);
  CHECK(read_file(scratch / "model") == bytes);
}

TEST_CASE("load_model returns language models and masked language models as they were saved") {
  TransformerConfig unusual = modern_config();
  unusual.embedding_norm = true;
  unusual.position_offset = 2;
  unusual.rotary = {.base = 500, .fraction = 0.5, .scaling = RotaryScaling::llama3, .factor = 8, .original_length = 64};
  unusual.block.placement = NormPlacement::both;
  unusual.block.norm.gain_offset = true;
  unusual.block.attention.soft_cap = 1.5;
  unusual.block.attention.scale = 0.3;
  TransformerConfig windowed = unusual;
  windowed.block.attention.window = 3;
  windowed.full_attention_every = 2;
  windowed.window_rotary_base = 50;
  const ModelConfig config = GENERATE_COPY(values<ModelConfig>(
      {decoder_of(modern_config()), decoder_of(windowed, {.tied = false, .soft_cap = 3}),
       with(masked_language_model(unusual), [&](ModelConfig& c) { c.activation = Activation::relu; }),
       with(masked_language_model(small_config()), [&](ModelConfig& c) { c.transform = false; })}));
  const Scratch scratch;
  const Model model = small_model(config);
  save_model(scratch / "model", model);
  const Model loaded = load_model(scratch / "model");
  CHECK(loaded.config().head == model.config().head);
  check_same_answers(model, loaded, tired_question(model));
}

TEST_CASE("load_model rejects a file without a valid heed model, and states the reason") {
  CHECK(loading([](SafeTensors&) {}) == "no error");
  CHECK(loading([](SafeTensors& content) { content.metadata["heed.step"] = "-1"; }) ==
        "metadata 'heed.step': expected a step from 0, got -1");
  for (const char* step : {"1.5", "true", "\"1\"", "[1]"}) {
    CHECK(loading([&](SafeTensors& content) { content.metadata["heed.step"] = step; }) ==
          fmt::format("metadata 'heed.step': expected a step from 0, got {}", step));
  }
  for (const char* name : {"heed.model", "heed.vocabulary", "heed.queries", "heed.split", "heed.step"}) {
    CHECK(loading([&](SafeTensors& content) { content.metadata.erase(name); }) ==
          fmt::format("not a heed model: metadata entry '{}' is missing. A pretrained model needs its config.json in "
                      "the same directory",
                      name));
    CHECK(loading([&](SafeTensors& content) {
            content.metadata[name] = "[3";
          }).starts_with(fmt::format("metadata '{}': ", name)));
  }
  CHECK(loading([](SafeTensors& content) { content.metadata["heed.split"] = "letters"; }) ==
        "metadata 'heed.split': expected one of words, characters, bytes, subwords, got 'letters'");
  CHECK(loading([](SafeTensors& content) { content.metadata["heed.vocabulary"] = R"(["a","a"])"; }) ==
        "metadata 'heed.vocabulary': vocabulary: 'a' occurs twice");
  CHECK(describing("/layers", 0) == "metadata 'heed.model': 'layers' must be an integer from 1 to 16777216, got 0");
  CHECK(describing("/block/attention/heads", "two") ==
        "metadata 'heed.model': 'heads' must be an integer from 1 to 16777216, got \"two\"");
  CHECK(describing("/positions", "random") ==
        "metadata 'heed.model': 'positions' must be one of none, learned, sinusoidal, rotary, got \"random\"");
  CHECK(loading([](SafeTensors& content) { content.metadata["heed.unknown"] = "<unk>"; }) ==
        "metadata 'heed.unknown': '<unk>' is not in the vocabulary");
  CHECK(describing("/block/mlp/width", 17).find("encoder.0.mlp.in.weight: expected shape (8, 17), got (8, 16)") !=
        std::string::npos);
}

TEST_CASE("load_model suggests the models in a directory, and a Model without a network throws") {
  const Scratch scratch;
  const auto opening = [&] { return message([&] { load_model(scratch.path); }, scratch.path.string()); };
  CHECK(opening() == "FILE: is a directory without a model: expected config.json, or model.safetensors of a run");
  std::filesystem::create_directory(scratch / "inner");
  write_file(scratch / "inner" / "config.json", R"({"model_type": "bert"})");
  CHECK(opening() ==
        "FILE: is a directory without a model: expected config.json, or model.safetensors of a run; open one of its "
        "models: FILE/inner");
  CHECK(message([] { Model().layers(); }) == "Model: the network is missing");
}

TEST_CASE("load_model rejects a value that is not finite, and names it") {
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
  CHECK(with(3.4e38f) == "no error");  // finite, although results computed from it may not be
}

TEST_CASE("load_model allocates nothing for a description larger than its file") {
  const std::int64_t before = memory_use().bytes_reserved;
  constexpr int large = 16777216;
  for (const char* size : {"/layers", "/block/mlp/width", "/max_length", "/segments", "/block/attention/d_model",
                           "/block/attention/d_k", "/position_offset"}) {
    INFO(size);
    CHECK(describing(size, large).starts_with("the model that it describes has at least "));
  }
  // Rotary tables grow only with the texts.
  CHECK(describing({{"/positions", "rotary"}, {"/max_length", large}, {"/block/attention/d_k", 6}})
            .starts_with("its tensors do not match"));
  // Matrices outside the transformer count, too.
  const auto other_kind = [](const char* json) {
    return loading([=](SafeTensors& content) { content.metadata["heed.model"] = json; });
  };
  CHECK(other_kind(R"({"kind":"candidate_chooser","transformer":{"max_length":1,"layers":1,)"
                   R"("block":{"attention":{"d_model":100}}}})")
            .starts_with("the model that it describes has at least 31500 parameters"));
  CHECK(other_kind(R"({"kind":"masked_language_model","transformer":{"max_length":1,"layers":1,)"
                   R"("block":{"attention":{"d_model":100}}}})")
            .starts_with("the model that it describes has at least 31500 parameters"));
  CHECK(memory_use().bytes_reserved - before < 1'000'000);
}

TEST_CASE("load_model and read_description reject more than 4,096 layers") {
  const Scratch scratch;
  const std::filesystem::path file = scratch / "model.safetensors";
  save_model(file, small_model());
  SafeTensors content = read_safetensors(file);
  auto description = nlohmann::ordered_json::parse(content.metadata.at("heed.model"));
  const auto with_layers = [&](int layers) {
    description["transformer"]["layers"] = layers;
    content.metadata["heed.model"] = description.dump();
    write_safetensors(file, content);
  };
  content.tensors.emplace_back("large", zeros({8'000'000}));
  with_layers(4097);
  const std::string expected = "FILE: the model that it describes has 4097 layers; heed reads up to 4096";
  CHECK(message([&] { load_model(file); }, file) == expected);
  CHECK(message([&] { read_description(file); }, file) == expected);
  with_layers(16777216);
  CHECK(message([&] { read_description(file); }, file).starts_with("FILE: the model that it describes has at least "));
}

TEST_CASE("in_float64 keeps the values and answers of a model, and shares its matrices") {
  const Model model = small_model(decoder_of(modern_config()));
  const Model exact = in_float64(model);
  for (const auto& [name, value] : model.parameters) {
    CAPTURE(name);
    const Tensor& shared = exact.parameters[name];
    CHECK(shared.dtype() == (value.rank() == 2 ? DType::float32 : DType::float64));
    if (value.rank() == 2) CHECK(shared.data<float>() == value.data<float>());
    CHECK(shared.to_vector() == value.to_vector());
  }
  CHECK((exact.queries == model.queries && exact.step == model.step));
  const Example example = tired_question(model);
  CHECK(error(read_by(model, example).logits, read_by(exact, example).logits) <= 1e-5);
}

TEST_CASE("load_model restores the tokenizer of a model of text") {
  const Scratch scratch;
  Model model = small_model(decoder_of(modern_config()));
  model.tokenizer = Tokenizer::of_text(Split::bytes);
  save_model(scratch / "model", model);
  const Model loaded = load_model(scratch / "model");
  CHECK((loaded.tokenizer.is_of_text() && loaded.tokenizer.split() == Split::bytes));
  CHECK(question(loaded, "a\xff").tokens == std::vector<std::string>{"a", "<0xFF>"});

  model.tokenizer = Tokenizer::of_text(Subwords::learn({read_file("docs/explanation/architecture.md")}, 400));
  save_model(scratch / "model", model);
  CHECK(message([&] { load_model(scratch / "model"); }, scratch / "model") ==
        "FILE: metadata 'heed.subwords': its words do not match 'heed.vocabulary'");
}

TEST_CASE("load_model restores a candidate chooser with its unknown word and answers") {
  const Scratch scratch;
  Model model;
  model.vocabulary.let_stand_for_unknown("<unk>");
  for (const std::string& word : tired_animal) model.vocabulary.add(word);
  make_network(model, chooser_of(small_config(), true));
  model.queries = {"it"};
  save_model(scratch / "model", model);
  const Model loaded = load_model(scratch / "model");
  CHECK(loaded.config().or_none);
  CHECK(loaded.vocabulary.unknown() == 0);
  const char* text = "The [animal] didn't cross [the quagmire] because it was too tired";
  const Example example = question(loaded, text);
  CHECK(example.tokens[5] == "quagmire");
  CHECK(example.candidates == std::vector<Span>{{1, 2}, {4, 6}});
  check_same_answers(model, loaded, example);
}
