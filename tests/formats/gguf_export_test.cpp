#include "formats/gguf/gguf_config.h"
#include "formats/gguf/gguf_writer.h"
#include "tests/catch.h"
#include "tests/golden.h"
#include "tests/message.h"
#include "tests/models/sample.h"
#include "tests/scratch.h"

#include <heed/autograd/autocast.h>
#include <heed/autograd/ops.h>
#include <heed/formats/gguf.h>
#include <heed/formats/hugging_face.h>
#include <heed/nn/adapter.h>

#include <algorithm>
#include <map>

using namespace heed;
namespace fs = std::filesystem;

namespace {

const fs::path gguf_golden = "tests/golden/gguf", gguf_sources = "tests/golden/hugging_face";

Tensor token_logits(const Model& model) { return model.logits({.tokens = Ids({1, 7}, {3, 1, 7, 7, 2, 9, 4})}); }

// Returns a golden model without the windows that GGUF does not have.
Model golden_model(const std::string& name) {
  const Scratch scratch;
  fs::copy(gguf_sources / name, scratch / name);
  Json config = parse_json(read_file(scratch / name / "config.json"));
  if (config.contains("layer_types"))
    config["layer_types"] = std::vector<std::string>(config["layer_types"].size(), "full_attention");
  if (config.contains("use_sliding_window")) config["use_sliding_window"] = false;
  write_file(scratch / name / "config.json", config.dump());
  return load_hugging_face(scratch / name);
}

Model written_and_read(const Model& model, GgufType type = GgufType::exact) {
  const Scratch scratch;
  export_gguf(model, scratch / "m.gguf", type);
  return load_model(scratch / "m.gguf");
}

// A LLaMA with rows of whole blocks.
Model wide_llama() {
  ModelConfig config = language_model(llama(2, 4, 2, 64, 96), {.tied = false});
  config.transformer.vocabulary = 40, config.transformer.max_length = 32;
  Model model(config, 3);
  for (int id = 0; id < 40; ++id) model.vocabulary.add(fmt::format("w{}", id));
  return model;
}

}  // namespace

TEST_CASE("An exported GGUF file has the tensors and values that llama.cpp's package writes") {
  for (const std::string name : {"llama", "qwen2", "qwen3", "gpt2"}) {
    CAPTURE(name);
    const Scratch scratch;
    export_gguf(golden_model(name), scratch / (name + ".gguf"), GgufType::f32);
    const GgufFile ours(scratch / (name + ".gguf")), theirs(gguf_golden / (name + ".gguf"));
    CHECK(ours.tensors().size() == theirs.tensors().size());
    for (const StoredTensor& tensor : theirs.tensors()) {
      CAPTURE(tensor.name);
      const auto found = std::ranges::find(ours.tensors(), tensor.name, &StoredTensor::name);
      REQUIRE(found != ours.tensors().end());
      // The divisors of frequencies are computed in another order.
      CHECK(error(ours.read(*found), theirs.read(tensor)) <= (tensor.name == "rope_freqs.weight" ? 1e-6 : 0));
    }
    for (const auto& [key, value] : theirs.metadata()) {
      CAPTURE(key);
      CHECK((ours.metadata().contains(key) && ours.metadata().at(key) == value));
    }
  }
}

TEST_CASE("A model that was written to a GGUF file and read has the same logits") {
  for (const std::string name : {"llama", "llama_tied", "qwen2", "qwen3", "gpt2"}) {
    CAPTURE(name);
    const Model model = golden_model(name);
    const Tensor expected = token_logits(model);
    CHECK(error(token_logits(written_and_read(model, GgufType::f32)), expected) < 1e-5);
    CHECK(error(token_logits(written_and_read(model)), expected) < 1e-5);
    CHECK(error(token_logits(written_and_read(model, GgufType::f16)), expected) < 0.02);
  }
  const Model wide = wide_llama();
  const Model same = written_and_read(wide, GgufType::f32);
  CHECK(error(token_logits(same), token_logits(wide)) == 0);
  CHECK(same.vocabulary.word(7) == "<7>");  // heed's own tokenizer stays with heed
  CHECK(error(token_logits(written_and_read(written_and_read(wide, GgufType::q8_0), GgufType::q8_0)),
              token_logits(written_and_read(wide, GgufType::q8_0))) == 0);

  Model adapted = written_and_read(wide, GgufType::f32);
  adapt(adapted, {"W_Q"});
  Random random(2);
  assign(adapted.parameters["encoder.1.attention.W_Q.lora_B"], Init::normal(0.2), random);
  CHECK(error(token_logits(written_and_read(adapted, GgufType::f32)), token_logits(adapted)) < 1e-5);
  CHECK(error(token_logits(adapted), token_logits(wide)) > 1e-4);
}

