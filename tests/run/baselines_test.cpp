#include "run/internal/baselines.h"

#include "tests/catch.h"
#include "tests/explain/studies/bagged.h"
#include "tests/message.h"
#include "tests/scratch.h"

#include <heed/data/overlap.h>
#include <heed/files/file.h>
#include <heed/formats/safetensors.h>

using namespace heed;

TEST_CASE("read_baselines reads the bag of words and the training sentences from a run") {
  const Scratch scratch;
  const std::vector<Example> training{bagged("big", 0), bagged("tiny", -1)};
  CHECK(message([&] { read_baselines(scratch.path); }, scratch.path.string())
            .starts_with("FILE/baselines.safetensors: is missing; "));
  write_baselines(scratch.path, training, bagged_words());
  const Baselines read = read_baselines(scratch.path);
  CHECK(read.training == sentence_numbers(training));
  const std::vector<Example> test{bagged("big", 0), bagged("was", 0), bagged("tiny", 1)};
  CHECK(read.bag->answers(test, bagged_words()) == BagOfWords(training, bagged_words()).answers(test, bagged_words()));

  const std::string file = baselines_path(scratch.path).string();
  const SafeTensors whole = read_safetensors(file);
  const auto said = [&](const auto& change) {
    SafeTensors content = whole;
    change(content);
    write_safetensors(file, content);
    return message([&] { read_baselines(scratch.path); }, file);
  };
  CHECK(said([](SafeTensors&) {}) == "no error");
  CHECK(said([](SafeTensors& content) { content.metadata["heed.sentences"] = "[\"12xy\"]"; }) ==
        "FILE: its baselines cannot be read: expected the digest of a sentence, got '12xy'");
  CHECK(said([](SafeTensors& content) {
          for (auto& [name, tensor] : content.tensors) tensor = zeros({3, 2});
        }) ==
        "FILE: its baselines cannot be read: expected 'place' (V, at least 3) and 'own' (V, 1), got (3, 2) and (3, 2)");
  CHECK(
      said([](SafeTensors& content) { content.metadata.clear(); }).starts_with("FILE: its baselines cannot be read: "));
  write_file(baselines_path(scratch.path), "no tensors");
  CHECK(message([&] { read_baselines(scratch.path); }) != "no error");
}
