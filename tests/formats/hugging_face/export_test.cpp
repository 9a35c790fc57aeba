#include "tests/catch.h"
#include "tests/formats/hugging_face/copied_model.h"
#include "tests/models/sample.h"
#include "tests/tokenizers/small_tokenizer.h"

#include <heed/autograd/ops.h>

#include <cstring>
#include <map>

using namespace heed;

namespace {

// The largest difference of the parameters that both models have.
double parameter_difference(const Model& one, const Model& other) {
  REQUIRE(one.parameters.size() == other.parameters.size());
  double largest = 0;
  for (const auto& [name, value] : one.parameters) {
    largest = std::max(largest, max(abs(value - other.parameters[name])).item());
  }
  return largest;
}

// The bytes of a tensor in the text of a safetensors file: the header's length in 8 bytes, the header, the data.
std::string bytes_of(const std::string& file, const StoredTensor& tensor) {
  std::uint64_t header = 0;
  std::memcpy(&header, file.data(), sizeof header);
  return file.substr(sizeof header + header + tensor.begin, tensor.end - tensor.begin);
}

// Small models with the architectures of GPT-2 and LLaMA.
ModelConfig small_gpt2() {
  ModelConfig config = language_model(gpt2(2, 2, 8));
  config.transformer.max_length = 12;
  return config;
}
ModelConfig small_llama() {
  ModelConfig config = language_model(llama(2, 2, 1, 8, 12), {.tied = false});
  config.transformer.max_length = 12;
  config.transformer.block.attention.d_k = config.transformer.block.attention.d_v = 6;
  return config;
}

std::string export_refused(const ModelConfig& config) {
  const Scratch scratch;
  return message([&] { export_hugging_face(small_model(config), scratch / "out"); });
}

}  // namespace

TEST_CASE("The export of a pretrained model keeps names, types and bits of its tensors") {
  for (const auto& entry : std::filesystem::directory_iterator(golden_models)) {
    if (entry.path().filename() == "gemma3_images") continue;  // only its text model is exported
    CAPTURE(entry.path().string());
    const Scratch scratch;
    const Model model = load_model(entry.path());
    export_hugging_face(model, scratch / "out");
    CHECK(read_file(scratch / "out" / "config.json") == read_file(entry.path() / "config.json"));
    CHECK(parameter_difference(model, load_model(scratch / "out")) == 0);
    if (!std::filesystem::exists(entry.path() / "model.safetensors")) continue;
    const SafeTensorsFile given(entry.path() / "model.safetensors"), exported(scratch / "out" / "model.safetensors");
    const std::string given_file = read_file(entry.path() / "model.safetensors");
    const std::string exported_file = read_file(scratch / "out" / "model.safetensors");
    for (const StoredTensor& tensor : exported.tensors()) {
      const auto found =
          std::ranges::find_if(given.tensors(), [&](const StoredTensor& t) { return t.name == tensor.name; });
      if (found == given.tensors().end()) {  // a tensor name of an older version
        CHECK((entry.path().filename() == "bert_bare" || entry.path().filename() == "gpt2"));
        continue;
      }
      CHECK((found->type == tensor.type && found->shape == tensor.shape));
      CHECK(bytes_of(given_file, *found) == bytes_of(exported_file, tensor));
    }
  }
}

TEST_CASE("The export of Gemma 3 with an image encoder contains only the text model") {
  const Scratch scratch;
  const Model model = load_model(golden_models / "gemma3_images");
  export_hugging_face(model, scratch / "out");
  const Json config = parse_json(read_file(scratch / "out" / "config.json"));
  CHECK((config.at("model_type") == "gemma3_text" && config.at("architectures")[0] == "Gemma3ForCausalLM"));
  CHECK(parameter_difference(model, load_model(scratch / "out")) == 0);
  CHECK(SafeTensorsFile(scratch / "out" / "model.safetensors").tensors()[0].name == "model.embed_tokens.weight");
}

