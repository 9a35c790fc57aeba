// Directories that are incomplete, damaged or made to harm.
#include "tests/catch.h"
#include "tests/formats/hugging_face/copied_model.h"
#include "tests/tokenizers/small_tokenizer.h"

#include <heed/autograd/ops.h>

#include <chrono>
#include <limits>

using namespace heed;

namespace {

const std::string not_as_configured = "DIR/config.json: heed cannot compute this model as it is configured\n  ";
const std::string not_of_llama = "DIR: its tensors are not those of this configuration of llama\n  ";

// The message after a key of llama's configuration is set.
std::string with_key(const char* key, const Json& value, const char* model = "llama") {
  return CopiedModel(model).config([&](Json& json) { json[key] = value; }).refused();
}

// The message after llama's tensors are changed.
template <class Change>
std::string with_tensors(const Change& change) {
  return CopiedModel("llama").tensors(change).refused();
}

// The message after the file of olmo2's index is set for the tensor of its final norm.
std::string with_shard(const Json& file) {
  CopiedModel copy("olmo2");
  const std::filesystem::path index = copy.path() / "model.safetensors.index.json";
  Json json = parse_json(read_file(index));
  json["weight_map"]["model.norm.weight"] = file;
  write_file(index, json.dump());
  return copy.refused();
}

}  // namespace

