#include "bench/rows.h"

#include <heed/autograd/autocast.h>
#include <heed/autograd/ops.h>
#include <heed/autograd/record.h>
#include <heed/formats/gguf.h>
#include <heed/formats/saved_model.h>

#include <fmt/format.h>

namespace heed::bench {
namespace {

namespace fs = std::filesystem;

struct Size {
  int layers, d_model, heads, kv_heads, mlp, vocabulary, context;
};

using Shapes = std::vector<std::pair<std::string, Shape>>;

// The names and shapes of a model's tensors, as Hugging Face has them.
Shapes llama_shapes(const Size& s) {
  const std::int64_t d = s.d_model, kv = d / s.heads * s.kv_heads;
  Shapes shapes{{"model.embed_tokens.weight", {s.vocabulary, d}}, {"model.norm.weight", {d}}};
  for (int layer = 0; layer < s.layers; ++layer) {
    for (const auto& [name, shape] : Shapes{{"input_layernorm", {d}},
                                            {"self_attn.q_proj", {d, d}},
                                            {"self_attn.k_proj", {kv, d}},
                                            {"self_attn.v_proj", {kv, d}},
                                            {"self_attn.o_proj", {d, d}},
                                            {"post_attention_layernorm", {d}},
                                            {"mlp.gate_proj", {s.mlp, d}},
                                            {"mlp.up_proj", {s.mlp, d}},
                                            {"mlp.down_proj", {d, s.mlp}}}) {
      shapes.emplace_back(fmt::format("model.layers.{}.{}.weight", layer, name), shape);
    }
  }
  return shapes;
}

Shapes bert_shapes(const Size& s) {
  const std::int64_t d = s.d_model;
  Shapes shapes{{"embeddings.word_embeddings.weight", {s.vocabulary, d}},
                {"embeddings.position_embeddings.weight", {s.context, d}},
                {"embeddings.token_type_embeddings.weight", {2, d}}};
  const auto add = [&](const std::string& name, const Shape& shape) {
    shapes.emplace_back(name + ".weight", shape);
    shapes.emplace_back(name + ".bias", Shape{shape[0]});
  };
  add("embeddings.LayerNorm", {d});
  for (int layer = 0; layer < s.layers; ++layer) {
    const std::string prefix = fmt::format("encoder.layer.{}.", layer);
    for (const char* name : {"self.query", "self.key", "self.value", "output.dense"}) {
      add(prefix + "attention." + name, {d, d});
    }
    add(prefix + "attention.output.LayerNorm", {d});
    add(prefix + "intermediate.dense", {s.mlp, d});
    add(prefix + "output.dense", {d, s.mlp});
    add(prefix + "output.LayerNorm", {d});
  }
  return shapes;
}

Json config_of(const Size& s, bool is_llama) {
  Json config{{"model_type", is_llama ? "llama" : "bert"},
              {"hidden_size", s.d_model},
              {"num_hidden_layers", s.layers},
              {"num_attention_heads", s.heads},
              {"intermediate_size", s.mlp},
              {"vocab_size", s.vocabulary},
              {"max_position_embeddings", s.context},
              {"hidden_act", is_llama ? "silu" : "gelu"}};
  if (is_llama) {
    config.update({{"num_key_value_heads", s.kv_heads}, {"rms_norm_eps", 1e-5}, {"tie_word_embeddings", true}});
  } else {
    config.update({{"type_vocab_size", 2}, {"layer_norm_eps", 1e-12}});
  }
  return config;
}

// Writes a directory as Hugging Face lays it out, with random weights.
void write_model(const fs::path& directory, const Size& size, bool is_llama, StoredAs stored) {
  if (fs::exists(directory)) return;
  SafeTensors content;
  for (const auto& [name, shape] : is_llama ? llama_shapes(size) : bert_shapes(size)) {
    Random random = Random(1).stream(name);
    const bool is_gain = shape.rank() == 1 && name.ends_with("orm.weight");
    content.tensors.emplace_back(name, is_gain ? full(shape, 1) : random_normal(shape, random, 0, 0.05));
  }
  fs::create_directories(directory);
  write_safetensors(directory / "model.safetensors", content, stored);
  write_file(directory / "config.json", config_of(size, is_llama).dump());
}

// Writes the model of a directory as a GGUF file in Q8_0.
fs::path write_quantized(const fs::path& directory) {
  const fs::path file = directory.string() + ".gguf";
  if (!fs::exists(file)) export_gguf(load_model(directory), file, GgufType::q8_0);
  return file;
}

// The tokens of a turn, the same for each side.
Ids tokens_of(std::int64_t B, std::int64_t T, std::int64_t vocabulary) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < B * T; ++i) ids.push_back(static_cast<std::int32_t>((i * 7919 + 17) % vocabulary));
  return Ids({B, T}, ids);
}

// A model that reads a batch of texts at once, or generates the most probable token after those before it.
class Pretrained {
 public:
  Pretrained(const fs::path& directory, Ids tokens, Precision precision)
      : model_(load_model(directory, {.mapped = true})), tokens_(std::move(tokens)), precision_(precision) {}