TEST_CASE("The export of OPT without a head has the tensor names of OPTModel") {
  CopiedModel copy("opt");
  copy.tensors([](NamedTensors& tensors) { tensors.emplace_back("score.weight", zeros({2, 20})); });
  const Scratch scratch;
  export_hugging_face(load_model(copy.path()), scratch / "exported");
  for (const auto& [name, value] : read_safetensors(scratch / "exported" / "model.safetensors").tensors) {
    CAPTURE(name);
    CHECK(name.starts_with("decoder."));
  }
}

TEST_CASE("The export rejects OPT-350M without logits, which is without a layer of OPTModel") {
  CopiedModel copy("opt_projected");
  copy.tensors([](NamedTensors& tensors) { tensors.emplace_back("score.weight", zeros({2, 20})); });
  const Scratch scratch;
  CHECK(message([&] { export_hugging_face(load_model(copy.path()), scratch / "exported"); }) ==
        "export: OPTModel of transformers needs project_out, which a model without logits does not have");
  CHECK_FALSE(std::filesystem::exists(scratch / "exported"));
}

TEST_CASE("The export of a model with two heads keeps the one that predicts tokens") {
  const Scratch scratch;
  Model model = load_model(golden_models / "gpt2");
  Json config = parse_json(model.pretrained_config);
  config["architectures"] = {"GPT2DoubleHeadsModel"};
  model.pretrained_config = config.dump();
  export_hugging_face(model, scratch / "out");
  CHECK(parse_json(read_file(scratch / "out" / "config.json")).at("architectures")[0] == "GPT2LMHeadModel");
}

TEST_CASE("The export gives back the files beside config.json, also after the model was saved in heed's format") {
  CopiedModel copy("llama");
  const std::map<std::string, std::string> files{
      {"tokenizer_config.json", R"({"chat_template": "{{ messages }}", "pad_token": "<unk>", "model_max_length": 12})"},
      {"special_tokens_map.json", "{}\n"},
      {"chat_template.jinja", "{{ 'é' }}"},
      {"generation_config.json", R"({"do_sample": true,  "temperature": 0.6, "eos_token_id": [7, 3]})"}};
  write_file(copy.path() / "tokenizer.json", tokenizer_json(false));
  for (const auto& [name, text] : files) write_file(copy.path() / name, text);
  const Scratch scratch;
  const Model model = load_model(copy.path());
  CHECK(model.kept_files == files);
  save_model(scratch / "saved", model);
  export_hugging_face(model, scratch / "opened");
  CHECK(export_hugging_face(load_model(scratch / "saved"), scratch / "run") ==
        std::vector<std::string>{"chat_template.jinja", "config.json", "generation_config.json", "model.safetensors",
                                 "special_tokens_map.json", "tokenizer.json", "tokenizer_config.json"});
  for (const auto& [name, text] : files) {
    CAPTURE(name);
    CHECK(read_file(scratch / "opened" / name) == text);
    CHECK(read_file(scratch / "run" / name) == text);
  }

  Model other = model;
  other.end_tokens = {5};
  export_hugging_face(other, scratch / "other");
  CHECK(parse_json(read_file(scratch / "other/generation_config.json")) ==
        Json{{"do_sample", true}, {"temperature", 0.6}, {"eos_token_id", {5}}});
}

TEST_CASE(
    "The export writes its own tokenizer_config.json in place of one that is not an object of JSON or is too large") {
  CopiedModel copy("llama");
  write_file(copy.path() / "tokenizer.json", tokenizer_json(false));
  const Scratch scratch;
  export_hugging_face(load_model(copy.path()), scratch / "without");
  const std::string written = read_file(scratch / "without/tokenizer_config.json");
  const std::string large = R"({"pad_token": ")" + std::string(4 << 20, 'x') + R"("})";
  for (const std::string& text : {std::string("{"), std::string("[1]"), std::string("{\"a\": \"\xff\"}"), large}) {
    CAPTURE(text.substr(0, 20));
    write_file(copy.path() / "tokenizer_config.json", text);
    const Model model = load_model(copy.path());
    export_hugging_face(model, scratch / "out");
    CHECK(read_file(scratch / "out/tokenizer_config.json") == written);
    save_model(scratch / "saved", model);
    SafeTensors content = read_safetensors(scratch / "saved");
    content.metadata["heed.tokenizer_config.json"] = text.find('\xff') == text.npos ? text : "null";
    content.metadata["heed.../evil"] = text.find('\xff') == text.npos ? text : "null";
    write_safetensors(scratch / "saved", content);
    CHECK(load_model(scratch / "saved").kept_files.empty());
  }
  std::filesystem::remove(copy.path() / "tokenizer_config.json");
  std::filesystem::create_directory(copy.path() / "tokenizer_config.json");
  CHECK(load_model(copy.path()).kept_files.empty());
}

