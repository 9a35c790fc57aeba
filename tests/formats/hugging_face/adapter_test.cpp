#include "tests/catch.h"
#include "tests/formats/hugging_face/copied_model.h"
#include "tests/golden.h"
#include "tokenizers/internal/json.h"

#include <heed/autograd/ops.h>
#include <heed/formats/hugging_face.h>
#include <heed/formats/safetensors.h>
#include <heed/nn/adapter.h>

#include <algorithm>

using namespace heed;
namespace fs = std::filesystem;

namespace {

const fs::path golden_adapters = "tests/golden/adapters";

Tensor adapted_logits(const Model& model) {
  const Model exact = in_float64(model);
  const Tensor all = exact.logits({.tokens = Ids({1, 7}, {3, 1, 7, 7, 2, 9, 4})});
  return reshape(all, {7, all.size(2)});
}

// A copy of an adapter over LLaMA whose files a test changes.
struct CopiedAdapter : Scratch {
  CopiedAdapter() {
    fs::copy(golden_models / "llama", path / "base");
    fs::copy(golden_adapters / "llama", path / "adapter");
    set("base_model_name_or_path", "../base");
  }
  void set(const char* key, const Json& value) const {
    Json json = parse_json(read_file(file()));
    json[key] = value;
    write_file(file(), json.dump());
  }
  fs::path file() const { return path / "adapter" / "adapter_config.json"; }
  std::string refused() const {
    return message([&] { load_model(path / "adapter"); }, path.string());
  }
};

}  // namespace

TEST_CASE("Adapters of PEFT open over their base model with its logits, unmerged and merged") {
  const auto [name, layers] = GENERATE(table<std::string, std::vector<std::string>>(
      {{"llama", {"W_Q", "W_V", "out"}},
       {"llama_layer", {"encoder.1.attention.W_O", "encoder.1.attention.W_Q"}},
       {"gpt2", {"W_K", "W_Q", "W_V", "in"}},
       {"gpt_neox", {"W_K", "W_O", "W_Q", "W_V"}},
       {"bert", {"W_Q", "W_V"}}}));
  CAPTURE(name);
  const Tensor expected = read_safetensors(golden_adapters / name / "golden.safetensors")["logits"];
  const bool mapped = GENERATE(false, true);
  Model model = load_model(golden_adapters / name, {.mapped = mapped});
  std::vector<std::string> given = model.config().adapter.layers, wanted = layers;
  std::ranges::sort(given), std::ranges::sort(wanted);
  CHECK(given == wanted);
  CHECK(error(adapted_logits(model), expected) < 1e-9);
  const Model base = load_model(golden_models / (name == "llama_layer" ? "llama" : name));
  CHECK(error(adapted_logits(base), expected) > 1e-3);
  merge(model);
  CHECK(error(adapted_logits(model), expected) < 2e-6);  // the sums are float32
  CHECK(error(load_model(golden_adapters / name / "adapter_config.json", {.merged = true})
                  .parameters["encoder.1.attention.W_Q.weight"],
              model.parameters["encoder.1.attention.W_Q.weight"]) < 1e-6);
}

TEST_CASE("The export of adapters has the tensors that PEFT wrote, bit for bit") {
  for (const char* name : {"llama", "llama_layer", "gpt2", "gpt_neox", "bert"}) {
    CAPTURE(name);
    const Scratch scratch;
    const Model model = load_model(golden_adapters / name);
    CHECK(export_adapter(model, scratch / "out") ==
          std::vector<std::string>{"adapter_config.json", "adapter_model.safetensors"});
    const SafeTensors theirs = read_safetensors(golden_adapters / name / "adapter_model.safetensors");
    const SafeTensors ours = read_safetensors(scratch / "out" / "adapter_model.safetensors");
    CHECK(ours.tensors.size() == theirs.tensors.size());
    for (const auto& [tensor, value] : theirs.tensors) CHECK(error(ours[tensor], value) == 0);
    const Json json = parse_json(read_file(scratch / "out" / "adapter_config.json"));
    const Json given = parse_json(read_file(golden_adapters / name / "adapter_config.json"));
    for (const char* key : {"r", "base_model_name_or_path", "fan_in_fan_out", "peft_type", "bias"})
      CHECK(json[key] == given[key]);
    CHECK(json["lora_alpha"].get<double>() ==
          given["lora_alpha"].get<double>() * (given["use_rslora"] == true ? 2 : 1));
  }
  const Scratch scratch;
  export_adapter(load_model(golden_adapters / "llama_layer"), scratch / "out");
  CHECK(parse_json(read_file(scratch / "out" / "adapter_config.json"))["target_modules"] ==
        Json({"layers.1.self_attn.o_proj", "layers.1.self_attn.q_proj"}));
}

