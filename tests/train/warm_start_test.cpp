#include "train/warm_start.h"

#include "tests/catch.h"
#include "tests/inspect/sample.h"
#include "tests/message.h"

using namespace heed;

namespace {

// small_model() with other words, another length and another seed.
Model another_model(const std::vector<std::string>& words, int length) {
  Model model;
  for (const std::string& word : words) model.vocabulary.add(word);
  TransformerConfig config = small_config();
  config.max_length = length;
  make_network(model, answerer_of(config), 9);
  return model;
}

std::vector<double> row_of(const Model& model, const char* parameter, std::int64_t number) {
  return slice(model.parameters[parameter], 0, number, number + 1).to_vector();
}

}  // namespace

TEST_CASE("warm_start copies the common parameters of word answerers and candidate choosers") {
  const ScratchDirectory scratch;
  const Model first = small_model();
  save_model(model_path(scratch.path), first);
  const auto choosing = [&] {
    Model model;
    for (const std::string& word : first.vocabulary.words()) model.vocabulary.add(word);
    make_network(model, chooser_of(small_config()), 9);
    return model;
  };
  const Model untouched = choosing(), model = choosing();
  warm_start(scratch.path, model);
  CHECK(model.parameters["words.weight"].to_vector() == first.parameters["words.weight"].to_vector());
  CHECK(model.parameters["encoder.1.attention.W_V.weight"].to_vector() ==
        first.parameters["encoder.1.attention.W_V.weight"].to_vector());
  CHECK(model.parameters["candidates.pointer.weight"].to_vector() ==
        untouched.parameters["candidates.pointer.weight"].to_vector());

  save_model(model_path(scratch.path), model);
  const Model back = another_model(first.vocabulary.words(), 12);
  warm_start(scratch.path, back);
  CHECK(back.parameters["words.weight"].to_vector() == first.parameters["words.weight"].to_vector());
  CHECK(back.parameters["output_bias"].to_vector() == std::vector<double>(14, 0.0));
}

TEST_CASE("warm_start from a language model gives an answering model its embeddings and layers") {
  const ScratchDirectory scratch;
  const Model answering = small_model();
  Model language;
  for (const std::string& word : answering.vocabulary.words()) language.vocabulary.add(word == "it" ? " it" : word);
  make_network(language, decoder_of(small_config()), 9);
  save_model(model_path(scratch.path), language);
  const WarmStart start = warm_start(scratch.path, answering);
  CHECK(start.words_known == answering.vocabulary.size());

  const Ids tokens({1, 3}, {1, 2, answering.vocabulary["it"]});
  const std::vector<double> read = answering.transformer().embed({tokens}).to_vector(),
                            expected = language.transformer().embed({tokens}).to_vector();
  for (std::size_t i = 0; i < read.size(); ++i) CHECK(read[i] == Approx(expected[i]).margin(1e-6));
  for (const char* name : {"encoder.0.attention.W_Q.weight", "encoder.1.attention.W_O.bias", "encoder.norm.gain"}) {
    CHECK(answering.parameters[name].to_vector() == language.parameters[name].to_vector());
  }
}

TEST_CASE("warm_start copies the vectors of common words and positions, and all other parameters") {
  const ScratchDirectory scratch;
  const Model first = small_model();
  save_model(model_path(scratch.path), first);
  const Model untouched = another_model({"cat", "it", "The"}, 14), model = another_model({"cat", "it", "The"}, 14);
  const WarmStart start = warm_start(scratch.path, model);
  CHECK(start.words_known == 2);
  CHECK(start.step == 400);
  CHECK(start.file == model_path(scratch.path));

  CHECK(row_of(model, "words.weight", 0) == row_of(untouched, "words.weight", 0));
  CHECK(row_of(model, "words.weight", 1) == row_of(first, "words.weight", first.vocabulary["it"]));
  CHECK(row_of(model, "words.weight", 2) == row_of(first, "words.weight", first.vocabulary["The"]));
  CHECK(row_of(model, "output_bias", 2) == row_of(first, "output_bias", first.vocabulary["The"]));
  for (const int position : {0, 11}) {
    CHECK(row_of(model, "positions.weight", position) == row_of(first, "positions.weight", position));
  }
  for (const int position : {12, 13}) {
    CHECK(row_of(model, "positions.weight", position) == row_of(untouched, "positions.weight", position));
  }
  for (const char* name : {"encoder.0.attention.W_Q.weight", "encoder.1.attention.W_O.bias", "encoder.norm.gain"}) {
    CHECK(model.parameters[name].to_vector() == first.parameters[name].to_vector());
  }
  CHECK(row_of(first, "words.weight", 0) != row_of(untouched, "words.weight", 0));

  const Model shorter = another_model({"it"}, 3);
  CHECK(warm_start(model_path(scratch.path), shorter).words_known == 1);
  CHECK(row_of(shorter, "positions.weight", 2) == row_of(first, "positions.weight", 2));
}

TEST_CASE("warm_start names lists of the architecture that differ in length") {
  const ScratchDirectory scratch;
  TransformerConfig config = small_config();
  config.block.attention.window = 4;
  const Model model = small_model(decoder_of(config));
  config.full_attention_layers = {1};
  const Model other = small_model(decoder_of(config));
  const auto message_from = [&](const Model& there, const Model& here) {
    save_model(model_path(scratch.path), there);
    return message([&] { warm_start(scratch.path, here); }, model_path(scratch.path));
  };
  const std::string other_architecture = "model.from: FILE: has another architecture:\n  full_attention_layers: ";
  CHECK(message_from(other, model) == other_architecture + "[1] in model.from, [] in this configuration");
  CHECK(message_from(model, other) == other_architecture + "[] in model.from, [1] in this configuration");
}

TEST_CASE("A warm start from another architecture names every difference, and changes nothing") {
  const ScratchDirectory scratch;
  save_model(model_path(scratch.path), small_model(Positions::learned, Tie::none, false, 2));
  const Model model = small_model(Positions::none, Tie::K_is_V, true);
  const std::vector<double> before = model.parameters["words.weight"].to_vector();
  CHECK(message([&] { warm_start(scratch.path, model); }) ==
        fmt::format("model.from: {}: has another architecture:\n"
                    "  block.attention.bias: false in model.from, true in this configuration\n"
                    "  block.attention.d_v: 5 in model.from, 3 in this configuration\n"
                    "  block.attention.tie: \"none\" in model.from, \"K_is_V\" in this configuration\n"
                    "  positions: \"learned\" in model.from, \"none\" in this configuration\n"
                    "  sentence numbers: yes in model.from, no in this configuration",
                    model_path(scratch.path).string()));
  CHECK(model.parameters["words.weight"].to_vector() == before);
  CHECK(message([&] { warm_start("none", model); }) == "model.from: none: there is no such run or model");
}