TEST_CASE("The export of a model that chooses among candidates keeps the words asked about") {
  const Scratch scratch;
  Model model = load_model("tests/golden/exports/candidates_of_bert");
  CHECK(model.queries.empty());
  model.queries = {"it", "她"};
  export_hugging_face(model, scratch / "out");
  Model back = load_model(scratch / "out");
  CHECK(back.queries == model.queries);
  back.queries = {"he"};
  export_hugging_face(back, scratch / "other");
  CHECK(load_model(scratch / "other").queries == std::vector<std::string>{"he"});
  back.queries.clear();
  export_hugging_face(back, scratch / "none");
  CHECK_FALSE(parse_json(read_file(scratch / "none/config.json")).contains("heed_query_words"));

  Model decoder = load_model(golden_models / "gpt2");
  decoder.queries = {"it"};
  export_hugging_face(decoder, scratch / "decoder");
  CHECK(read_file(scratch / "decoder/config.json") == read_file(golden_models / "gpt2/config.json"));

  for (const Json& wrong : {Json("it"), Json::array({"it", 3}), Json::array({""}), Json::object()}) {
    CopiedModel copy("bert");
    copy.config([&](Json& config) { config["heed_query_words"] = wrong; });
    CHECK(copy.refused() ==
          "DIR/config.json: heed cannot compute this model as it is configured\n  'heed_query_words' must be a "
          "list of words, got " +
              format_json(wrong));
  }
}

TEST_CASE("The written tokenizer_config.json names the token that ends the model's texts") {
  CopiedModel copy("llama");
  std::string tokenizer = tokenizer_json(true);
  for (const auto& [name, other] : {std::pair("[SEP]", "</s>"), std::pair("[MASK]", "<|im_end|>")}) {
    for (std::size_t at; (at = tokenizer.find(name)) != tokenizer.npos;)
      tokenizer.replace(at, std::strlen(name), other);
  }
  write_file(copy.path() / "tokenizer.json", tokenizer);
  const auto named = [&](std::vector<std::int32_t> end_tokens) {
    const Scratch scratch;
    Model model = load_model(copy.path());
    model.end_tokens = std::move(end_tokens);
    export_hugging_face(model, scratch / "out");
    return parse_json(read_file(scratch / "out/tokenizer_config.json")).value("eos_token", "none");
  };
  CHECK(named({}) == "</s>");  // that of the template
  CHECK(named({4, 3}) == "</s>");
  CHECK(named({4}) == "<|im_end|>");
  CHECK(named({5}) == "none");  // no special token
}

TEST_CASE("A pretrained model saved in heed's format can still be exported") {
  const Scratch scratch;
  const Model model = load_model(golden_models / "phi3");
  save_model(scratch / "saved", model);
  const Model saved = load_model(scratch / "saved");
  export_hugging_face(saved, scratch / "out");
  CHECK(parameter_difference(model, load_model(scratch / "out")) == 0);
}

TEST_CASE("heed's language models are exported as GPT-2 or LLaMA and read back with equal logits") {
  ModelConfig scaled = small_llama();
  scaled.transformer.rotary = {.base = 500, .scaling = RotaryScaling::llama3, .factor = 4, .original_length = 64};
  scaled.logits.tied = true;
  ModelConfig linear = small_llama();
  linear.transformer.rotary = {.scaling = RotaryScaling::linear, .factor = 2};
  ModelConfig divided = small_gpt2();
  divided.transformer.divide_scores_by_layer = true;
  ModelConfig squared = small_llama(), quick = small_gpt2();
  squared.transformer.block.mlp.activation = Activation::relu2;
  squared.transformer.block.mlp.gated = true;
  quick.transformer.block.mlp.activation = Activation::quick_gelu;
  for (const ModelConfig& config : {small_gpt2(), small_llama(), scaled, linear, divided, squared, quick}) {
    const Scratch scratch;
    const Model model = small_model(config);
    export_hugging_face(model, scratch / "out");
    const Model back = load_model(scratch / "out");
    CHECK(parameter_difference(model, back) == 0);
    const Ids ids({1, 5}, {1, 3, 0, 7, 7});
    CHECK(model.logits({.tokens = ids}).to_vector() == back.logits({.tokens = ids}).to_vector());
  }
}

