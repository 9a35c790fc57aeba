#include "tests/catch.h"
#include "tests/message.h"
#include "tests/scratch.h"

#include <heed/explain/golden.h>
#include <heed/formats/hugging_face.h>
#include <heed/formats/safetensors.h>

#include <filesystem>

using namespace heed;

namespace {

const std::filesystem::path golden_models = "tests/golden/hugging_face";

}  // namespace

TEST_CASE("Every family gives the states, weights and logits of transformers") {
  int models = 0;
  for (const auto& entry : std::filesystem::directory_iterator(golden_models)) {
    const std::filesystem::path directory = entry.path();
    CAPTURE(directory.string());
    const Model model = load_model(directory);
    const std::size_t rows = static_cast<std::size_t>(2 * model.layers() + 1 + model.head().exists());
    for (const bool is_exact : {true, false}) {
      const auto differences = golden_differences(
          is_exact ? in_float64(load_model(directory, {.mapped = true})) : model, directory / "golden.safetensors");
      CHECK(differences.size() == rows);
      for (const GoldenDifference& row : differences) {
        CAPTURE(row.what, is_exact);
        CHECK(row.magnitude > 0.01);
        CHECK(row.relative() < (is_exact ? 1e-9 : 1e-5));
      }
    }
    ++models;
  }
  CHECK(models == 50);
}

TEST_CASE("golden_differences accepts a file without logits, and names any other missing tensor") {
  const Model model = load_model(golden_models / "gpt2");
  const SafeTensors golden = read_safetensors(golden_models / "gpt2" / "golden.safetensors");
  const Scratch scratch;
  const auto without = [&](const char* name) {
    SafeTensors rest = golden;
    std::erase_if(rest.tensors, [&](const auto& entry) { return entry.first == name; });
    write_safetensors(scratch / "golden", rest);
    return golden_differences(model, scratch / "golden");
  };
  CHECK(without("logits").back().what == "final state");
  CHECK(message([&] { without("hidden"); }, scratch / "golden") ==
        "FILE: the tensor 'hidden' is missing; examples/golden.py writes such files");
}