TEST_CASE("Adapters of matrices that one tensor holds are exported when they differ in A, and where one has none") {
  const char* base = GENERATE("gpt2", "gpt_neox", "llama");
  CAPTURE(base);
  const Scratch scratch;
  fs::copy(golden_models / base, scratch / "base");
  Model model = load_model(scratch / "base");
  adapt(model, {"W_Q", "encoder.0.attention.W_V", "W_O"}, {.rank = 2, .alpha = 3});
  Random random(4);
  for (const auto& [name, value] : model.parameters) {
    if (is_of_adapter(name)) assign(value, Init::normal(0.5), random);
  }
  export_adapter(model, scratch / "out");
  Json json = parse_json(read_file(scratch / "out" / "adapter_config.json"));
  CHECK(json["r"] == (base == std::string_view("llama") ? 2 : 4));
  CHECK(json["base_model_name_or_path"] == nullptr);
  CHECK(message([&] { load_model(scratch / "out"); }, scratch.path.string()) ==
        "FILE/out/adapter_config.json: 'base_model_name_or_path' is missing; write the path of the base model there");
  Model other = load_model(scratch / "base");
  load_adapter(other, scratch / "out");
  CHECK(error(adapted_logits(other), adapted_logits(model)) < 1e-12);
}

TEST_CASE("A saved model keeps its adapters, frozen weights and base") {
  const Scratch scratch;
  const Model model = load_model(golden_adapters / "llama");
  save_model(scratch / "m.safetensors", model);
  const Model read = load_model(scratch / "m.safetensors");
  CHECK(read.config().adapter.base == "../../hugging_face/llama");
  CHECK(error(adapted_logits(read), adapted_logits(model)) == 0);
  for (const auto& [name, value] : read.parameters) CHECK(value.is_frozen() != is_of_adapter(name));
  const Model merged = load_model(scratch / "m.safetensors", {.merged = true});
  CHECK(merged.parameters.size() == load_model(golden_models / "llama").parameters.size());
  CHECK(error(adapted_logits(merged), adapted_logits(model)) < 2e-6);
  Model again = read;
  CHECK(message([&] { adapt(again, {"W_K"}); }) == "adapt: the model has adapters; merge() them first");
}

TEST_CASE("Adapters with another meaning are refused by name") {
  const CopiedAdapter copy;
  CHECK(copy.refused() == "no error");
  copy.set("use_dora", true);
  copy.set("bias", "all");
  copy.set("rank_pattern", {{"q_proj", 8}});
  copy.set("init_lora_weights", "pissa");
  copy.set("peft_type", "IA3");
  CHECK(copy.refused() ==
        "FILE/adapter/adapter_config.json: heed has no such adapters\n"
        "  'peft_type' must be \"LORA\", got \"IA3\"\n"
        "  'bias' must be \"none\": heed's adapters have no biases, got \"all\"\n"
        "  'init_lora_weights' must be true, false, \"gaussian\", \"eva\" or \"orthogonal\", got \"pissa\"\n"
        "  'rank_pattern' must be empty, got {\"q_proj\":8}\n"
        "  'use_dora' must be empty, got true");

  const CopiedAdapter typed;
  typed.set("r", 3.0), typed.set("lora_alpha", true), typed.set("use_rslora", 1), typed.set("init_lora_weights", 1);
  CHECK(typed.refused() ==
        "FILE/adapter/adapter_config.json: heed has no such adapters\n"
        "  'r' must be an integer from 1 to 65536, got 3.0\n"
        "  'lora_alpha' must be a number, got true\n"
        "  'use_rslora' must be true or false, got 1\n"
        "  'init_lora_weights' must be true, false, \"gaussian\", \"eva\" or \"orthogonal\", got 1");

  const CopiedAdapter twice;
  const fs::path doubled = twice.path / "adapter" / "adapter_model.safetensors";
  SafeTensors both = read_safetensors(doubled);
  const Tensor again = both["base_model.model.model.layers.0.mlp.down_proj.lora_A.weight"] * 2.0;
  both.tensors.emplace_back("base_model.model.model.layers.0.mlp.down_proj.lora_A.default.weight", again);
  write_safetensors(doubled, both);
  CHECK(twice.refused().ends_with(": the file has this matrix twice"));

  const CopiedAdapter other;
  other.set("r", 2);
  CHECK(other.refused().starts_with(
      "FILE/adapter/adapter_model.safetensors: its tensors are not those of an adapter of rank 2 for this llama\n"
      "  base_model.model.model.layers.0.mlp.down_proj.lora_A.weight: expected shape (2, 28), got (3, 28)\n"));
  other.set("base_model_name_or_path", "org/name");
  CHECK(other.refused() ==
        "FILE/adapter/adapter_config.json: its base model 'org/name' is not here; fetch it (hf download org/name "
        "--local-dir DIR) "
        "and write DIR as 'base_model_name_or_path'");
  other.set("base_model_name_or_path", "../adapter");
  CHECK(other.refused().ends_with("is an adapter; merge that one first"));

  const CopiedAdapter third;
  const fs::path file = third.path / "adapter" / "adapter_model.safetensors";
  SafeTensors content = read_safetensors(file);
  content.tensors.erase(content.tensors.begin());
  content.tensors.emplace_back("base_model.model.lm_head.lora_A.weight", zeros({3, 20}));
  write_safetensors(file, content);
  CHECK(third.refused() ==
        "FILE/adapter/adapter_model.safetensors: its tensors are not those of an adapter of rank 3 for this llama\n"
        "  unknown: base_model.model.lm_head.lora_A.weight (3, 20)\n"
        "  missing: encoder.0.mlp.out.lora_A");
  fs::remove(file);
  CHECK(third.refused().starts_with("cannot read FILE/adapter/adapter_model.safetensors"));
}