TEST_CASE("heed exports masked models as BERT, sliding windows as Mistral, normalised heads as Qwen3") {
  const auto exported = [](const ModelConfig& config) {
    const Scratch scratch;
    const Model model = small_model(config);
    export_hugging_face(model, scratch / "out");
    const Model back = load_model(scratch / "out");
    const Ids ids({1, 5}, {1, 3, 0, 7, 7});
    const Tensor difference = model.logits({.tokens = ids}) - back.logits({.tokens = ids});
    CHECK(max(abs(difference)).item() < 1e-6);
    return parse_json(read_file(scratch / "out/config.json")).at("architectures")[0].get<std::string>();
  };
  ModelConfig masked = masked_language_model(bert(2, 2, 8)), bare = masked, squared = masked;
  masked.transformer.max_length = bare.transformer.max_length = squared.transformer.max_length = 12;
  bare.transformer.segments = 0;
  bare.transformer.block.attention.bias = bare.transformer.block.attention.output_bias = false;
  bare.transformer.block.mlp.bias = false;
  bare.logits.tied = false;
  squared.transformer.block.mlp.activation = squared.activation = Activation::relu2;
  for (const ModelConfig& config : {masked, bare, squared}) {
    CHECK(exported(config) == "BertForMaskedLM");
  }
  ModelConfig normalised = small_llama();
  normalised.transformer.block.attention.query_key_norm = QueryKeyNorm::heads;
  normalised.transformer.block.attention.query_key.epsilon = normalised.transformer.block.norm.epsilon;
  CHECK(exported(normalised) == "Qwen3ForCausalLM");
  normalised.transformer.block.attention.output_bias = true;
  CHECK(exported(normalised) == "Qwen3ForCausalLM");

  ModelConfig sliding = small_llama();
  sliding.transformer.block.attention.window = 2;
  CHECK(exported(sliding) == "MistralForCausalLM");
  ModelConfig no_mlp = small_llama();
  no_mlp.transformer.block.mlp = {};
  CHECK(export_refused(no_mlp) == "export: the model has no MLP (model.mlp: 0), which each family of transformers has");
  sliding.transformer.full_attention_every = 2;
  CHECK(export_refused(sliding) ==
        "export: the model differs from Mistral, the nearest family: transformer/full_attention_layers/0: 1 (there "
        "none)");

  normalised.transformer.block.mlp.bias = true;
  normalised.transformer.block.attention.query_key.epsilon = 0.5;
  CHECK(export_refused(normalised) ==
        "export: the model differs from Qwen3, the nearest family: "
        "transformer/block/attention/query_key/epsilon: 0.5 (there 1e-05); transformer/block/mlp/bias: true (there "
        "false)");
  masked.transformer.block.placement = NormPlacement::before;
  masked.activation = Activation::relu;
  masked.transform = false;
  CHECK(
      export_refused(masked) ==
      "export: the model differs from Megatron BERT, the nearest family: transformer/embedding_norm: true "
      "(there false); transformer/final_norm: false (there true); transform: false (there true); activation: \"relu\" "
      "(there \"gelu\")");
}

TEST_CASE("The export rejects a model that transformers does not have, and names the differences") {
  CHECK(export_refused(answerer_of(small_config())) ==
        "export: transformers has no class for this model; of heed's own models it has classes for language models and "
        "masked language models");
  ModelConfig other = small_gpt2();
  other.transformer.block.parallel = true;
  other.transformer.block.attention.soft_cap = 5;
  CHECK(export_refused(other) ==
        "export: the model differs from GPT-2, the nearest family: transformer/block/attention/soft_cap: 5.0 "
        "(there 0.0); transformer/block/parallel: true (there false)");
}