TEST_CASE("config.json is refused with every key that is missing, unknown or not computed") {
  CopiedModel copy("llama");
  copy.config([](Json& json) {
    json.erase("hidden_size"), json.erase("vocab_size");
    json["hidden_act"] = "mish", json["alibi"] = true, json["mlp_bias"] = "no", json["rms_norm_eps"] = -1;
    json["rope_parameters"] = {{"rope_type", "spiral"}, {"turns", 3}};
  });
  CHECK(
      copy.refused() ==
      not_as_configured +
          "'hidden_size' is missing\n  'vocab_size' is missing\n"
          "  'rms_norm_eps' must be a number above 0, got -1\n"
          "  'hidden_act' must be one of gelu, gelu_python, gelu_pytorch_tanh, gelu_new, gelu_fast, gelu_python_tanh, "
          "gelu_accurate, quick_gelu, relu, relu2, silu, swish, tanh, got 'mish'\n"
          "  'mlp_bias' must be true or false, got \"no\"\n"
          "  'rope_parameters': rope_type must be one of default, linear, dynamic, yarn, longrope, llama3, got "
          "'spiral'\n"
          "  'rope_parameters': unknown key 'turns': 3. heed cannot tell whether it changes the results; remove it if "
          "transformers ignores it\n"
          "  unknown key 'alibi': true. heed cannot tell whether it changes the results; remove it if transformers "
          "ignores it");
  CHECK(with_key("model_type", "gpt3") ==
        "DIR/config.json: 'model_type' must be one of bert, megatron-bert, distilbert, electra, albert, modernbert, "
        "roberta, xlm-roberta, camembert, gpt2, gpt_neo, gpt_neox, opt, starcoder2, stablelm, phi, llama, arcee, "
        "granite, smollm3, mistral, qwen2, qwen3, olmo2, olmo3, phi3, gemma, gemma2, gemma3_text, got 'gpt3' "
        "(did you mean 'gpt2'?)");
  const std::string layers = "'attention_types' must give 3 layers, each \"global\" or \"local\", got ";
  CHECK(with_key("model_type", 5).ends_with(", gemma3_text, got '5'"));
  for (const char* types :
       {R"([[["global"],2]])", R"([[["global","local"],9223372036854775807]])", R"([[[],4611686018427387904]])",
        R"([[["global","wide"],1],[["local"],1]])", R"([["global",3]])", R"({"global":3})"}) {
    CHECK(CopiedModel("gpt_neo")
              .config([&](Json& json) { json.erase("attention_layers"), json["attention_types"] = Json::parse(types); })
              .refused() == not_as_configured + layers + types);
  }
  CHECK(with_key("attention_layers", {"local", "global"}, "gpt_neo") ==
        not_as_configured +
            R"('attention_layers' must give 3 layers, each "global" or "local", got ["local","global"])");
  CHECK(with_key("tie_word_embeddings", false, "opt_projected") ==
        not_as_configured + "'tie_word_embeddings': heed supports only true, got false");
  CHECK(with_key("num_hidden_groups", 3, "albert") ==
        not_as_configured + "'num_hidden_groups': heed supports only 1, got 3");
  CHECK(with_key("residual_multiplier", 0, "granite") ==
        not_as_configured + "'residual_multiplier' must be a number above 0, got 0");
  for (const Json& rotated : {Json({1, 0}), Json({1, 0, 2}), Json({1, 0, 1.0}), Json("all")}) {
    CHECK(with_key("no_rope_layers", rotated, "smollm3") ==
          not_as_configured + "'no_rope_layers' must be a list of 0 and 1, one per layer, for 3 layers");
  }
  CHECK(with_key("use_sliding_window", false, "smollm3") ==
        not_as_configured + "'use_sliding_window': heed supports only true where layer_types has windows");
  CHECK(with_key("rope_scaling", {{"rope_type", "linear"}, {"factor", 2}}, "modernbert") ==
        not_as_configured + R"('rope_scaling': heed supports only null, got {"rope_type":"linear","factor":2})");
  CHECK(with_key("sliding_window", 8, "modernbert").starts_with(not_as_configured + "unknown key 'sliding_window'"));
  CHECK(with_key("layer_norm_elementwise_affine", false, "opt").starts_with(not_as_configured));
  CHECK(with_key("hidden_activation", "relu", "gemma") ==
        not_as_configured + "'hidden_activation': heed supports only \"gelu_pytorch_tanh\", got \"relu\"");
  CHECK(with_key("norm_type", "rms_norm", "starcoder2") ==
        not_as_configured + "'norm_type': heed supports only \"layer_norm\", got \"rms_norm\"");
  for (const char* name : {"stablelm", "phi"}) {
    CHECK(with_key("qk_layernorm", true, name) ==
          not_as_configured + "'qk_layernorm': heed supports only false, got true");
  }
  CHECK(with_key("head_dim", 6, "stablelm") == not_as_configured + "'head_dim': heed supports only 8, got 6");
  for (const char* name : {"bert", "gpt_neox", "stablelm"}) {
    CHECK(CopiedModel(name)
              .config([](Json& json) {
                json["num_attention_heads"] = 3;
                json.erase("num_key_value_heads");
              })
              .refused()
              .starts_with("DIR/config.json: "));
  }
  CHECK(with_key("num_key_value_heads", 3, "starcoder2") ==
        not_as_configured + "'num_key_value_heads' must divide num_attention_heads");
  CHECK(with_key("add_cross_attention", true, "gpt2") ==
        not_as_configured + "'add_cross_attention': heed supports only false, got true");
  CHECK(with_key("partial_rotary_factor", 0.5) ==
        not_as_configured + "'partial_rotary_factor': heed supports only 1, got 0.5");
  CHECK(with_key("alibi", nullptr) == "no error");
  CHECK(with_key("position_embedding_type", "relative_key", "bert") ==
        not_as_configured + "'position_embedding_type': heed supports only \"absolute\", got \"relative_key\"");
  CHECK(with_key("quantization_config", {{"bits", 4}}) ==
        not_as_configured +
            "'quantization_config': heed does not read weights in this quantisation; use the original model or a GGUF "
            "file");
  CHECK(with_key("num_key_value_heads", 3) ==
        not_as_configured + "'num_key_value_heads' must divide num_attention_heads");
  CHECK(with_key("max_position_embeddings", 2, "roberta") ==
        not_as_configured + "'max_position_embeddings' must be above pad_token_id + 1 = 2");
  CHECK(with_key("layer_types", {"full_attention"}, "gemma2") ==
        not_as_configured + "'layer_types' must be a list of 3 kinds, one per layer");
  const Json full(2, "full_attention");
  CHECK(with_key("layer_types", full, "llama") == "no error");
  CHECK(with_key("layer_types", full, "olmo2") == "no error");
  CHECK(with_key("layer_types", {"full_attention", "sliding_attention"}, "llama") ==
        not_as_configured +
            "'layer_types': heed supports only \"full_attention\" in each of 2 layers, got "
            "[\"full_attention\",\"sliding_attention\"]");
  CHECK(with_key("sliding_window", 4, "llama").starts_with(not_as_configured + "unknown key 'sliding_window': 4. "));
  CHECK(with_key("_sliding_window_pattern", 4, "llama").starts_with(not_as_configured + "unknown key"));
  CHECK(with_key("num_attention_heads", 3, "bert")
            .starts_with("DIR/config.json: MultiHeadAttention: d_model 20 is not divisible by 3 heads"));
}

