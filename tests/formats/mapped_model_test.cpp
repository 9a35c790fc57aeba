#include "tests/catch.h"
#include "tests/formats/hugging_face/copied_model.h"
#include "tests/models/sample.h"

#include <heed/autograd/machine.h>
#include <heed/autograd/ops.h>

using namespace heed;

namespace {

// The golden models, and the GGUF files.
std::vector<std::filesystem::path> pretrained_models() {
  std::vector<std::filesystem::path> models;
  for (const auto& entry : std::filesystem::directory_iterator(golden_models)) models.push_back(entry.path());
  for (const auto& entry : std::filesystem::directory_iterator("tests/golden/gguf")) {
    if (is_pretrained(entry.path()) && entry.path().stem() != "types") models.push_back(entry.path());
  }
  return models;
}

int halves_of(const Model& model) {
  int count = 0;
  for (const auto& [name, value] : model.parameters) {
    count += value.dtype() == DType::bfloat16 || value.dtype() == DType::float16;
  }
  return count;
}

}  // namespace

TEST_CASE("A mapped model has the parameters of a copied one, also in float64 and when exported") {
  int halves = 0;
  for (const std::filesystem::path& path : pretrained_models()) {
    CAPTURE(path.string());
    const Model copied = load_model(path), mapped = load_model(path, {.mapped = true});
    halves += halves_of(mapped);
    CHECK(halves_of(copied) == 0);
    REQUIRE(copied.parameters.size() == mapped.parameters.size());
    const Model exact = in_float64(mapped);
    for (const auto& [name, value] : copied.parameters) {
      CAPTURE(name);
      CHECK(mapped.parameters[name].name() == name);
      CHECK(value.to_vector() == mapped.parameters[name].to_vector());
      CHECK(value.to_vector() == exact.parameters[name].to_vector());
    }
    if (!is_hugging_face(path)) continue;
    const Scratch scratch;
    export_hugging_face(copied, scratch / "copied");
    export_hugging_face(mapped, scratch / "mapped");
    const SafeTensors expected = read_safetensors(scratch / "copied" / "model.safetensors"),
                      exported = read_safetensors(scratch / "mapped" / "model.safetensors");
    REQUIRE(expected.tensors.size() == exported.tensors.size());
    for (const auto& [name, value] : expected.tensors) CHECK(exported[name].to_vector() == value.to_vector());
  }
  CHECK(halves > 100);
}

TEST_CASE("A mapped model gives the same bits as a copied one, for any number of threads") {
  const int before = threads();
  for (const auto& entry : std::filesystem::directory_iterator(golden_models)) {
    const std::filesystem::path golden = entry.path() / "golden.safetensors";
    const auto differences = [&](bool mapped, int count) {
      set_threads(count);
      return golden_differences(load_model(entry.path(), {.mapped = mapped}), golden);
    };
    const auto expected = differences(false, 1);
    for (const int count : {1, 3}) {
      const auto found = differences(true, count);
      REQUIRE(found.size() == expected.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        CAPTURE(entry.path().string(), found[i].what, count);
        CHECK((found[i].largest == expected[i].largest && found[i].magnitude == expected[i].magnitude));
      }
    }
  }
  set_threads(before);
}

TEST_CASE("A mapped model gives the same bits as a copied one when it appends to a cache") {
  for (const char* name : {"llama", "gpt2", "phi3", "gemma3", "llama_tied"}) {
    CAPTURE(name);
    const auto logits = [&](bool mapped) {
      const Model model = load_model(golden_models / name, {.mapped = mapped});
      const auto& decoder = model;
      Cache cache;
      std::vector<double> all = decoder.append(Ids({1, 4}, {3, 17, 5, 8}), cache).to_vector();
      for (const double x : decoder.append(Ids({1, 1}, {9}), cache).to_vector()) all.push_back(x);
      return all;
    };
    CHECK(logits(true) == logits(false));
  }
}

TEST_CASE("Recording with a mapped 16-bit model throws, and writes do not change its file") {
  CopiedModel copy("llama");
  const std::filesystem::path file = copy.path() / "model.safetensors";
  const std::string bytes = read_file(file);
  const Model model = load_model(copy.path(), {.mapped = true});
  const Recording recording;
  const std::string told = message([&] { model.logits({.tokens = Ids({1, 3}, {3, 17, 5})}); });
  CHECK(told.find("record: 'words.weight' is bfloat16, which cannot have gradients") != std::string::npos);
  copy.tensors([](NamedTensors&) {});  // F32
  const std::string wide = read_file(file);
  const Model of_float32 = load_model(copy.path(), {.mapped = true});
  CHECK(halves_of(of_float32) == 0);
  Tensor(of_float32.parameters["words.weight"]).copy_from(zeros(of_float32.parameters["words.weight"].shape()));
  CHECK((read_file(file) == wide && wide != bytes));
}

TEST_CASE("load_model reports the share of the weights that it has read") {
  std::vector<double> shares;
  load_model(golden_models / "llama", {.mapped = true, .progress = [&](double share) { shares.push_back(share); }});
  CHECK(shares.size() == 36);
  CHECK((shares.front() == 0 && shares.back() == 1 && std::ranges::is_sorted(shares)));
}