TEST_CASE("Exported models have the states and logits that transformers computes for them") {
  int models = 0;
  for (const auto& entry : std::filesystem::directory_iterator("tests/golden/exports")) {
    const std::string name = entry.path().filename().string();
    CAPTURE(name);
    Model model = load_model(entry.path());
    for (const GoldenDifference& row : golden_differences(in_float64(model), entry.path() / "golden.safetensors")) {
      CAPTURE(row.what);
      CHECK(row.relative() < 1e-9);
    }
    if (name.starts_with("own")) model.pretrained_config.clear();  // as the model was before
    const Scratch scratch;
    export_hugging_face(model, scratch / "out");
    CHECK(read_file(scratch / "out" / "config.json") == read_file(entry.path() / "config.json"));
    CHECK(read_file(scratch / "out" / "model.safetensors") == read_file(entry.path() / "model.safetensors"));
    ++models;
  }
  CHECK(models == 12);
}

TEST_CASE("The candidates' logits can be computed from the exported states and matrix") {
  const std::filesystem::path directory = "tests/golden/exports/candidates_of_bert";
  const SafeTensors golden = read_safetensors(directory / "golden.safetensors");
  const Model model = in_float64(load_model(directory));
  const auto ids_of = [](const Tensor& values, const Shape& shape) {
    std::vector<std::int32_t> ids;
    for (const double value : values.to_vector()) ids.push_back(static_cast<std::int32_t>(value));
    return Ids(shape, std::move(ids));
  };
  const int T = static_cast<int>(golden["ids"].numel());
  const Batch asked{.tokens = ids_of(golden["ids"], {1, T}),
                    .lengths = {T},
                    .query = ids_of(golden["query"], {1}),
                    .candidates = ids_of(golden["candidates"], {1, 2, 2})};
  const Tensor logits = reshape(model.logits(asked), {2});
  CHECK(max(abs(logits - golden["candidate_logits"])).item() < 1e-12);
  CHECK(max(abs(logits)).item() > 1e-3);
}

TEST_CASE("The export adds missing biases of GPT-2 and LLaMA as 0") {
  ModelConfig without = small_gpt2(), with_output = small_llama(), with_queries = small_llama();
  without.transformer.block.attention.bias = without.transformer.block.attention.output_bias = false;
  without.transformer.block.mlp.bias = false;
  with_output.transformer.block.attention.output_bias = true;
  with_queries.transformer.block.attention.bias = true;
  for (const ModelConfig& config : {without, with_output, with_queries}) {
    const Scratch scratch;
    const Model model = small_model(config);
    export_hugging_face(model, scratch / "out");
    const Model back = load_model(scratch / "out");
    CHECK(back.parameters.size() > model.parameters.size());
    const Ids ids({1, 5}, {1, 3, 0, 7, 7});
    const Tensor difference = model.logits({.tokens = ids}) - back.logits({.tokens = ids});
    CHECK(max(abs(difference)).item() < 1e-6);
  }
}

TEST_CASE("The exported config.json names the class of transformers with the exported head") {
  const auto class_of = [](const std::string& name) {
    const Json json = parse_json(read_file(std::filesystem::path("tests/golden/exports") / name / "config.json"));
    return json.at("architectures").at(0).get<std::string>();
  };
  CHECK(class_of("candidates_of_bert") == "BertModel");              // the pretrained one: BertForMaskedLM
  CHECK(class_of("masked_text_of_bare_bert") == "BertForMaskedLM");  // BertModel
  CHECK(class_of("text_of_gpt2") == "GPT2LMHeadModel");
  CopiedModel classifier("gemma3");
  classifier.config([](Json& json) { json["architectures"] = {"Gemma3ForSequenceClassification"}; });
  classifier.config([](Json& json) { json["tie_word_embeddings"] = false; });  // so that it has no logits
  const Scratch scratch;
  export_hugging_face(load_model(classifier.path()), scratch.path);
  CHECK(parse_json(read_file(scratch / "config.json")).at("architectures")[0] == "Gemma3TextModel");
}