TEST_CASE("A null counts as a missing key only where transformers takes it so") {
  const auto refused = [](const char* model, const char* key, const char* expected) {
    CAPTURE(model, key);
    CHECK(with_key(key, nullptr, model) ==
          fmt::format("{}'{}' must be {}, got null", not_as_configured, key, expected));
  };
  const char *positive = "a number above 0", *count = "an integer from 1 to 16777216", *flag = "true or false";
  CHECK(with_key("hidden_act", nullptr, "llama").starts_with(not_as_configured + "'hidden_act' must be one of gelu, "));
  CHECK(with_key("hidden_act", nullptr, "llama").ends_with(", tanh, got null"));
  CHECK(with_key("hidden_activation", nullptr, "gemma2").ends_with(", tanh, got null"));
  refused("llama", "rms_norm_eps", positive), refused("gemma2", "query_pre_attn_scalar", positive);
  refused("bert", "tie_word_embeddings", flag), refused("gpt_neox", "use_parallel_residual", flag);
  refused("bert", "hidden_size", count), refused("qwen3", "head_dim", count);
  refused("roberta", "pad_token_id", "an integer from 0 to 16777216");
  CHECK(with_key("n_inner", nullptr, "gpt2").find("n_inner") == std::string::npos);
  CHECK(with_key("rope_parameters", {{"full_attention", nullptr}}, "gemma3") ==
        not_as_configured + "'rope_parameters': 'full_attention' must be an object, got null");
  for (const char* name : {"gemma3", "olmo3"}) {  // transformers ignores what is not of a kind of layers
    CHECK(with_key("rope_parameters", {{"rope_theta", 7}}, name)
              .starts_with(not_as_configured + "'rope_parameters': 'full_attention' is missing\n"));
  }
  CHECK(CopiedModel("olmo3")
            .config([](Json& json) { json["rope_parameters"]["full_attention"]["truncate"] = false; })
            .refused()
            .ends_with("'full_attention': 'truncate': heed supports only true, got false"));
  CHECK(with_key("rope_theta", 10000, "olmo3") ==
        not_as_configured + "'rope_theta': heed supports only 500000, got 10000");
  for (const char* key : {"attn_logit_softcapping", "layer_types", "attention_dropout", "sliding_window"}) {
    CAPTURE(key);
    CHECK(with_key(key, nullptr, key == std::string("sliding_window") ? "mistral" : "gemma2") == "no error");
  }
}

TEST_CASE("Activations of transformers that equal one of heed's are read under each of their names") {
  const auto activation = [](const char* name) {
    CopiedModel copy("bert_quick_gelu");
    copy.config([&](Json& json) { json["hidden_act"] = name; });
    return load_model(copy.path()).transformer().config.block.mlp.activation;
  };
  for (const char* name : {"gelu", "gelu_python"}) CHECK(activation(name) == Activation::gelu);
  for (const char* name : {"gelu_new", "gelu_fast", "gelu_pytorch_tanh", "gelu_python_tanh", "gelu_accurate"}) {
    CHECK(activation(name) == Activation::gelu_tanh);
  }
  for (const char* name : {"silu", "swish"}) CHECK(activation(name) == Activation::silu);
  CHECK(activation("quick_gelu") == Activation::quick_gelu);
  CHECK(activation("relu") == Activation::relu);
  CHECK(activation("relu2") == Activation::relu2);
  CHECK(activation("tanh") == Activation::tanh);
  for (const char* name : {"gelu_10", "hardswish", "laplace", "leaky_relu", "linear", "mish", "prelu", "relu6",
                           "sigmoid", "sqrtsoftplus", "xielu"}) {
    CHECK(with_key("hidden_act", name).find(std::string(", got '") + name + "'") != std::string::npos);
  }
}