TEST_CASE("Autocast to int8 reads the blocks of a mapped GGUF file, for a prompt as for its tokens one by one") {
  const Scratch scratch;
  export_gguf(wide_llama(), scratch / "m.gguf", GgufType::q8_0);
  const Model model = load_model(scratch / "m.gguf", {.mapped = true});
  REQUIRE(std::ranges::any_of(model.parameters, [](const auto& p) { return is_in_blocks(p.second.dtype()); }));
  const Tensor exact = token_logits(model);
  const Autocast autocast(Precision::int8);
  const Tensor rounded = token_logits(model);
  CHECK(error(rounded, exact) > 1e-4);
  CHECK(error(rounded, exact) < 0.05);
  Cache cache;
  Tensor last;
  for (const std::int32_t token : {3, 1, 7, 7, 2, 9, 4}) last = model.append(Ids({1, 1}, {token}), cache);
  CHECK(error(last, reshape(slice(rounded, 1, 6, 7), last.shape())) < 1e-5);
}

TEST_CASE("Numbers in a GGUF file are rounded as llama.cpp's package rounds them") {
  const GgufFile golden("tests/golden/rounded.gguf");
  const auto read = [&](const GgufFile& file, const std::string& name) {
    return file.read(*std::ranges::find(file.tensors(), name, &StoredTensor::name));
  };
  const Tensor values = read(golden, "F32");
  const Scratch scratch;
  GgufWriter writer;
  for (const char* type : {"F32", "F16", "BF16", "Q8_0"})
    writer.tensor(type, values.shape(), type, [&] { return values; });
  writer.write(scratch / "x.gguf");
  const GgufFile ours(scratch / "x.gguf");
  for (const char* type : {"F32", "F16", "BF16", "Q8_0"}) {
    CAPTURE(type);
    const Tensor mine = read(ours, type), theirs = read(golden, type);
    CHECK(mine.dtype() == theirs.dtype());
    CHECK(mine.to_vector() == theirs.to_vector());
  }
}

TEST_CASE("Matrices have the type that was asked for, or F16 where blocks do not fill their rows") {
  const Scratch scratch;
  const Model wide = wide_llama();
  const auto types = [&](const Model& model, GgufType type) {
    export_gguf(model, scratch / "m.gguf", type);
    std::map<std::string, std::string> found;
    const GgufFile file(scratch / "m.gguf");
    for (const StoredTensor& tensor : file.tensors()) found[tensor.name] = tensor.type;
    return found;
  };
  CHECK(types(wide, GgufType::exact)["blk.0.attn_q.weight"] == "F32");
  CHECK(types(wide, GgufType::bf16)["blk.0.attn_q.weight"] == "BF16");
  CHECK(types(written_and_read(wide, GgufType::f16), GgufType::exact)["output.weight"] == "F16");
  const std::map<std::string, std::string> blocks = types(wide, GgufType::q8_0);
  CHECK(blocks.at("blk.1.ffn_down.weight") == "Q8_0");
  CHECK(blocks.at("token_embd.weight") == "Q8_0");
  CHECK(blocks.at("blk.1.ffn_norm.weight") == "F32");
  CHECK(types(golden_model("gpt2"), GgufType::q8_0)["blk.1.ffn_down.weight"] == "F16");
  CHECK(types(golden_model("gpt2"), GgufType::f16)["position_embd.weight"] == "F32");
  const GgufFile file(scratch / "m.gguf");
  CHECK(file.text("general.architecture") == "gpt2");
  CHECK(file.text("tokenizer.ggml.model") == "no_vocab");
}

