// A directory of a pretrained model is rejected, or it is read and gives attention. The input is config.json, and after
// a NUL the index of the shards. Without an index, the weights are in one file.
#include "tests/fuzz/fuzz.h"
#include "tests/scratch.h"

#include <heed/explain/sentence_attention.h>
#include <heed/files/file.h>
#include <heed/formats/hugging_face.h>
#include <heed/formats/safetensors.h>

using namespace heed;

namespace {

// A directory with the weights of a small LLaMA.
struct Directory : Scratch {
  Directory() {
    SafeTensors content;
    const auto add = [&](const std::string& tensor, const Shape& shape) {
      content.tensors.emplace_back(tensor, Tensor(shape, DType::float32));
      std::fill_n(content.tensors.back().second.mutable_data<float>(), shape.numel(), 0.5F);
    };
    add("embed_tokens.weight", {5, 4});
    for (const char* matrix : {"q_proj", "k_proj", "v_proj", "o_proj"}) {
      add(std::string("layers.0.self_attn.") + matrix + ".weight", {4, 4});
    }
    for (const char* matrix : {"gate_proj", "up_proj", "down_proj"}) {
      add(std::string("layers.0.mlp.") + matrix + ".weight", {4, 4});
    }
    for (const char* norm : {"layers.0.input_layernorm", "layers.0.post_attention_layernorm", "norm"}) {
      add(std::string(norm) + ".weight", {4});
    }
    write_safetensors(*this / "weights.safetensors", content);
  }
};

}  // namespace

void heed::fuzz::hugging_face(std::string_view input) {
  static const Directory place;
  const std::size_t end = std::min(input.find('\0'), input.size());
  for (const char* file : {"model.safetensors", "model.safetensors.index.json"}) std::filesystem::remove(place / file);
  write_file(place / "config.json", input.substr(0, end));
  if (end < input.size()) {
    write_file(place / "model.safetensors.index.json", input.substr(end + 1));
  } else {
    std::filesystem::create_symlink("weights.safetensors", place / "model.safetensors");
  }
  Model model;
  if (!fuzz::accepts([&] { model = load_hugging_face(place.path); })) return;
  Example example;
  example.tokens = {model.vocabulary.word(0), model.vocabulary.word(0)};
  example.query = 1;
  fuzz::accepts([&] {
    const SentenceAttention seen = attend(model, example);
    fuzz::demand(seen.probability >= 0 && seen.probability <= 1.001, "a probability lies in [0, 1]");
  });
}