TEST_CASE("config.json that is not an object, or not JSON, is refused") {
  CopiedModel copy("llama");
  const auto with = [&](const std::string& text) {
    write_file(copy.path() / "config.json", text);
    return copy.refused();
  };
  CHECK(with("[]") == "DIR/config.json: expected an object, got []");
  CHECK(with("{\"model_type\": \"llama\"").starts_with("DIR/config.json: not JSON at byte "));
  CHECK(with("{\"a\":1,\"a\":2}") == "DIR/config.json: key 'a' occurs twice");
  CHECK(with(std::string(100, '[')) == "DIR/config.json: nested deeper than 8 levels");
  CHECK(with("{}").starts_with("DIR/config.json: 'model_type' must be one of "));
}

TEST_CASE("Absurd sizes in config.json allocate nothing") {
  const std::int64_t before = memory_use().bytes_reserved;
  for (const char* key : {"vocab_size", "hidden_size", "num_hidden_layers", "intermediate_size", "head_dim"}) {
    CAPTURE(key);
    CHECK(with_key(key, 16777216).starts_with("DIR/config.json: the model that it describes has at least "));
    CHECK(with_key(key, 1e15).starts_with(not_as_configured + "'" + key + "' must be an integer from 1 to 16777216"));
  }
  CHECK(with_key("max_position_embeddings", 16777216, "bert").find("has at least ") != std::string::npos);
  CHECK(with_key("max_position_embeddings", 16777216) == "no error");  // rotary tables grow with the texts
  CHECK(memory_use().bytes_reserved - before < 1'000'000);
}

TEST_CASE("A model of very many small layers is refused within seconds") {
  CopiedModel copy("llama");
  copy.tensors([](NamedTensors& tensors) { tensors.emplace_back("large", zeros({1'000'000})); });
  const auto with_layers = [&](int layers) {
    copy.config([&](Json& json) {
      json["num_hidden_layers"] = layers;
      for (const char* key : {"vocab_size", "intermediate_size", "num_attention_heads", "num_key_value_heads"})
        json[key] = 1;
      for (const char* key : {"hidden_size", "head_dim"}) json[key] = 2;
    });
    return copy.refused();
  };
  CHECK(with_layers(4097) == "DIR/config.json: the model that it describes has 4097 layers; heed reads up to 4096");
  const auto start = std::chrono::steady_clock::now();
  const std::string missing = with_layers(1000);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));  // of a busy machine
  CHECK(missing.starts_with(not_of_llama));
}

TEST_CASE("Tensors that are missing, unknown, misshapen or not finite are named, at most ten of them") {
  CHECK(with_tensors(
            [](NamedTensors& tensors) { tensor_of(tensors, "model.norm.weight").first = "model.nrom.weight"; }) ==
        not_of_llama + "unknown: model.nrom.weight (20)\n  missing: norm.weight, which holds encoder.norm.gain (20)");
  CHECK(with_tensors([](NamedTensors& tensors) {
          Tensor& value = tensor_of(tensors, "model.layers.1.self_attn.k_proj.weight").second;
          value = reshape(value, {value.size(1), value.size(0)});
        }) == not_of_llama + "model.layers.1.self_attn.k_proj.weight: expected shape (12, 20), got (20, 12)");
  const std::string many = with_tensors([](NamedTensors& tensors) {
    for (auto& [name, value] : tensors) name += "_";
  });
  CHECK(std::ranges::count(many, '\n') == 11);  // ten, and how many more
  CHECK(with_tensors([](NamedTensors& tensors) {
          tensor_of(tensors, "lm_head.weight").second.mutable_data<float>()[5] =
              std::numeric_limits<float>::quiet_NaN();
        }).starts_with("DIR/model.safetensors: tensor 'lm_head.weight' (61, 20): value 5 (from 0) is nan"));
  CHECK(with_tensors([](NamedTensors& tensors) {
          tensors.emplace_back("norm.weight", zeros({20}));  // beside model.norm.weight
        }) == not_of_llama + "norm.weight must equal model.norm.weight, but differs");
}