TEST_CASE("Tokenizers that were written to a GGUF file give the same ids") {
  const std::string text =
      "The animal didn't cross\n\n the street 123456: it's \u00e9\u0301 \u4e2d\u6587 <s> <|endoftext|> \U0001f600  x";
  for (const char* name : {"gpt2", "llama3", "qwen2", "starcoder", "llama2"}) {
    CAPTURE(name);
    const PretrainedTokenizer tokenizer(read_file(fs::path("tests/golden/tokenizers") / (std::string(name) + ".json")));
    std::vector<std::int32_t> ends;
    for (const int id : tokenizer.behind()) ends.push_back(id);
    const Scratch scratch;
    GgufWriter writer;
    writer.text("general.architecture", "llama");
    write_tokenizer(writer, tokenizer, tokenizer.size() + 3, ends);  // three embeddings more
    writer.write(scratch / "t.gguf");
    const PretrainedTokenizer read(tokenizer_of_gguf(GgufFile(scratch / "t.gguf")));
    const auto ids = [&](const PretrainedTokenizer& t) {
      std::vector<int> all;
      for (const EncodedToken& token : t.encode(text)) all.push_back(token.id);
      return all;
    };
    CHECK(ids(read) == ids(tokenizer));
    CHECK(read.decode(ids(read)) == tokenizer.decode(ids(tokenizer)));
  }
}

TEST_CASE("A GGUF export refuses by name what the format cannot express") {
  const Scratch scratch;
  const auto refused = [&](const Model& model) { return message([&] { export_gguf(model, scratch / "m.gguf"); }); };
  CHECK(refused(load_model(gguf_sources / "qwen2")) ==
        "export: a GGUF file of architecture qwen2 cannot express transformer/block/attention/window: 3 (there 0); "
        "transformer/full_attention_layers/0: 0 (there none)");
  CHECK(refused(load_model(gguf_sources / "gemma2")) ==
        "export: heed writes GGUF files of gpt2, llama, mistral, qwen2 and qwen3, not of gemma2");
  CHECK(refused(load_model(gguf_sources / "bert")) ==
        "export: GGUF files hold language models, not a masked_language_model");
  Model model = wide_llama();
  ModelConfig config = model.config();
  config.transformer.block.attention.soft_cap = 30;
  CHECK(refused(small_model(config)).find("soft_cap") != std::string::npos);

  const auto of_tokenizer = [&](const std::string& name, const std::vector<std::int32_t>& ends) {
    return message([&] {
      GgufWriter writer;
      write_tokenizer(writer, PretrainedTokenizer(read_file("tests/golden/tokenizers/" + name + ".json")), 400, ends);
    });
  };
  CHECK(
      of_tokenizer("bert_cased", {}) ==
      "export: GGUF cannot express the tokenizer: it is \"WordPiece\", and llama.cpp's files of these models have BPE");
  CHECK(of_tokenizer("bloom", {})
            .starts_with("export: GGUF cannot express the tokenizer: llama.cpp has no name for its pre-tokenizer"));
  CHECK(of_tokenizer("gpt2", {1, 2, 3, 4}).ends_with("the model has 4 end tokens, and GGUF has keys for 3"));
  const Model large = wide_llama();
  Tensor{large.parameters["words.weight"]}.copy_from(full(large.parameters["words.weight"].shape(), 1e6));
  const auto as = [&](GgufType type) { return message([&] { export_gguf(large, scratch / "m.gguf", type); }); };
  CHECK(
      as(GgufType::f16) ==
      "export: tensor 'token_embd.weight' holds 1000000, and F16 numbers of at most 65504; export with --type bf16 or "
      "exact");
  CHECK_FALSE(fs::exists(scratch / "m.gguf"));
}