  // Returns the largest logit or state.
  double step() {
    const NoRecording unrecorded;
    const Autocast autocast(precision_);
    constexpr std::int64_t context = 60;  // before it starts anew
    if (!model_.head().generates()) return max(model_.transformer()({.tokens = tokens_}).output).item();
    if (tokens_.numel() > 1 || length(cache_) >= context) cache_.clear();
    const Tensor logits = model_.append(tokens_, cache_);
    if (tokens_.numel() == 1) tokens_ = reshape(argmax(logits), {1, 1});
    return max(logits).item();
  }

 private:
  Model model_;
  Ids tokens_;
  Precision precision_;
  Cache cache_;
};

struct Work {
  std::string name;
  bool is_llama;
  StoredAs stored;
  std::int64_t B, T;
  Precision precision = Precision::float32;
  bool quantized = false;  // in Q8_0, which the peer cannot read
};

Row pretrained_row(const Work& work, const Size& size, const fs::path& scratch) {
  const bool halves = work.stored == StoredAs::BF16, is_token = work.B * work.T == 1;
  const fs::path directory = scratch / fmt::format("{}-{}", work.is_llama ? "llama" : "bert", halves ? "bf16" : "f32");
  const auto make = [=] {
    write_model(directory, size, work.is_llama, work.stored);
    const fs::path path = work.quantized ? write_quantized(directory) : directory;
    return std::make_shared<Pretrained>(path, tokens_of(work.B, work.T, size.vocabulary), work.precision);
  };
  double weights = 0;  // of the products with each token; the logits are computed once per text
  for (const auto& [name, shape] : work.is_llama ? llama_shapes(size) : bert_shapes(size)) {
    if (shape.rank() == 2 && name.find("embed") == std::string::npos) weights += static_cast<double>(shape.numel());
  }
  const double head = work.is_llama ? static_cast<double>(size.vocabulary) * size.d_model : 0;
  const auto B = static_cast<double>(work.B), T = static_cast<double>(work.T);
  const double bytes_per_weight = work.quantized ? 34.0 / 32 : halves ? 2 : 4;
  Row row{.name = work.name,
          .counterpart = {{"row", work.quantized ? "quantized" : "pretrained"},
                          {"directory", directory.string()},
                          {"tokens", {work.B, work.T}},
                          {"dtype", work.quantized ? "q8_0"
                                    : halves       ? "bfloat16"
                                                   : "float32"}},
          .flops = is_token || work.precision != Precision::float32
                       ? 0
                       : 2 * B * (weights * T + head) + 4.0 * size.layers * B * T * T * size.d_model,
          .bytes = is_token ? bytes_per_weight * (weights + head) : 0,
          .prepare = [=] { return [model = make()] { model->step(); }; }};
  if (!halves && !work.quantized) {  // the peer computes in bfloat16, which rounds more
    row.losses = [=](int count) {
      const auto model = make();
      std::vector<double> largest;
      for (int i = 0; i < count; ++i) largest.push_back(model->step());
      return largest;
    };
  }
  return row;
}

}  // namespace

std::vector<Row> pretrained_rows(const fs::path& scratch, bool quick) {
  // SmolLM2-135M and all-MiniLM-L6-v2
  const Size smol = quick ? Size{2, 32, 4, 2, 64, 300, 64} : Size{30, 576, 9, 3, 1536, 49152, 2048};
  const Size mini = quick ? Size{2, 32, 4, 4, 64, 300, 64} : Size{6, 384, 12, 12, 1536, 30522, 512};
  const std::int64_t prompt = quick ? 32 : 512;
  std::vector<Row> rows;
  for (const StoredAs stored : {StoredAs::as_it_is, StoredAs::BF16}) {
    const char* type = stored == StoredAs::BF16 ? "BF16" : "F32";
    rows.push_back(pretrained_row({fmt::format("llama 135M writes 1, {}", type), true, stored, 1, 1}, smol, scratch));
    rows.push_back(
        pretrained_row({fmt::format("llama 135M reads 512, {}", type), true, stored, 1, prompt}, smol, scratch));
  }
  rows.push_back(pretrained_row(
      {"llama 135M reads 512 in bfloat16, BF16", true, StoredAs::BF16, 1, prompt, Precision::bfloat16}, smol, scratch));
  for (const Precision precision : {Precision::float32, Precision::int8}) {
    for (const std::int64_t T : {std::int64_t{1}, prompt}) {
      const std::string name = fmt::format("llama 135M {} {}, Q8_0{}", T == 1 ? "writes" : "reads", T == 1 ? 1 : 512,
                                           precision == Precision::int8 ? " in int8" : "");
      rows.push_back(pretrained_row({name, true, StoredAs::as_it_is, 1, T, precision, true}, smol, scratch));
    }
  }
  rows.push_back(
      pretrained_row({"bert 22M reads 64 x 32, F32", false, StoredAs::as_it_is, quick ? 2 : 64, 32}, mini, scratch));
  return rows;
}

}  // namespace heed::bench