TEST_CASE("The message for a directory without readable weights states how to convert them") {
  CopiedModel copy("llama");
  for (const char* file : {"model.safetensors", "golden.safetensors"}) std::filesystem::remove(copy.path() / file);
  const std::string told = "DIR: expected model.safetensors or model.safetensors.index.json";
  CHECK(copy.refused() == told);
  write_file(copy.path() / "tf_model.h5", "weights");
  CHECK(copy.refused() == told + ", got tf_model.h5. heed reads safetensors and GGUF files");
  write_file(copy.path() / "m.gguf", "GGUF");
  CHECK(copy.refused() == told + ", got m.gguf, tf_model.h5. Open a GGUF file by its own name");
  std::filesystem::remove(copy.path() / "m.gguf");
  const std::filesystem::path variant = copy.path() / "model.fp16.safetensors";
  write_safetensors(variant, SafeTensors{});
  CHECK(copy.refused() ==
        told +
            ", got model.fp16.safetensors, tf_model.h5. If the .safetensors file is a whole model, name it "
            "model.safetensors");
  CHECK(message([&] { load_model(variant); }, copy.path().string()) ==
        "FILE/model.fp16.safetensors: not a heed model: metadata entry 'heed.vocabulary' is missing. Name it "
        "model.safetensors and open its directory: FILE");
  write_file(copy.path() / "adapter_config.json", "{}");
  CHECK(copy.refused() ==
        "DIR/adapter_config.json: heed has no such adapters\n"
        "  'peft_type' must be \"LORA\", got nothing\n"
        "  'r' must be an integer from 1 to 65536, got nothing\n"
        "  'lora_alpha' must be a number, got nothing");
  std::filesystem::remove(copy.path() / "adapter_config.json");
  write_file(copy.path() / "pytorch_model.bin", "pickle");
  CHECK(copy.refused() ==
        "DIR: it has only pytorch_model.bin, a pickle, which can run code and which heed does not read; convert the "
        "weights: python3 -c \"import pathlib, sys, torch, safetensors.torch as s; d = pathlib.Path(sys.argv[1]); "
        "s.save_file({k: v.clone().contiguous() for f in d.glob('pytorch_model.bin') for k, v in torch.load(f, "
        "weights_only=True).items()}, d / 'model.safetensors')\" DIR");
  CHECK(message([&] { load_model(copy.path() / "pytorch_model.bin"); }, copy.path().string())
            .starts_with("FILE: it has only pytorch_model.bin, a pickle"));
  std::filesystem::rename(copy.path() / "pytorch_model.bin", copy.path() / "pytorch_model.bin.index.json");
  CHECK(copy.refused().starts_with("DIR: it has only shards of pytorch_model.bin, pickles, which can run code"));
  std::filesystem::create_symlink("nowhere", copy.path() / "model.safetensors");
  CHECK(copy.refused() == "cannot read DIR/model.safetensors: No such file or directory");
}

TEST_CASE("A pointer of Git LFS in place of a file is named as one") {
  const std::string pointer =
      "version https://git-lfs.github.com/spec/v1\noid "
      "sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d1\n";
  const std::string said = ": it is a pointer of Git LFS in place of the file, which 'git lfs pull' fetches";
  for (const std::string file : {"config.json", "tokenizer.json", "model.safetensors"}) {
    CopiedModel copy("llama");
    write_file(copy.path() / file, pointer);
    CHECK(copy.refused() == "DIR/" + file + said);
  }
  const CopiedModel copy("llama");
  write_file(copy.path() / "model.gguf", pointer);
  CHECK(message([&] { load_model(copy.path() / "model.gguf"); }).ends_with("/model.gguf" + said));
}

TEST_CASE("Added tokens may have no embeddings, other tokens may not") {
  CopiedModel copy("bert");
  Json tokenizer = parse_json(tokenizer_json(true));
  Json added = tokenizer["added_tokens"][0];
  added["id"] = 61, added["content"] = "[NEW]";
  tokenizer["added_tokens"].push_back(added);
  write_file(copy.path() / "tokenizer.json", tokenizer.dump());
  const Model model = load_model(copy.path());
  CHECK(model.vocabulary.size() == 61);
  const Example asked = question(model, "the [NEW] saw a [MASK]");
  CHECK(message([&] { batch_of(model, asked); }).starts_with("not among the 61 words that the model knows: '[NEW]'"));
  tokenizer["model"]["vocab"]["last"] = 62;
  write_file(copy.path() / "tokenizer.json", tokenizer.dump());
  CHECK(copy.refused() == "DIR/tokenizer.json: it has ids up to 62, but the model has embeddings for 61 tokens");
}

TEST_CASE("A tokenizer.json that is empty, or a link that leads nowhere, does not count as missing") {
  CopiedModel copy("llama");
  write_file(copy.path() / "tokenizer.json", "");
  CHECK(copy.refused().starts_with("DIR/tokenizer.json: not JSON: it is empty"));
  std::filesystem::remove(copy.path() / "tokenizer.json");
  std::filesystem::create_symlink("nowhere", copy.path() / "tokenizer.json");
  CHECK(copy.refused() == "cannot read DIR/tokenizer.json: No such file or directory");
}

TEST_CASE("An index that names files elsewhere, or does not describe its shards, is refused") {
  const std::string elsewhere =
      "DIR/model.safetensors.index.json: the file of tensor 'model.norm.weight' must be a .safetensors file in the "
      "same directory, got '";
  CHECK(with_shard("../model.safetensors") == elsewhere + "../model.safetensors'");
  CHECK(with_shard("/etc/passwd") == elsewhere + "/etc/passwd'");
  CHECK(with_shard("weights.bin") == elsewhere + "weights.bin'");
  CHECK(with_shard(3) ==
        "DIR/model.safetensors.index.json: the file of tensor 'model.norm.weight' must be a string, got 3");
  CHECK(with_shard("model-00001-of-00003.safetensors").find("is not listed there") != std::string::npos);
  CHECK(with_shard("absent.safetensors").find("absent.safetensors") != std::string::npos);
  CopiedModel copy("olmo2");
  const std::string shard = "model-00002-of-00003.safetensors";
  copy.tensors([](NamedTensors& tensors) { tensors.erase(tensors.begin()); }, shard);
  CHECK(copy.refused().find(shard + " has no tensor 'model.layers.") != std::string::npos);
  CopiedModel twice("olmo2");
  twice.tensors([](NamedTensors& tensors) { tensors.emplace_back("lm_head.weight", zeros({61, 24})); }, shard);
  CHECK(twice.refused().find("tensor 'lm_head.weight' is in two shards") != std::string::npos);
  write_file(copy.path() / "model.safetensors.index.json", "{\"weight_map\": {}}");
  CHECK(copy.refused() == "DIR/model.safetensors.index.json: 'weight_map' names no tensor");
  write_file(copy.path() / "model.safetensors.index.json", "{\"weight_map\": 1}");
  CHECK(copy.refused() == "DIR/model.safetensors.index.json: expected an object with the object 'weight_map'");
}

TEST_CASE("A file of weights that is cut at any place is refused") {
  CopiedModel copy("bert_bare");
  const std::string bytes = read_file(copy.path() / "model.safetensors");
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{7}, std::size_t{100}, bytes.size() / 2, bytes.size() - 1}) {
    write_file(copy.path() / "model.safetensors", bytes.substr(0, size));
    CHECK(copy.refused().starts_with("DIR/model.safetensors: not a safetensors file: "));
  }
}
