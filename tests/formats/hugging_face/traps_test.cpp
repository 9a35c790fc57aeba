// Differences between families and versions of transformers, and files that are easily misread.
#include "tests/catch.h"
#include "tests/formats/hugging_face/copied_model.h"

#include <heed/autograd/ops.h>
#include <heed/explain/attribution.h>
#include <heed/explain/score_parts.h>

using namespace heed;

namespace {

constexpr double exactly = 1e-9;

// Writes rope_parameters of transformers 5 as rope_theta and rope_scaling of version 4.
void as_version_4(Json& config, const char* type_key = "rope_type") {
  Json rope = config.at("rope_parameters");
  config.erase("rope_parameters");
  config["rope_theta"] = rope.at("rope_theta");
  rope.erase("rope_theta");
  if (rope.contains("partial_rotary_factor")) {
    config["partial_rotary_factor"] = rope.at("partial_rotary_factor");
    rope.erase("partial_rotary_factor");
  }
  const Json type = rope.at("rope_type");
  rope.erase("rope_type");
  rope[type_key] = type;
  config["rope_scaling"] = type == "default" ? Json() : rope;
}

}  // namespace

TEST_CASE("Rotary embeddings are read in the form of transformers 4 and 5") {
  for (const char* name : {"llama", "llama_tied", "llama_bare", "mistral", "qwen2", "qwen3", "olmo2", "phi3", "gemma2",
                           "starcoder2", "stablelm", "phi", "arcee", "granite", "smollm3"}) {
    CAPTURE(name);
    CHECK(CopiedModel(name).config([](Json& json) { as_version_4(json); }).difference() < exactly);
    CHECK(CopiedModel(name).config([](Json& json) { as_version_4(json, "type"); }).difference() < exactly);
  }
  CopiedModel both("llama");
  both.config([](Json& json) {
    as_version_4(json);
    json["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 7.0}};  // rope_scaling counts
  });
  CHECK(both.difference() < exactly);
  both.config([](Json& json) { json["rope_scaling"] = Json::object(); });  // an empty one does not
  CHECK(both.difference() > 1e-3);
  CopiedModel phi3("phi3");
  phi3.config([](Json& json) { as_version_4(json, "type"), json["rope_scaling"]["type"] = "su"; });
  CHECK(phi3.difference() < exactly);
  CopiedModel neox("gpt_neox");
  neox.config([](Json& json) {
    as_version_4(json);
    json["rotary_pct"] = json["partial_rotary_factor"], json["rotary_emb_base"] = json["rope_theta"];
    json.erase("partial_rotary_factor"), json.erase("rope_theta");
  });
  CHECK(neox.difference() < exactly);
  neox.config([](Json& json) { json["rope_theta"] = 7, json["partial_rotary_factor"] = 1; });  // it does not read them
  CHECK(neox.difference() < exactly);
  // Puts the two rotary bases under the older names, and returns the newer object.
  const auto as_older = [](Json& json, const char* full, const char* sliding) {
    const Json rope = json.at("rope_parameters");
    json.erase("rope_parameters");
    json[full] = rope.at("full_attention").at("rope_theta");
    json[sliding] = rope.at("sliding_attention").at("rope_theta");
    return rope;
  };
  CopiedModel gemma("gemma3");
  gemma.config([&](Json& json) {
    const Json rope = as_older(json, "rope_theta", "rope_local_base_freq");
    json["rope_scaling"] = {{"rope_type", "linear"}, {"factor", rope.at("full_attention").at("factor")}};
  });
  CHECK(gemma.difference() < exactly);
  CopiedModel modernbert("modernbert");
  modernbert.config([&](Json& json) {
    as_older(json, "global_rope_theta", "local_rope_theta");
    json["rope_theta"] = 7;  // it does not read it
  });
  CHECK(modernbert.difference() < exactly);
}

TEST_CASE("Changed rotary constants change the numbers") {
  const auto changed = [](const char* model, const char* key, const Json& value) {
    CopiedModel copy(model);
    copy.config([&](Json& json) { json["rope_parameters"][key] = value; });
    return copy.difference();
  };
  CHECK(changed("llama", "rope_theta", 400) > 1e-4);
  CHECK(changed("llama", "factor", 4) > 1e-4);
  CHECK(changed("llama", "low_freq_factor", 2) > 1e-4);
  CHECK(changed("llama", "original_max_position_embeddings", 32) > 1e-4);
  CHECK(changed("llama_tied", "factor", 2) > 1e-4);
  CHECK(changed("mistral", "factor", 2) > 1e-4);
  CHECK(changed("mistral", "attention_factor", 1) > 1e-4);
  CHECK(changed("mistral", "original_max_position_embeddings", 160) > 1e-4);
  CHECK(changed("phi3", "short_factor", {1.0, 1.5, 2.0}) > 1e-4);
  CHECK(changed("phi3", "attention_factor", 1) > 1e-4);
  CHECK(changed("gpt_neox", "partial_rotary_factor", 0.8) > 1e-4);
}

TEST_CASE("Dynamic and longrope embeddings limit max_length to the original length") {
  const Model phi3 = load_model(golden_models / "phi3");
  CHECK(phi3.transformer().config.max_length == 12);  // of max_position_embeddings 48: the original length
  CopiedModel dynamic("llama_bare");
  dynamic.config([](Json& json) { json["rope_parameters"]["original_max_position_embeddings"] = 7; });
  CHECK(load_model(dynamic.path()).transformer().config.max_length == 7);
}

TEST_CASE("layer_types, or else the family, determines the layers with a sliding window") {
  const TransformerConfig gemma3 = load_model(golden_models / "gemma3").transformer().config;
  CHECK((gemma3.block_at(0).attention.window == 0 && gemma3.block_at(1).attention.window == 4));
  CHECK((gemma3.window_rotary_base == 50 && gemma3.rotary.base == 2000 && gemma3.rotary.factor == 8));
  for (const char* name :
       {"gemma2", "qwen2", "smollm3", "modernbert"}) {  // what older versions of transformers leave to the family
    CAPTURE(name);
    CHECK(CopiedModel(name).config([](Json& json) { json.erase("layer_types"); }).difference() < exactly);
  }
  CopiedModel all_full("qwen2");
  all_full.config([](Json& json) { json["use_sliding_window"] = false, json["sliding_window"] = nullptr; });
  CHECK(all_full.refused() ==
        "DIR/config.json: heed cannot compute this model as it is configured\n  'sliding_window' is missing");
  all_full.config([](Json& json) { json.erase("layer_types"); });
  CHECK(all_full.difference() > 1e-4);
}

TEST_CASE("Tensor names are read with and without the prefix of a model with a head") {
  for (const auto& entry : std::filesystem::directory_iterator(golden_models)) {
    if (!std::filesystem::exists(entry.path() / "model.safetensors")) continue;
    CopiedModel copy(entry.path().filename());
    CAPTURE(entry.path().string());
    const auto strip = [](std::string& name) {
      for (const std::string prefix : {"bert.", "distilbert.", "roberta.", "transformer.wte", "gpt_neox.", "model."}) {
        if (name.starts_with(prefix)) name.erase(0, prefix.find('.') + 1);
      }
    };
    copy.tensors([&](NamedTensors& tensors) {
      for (auto& [name, value] : tensors) strip(name);
    });
    CHECK(copy.difference() < exactly);
  }
  CopiedModel prefixed("bert_bare");
  prefixed.tensors([](NamedTensors& tensors) {
    for (auto& [name, value] : tensors) name = "bert." + name;
  });
  CHECK(prefixed.difference() < exactly);
}

TEST_CASE("A tied head stored in the file must equal the embeddings") {
  const auto with_head = [](const char* model, const char* embeddings, const char* head, float change) {
    CopiedModel copy(model);
    copy.tensors([&](NamedTensors& tensors) {
      const Tensor weight = tensor_of(tensors, embeddings).second.clone();
      Tensor(weight).mutable_data<float>()[3] += change;
      tensors.emplace_back(head, weight);
    });
    return copy.refused();
  };
  CHECK(with_head("llama_tied", "model.embed_tokens.weight", "lm_head.weight", 0) == "no error");
  CHECK(with_head("bert", "bert.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight", 0) == "no error");
  CHECK(with_head("gpt2", "wte.weight", "lm_head.weight", 1) ==
        "DIR: its tensors are not those of this configuration of gpt2\n"
        "  lm_head.weight must equal wte.weight, but differs; set tie_word_embeddings to false in "
        "config.json to use both");
}

TEST_CASE("A decoder whose file has no untied logits is refused by their name, unless its class has none") {
  for (const auto& entry : std::filesystem::directory_iterator(golden_models)) {
    const std::string name = entry.path().filename().string();
    CAPTURE(name);
    CopiedModel copy(name);
    const Model model = load_model(copy.path());
    if (!model.head().generates() || model.config().transformer.projected_tokens) continue;
    copy.config(
        [](Json& json) { (json.contains("text_config") ? json["text_config"] : json)["tie_word_embeddings"] = false; });
    for (const auto& file : std::filesystem::directory_iterator(copy.path())) {
      if (file.path().extension() != ".safetensors" || file.path().filename() == "golden.safetensors") continue;
      SafeTensors content = read_safetensors(file.path());
      std::erase_if(content.tensors, [](const auto& tensor) {
        return tensor.first.starts_with("lm_head.") || tensor.first == "embed_out.weight";
      });
      write_safetensors(file.path(), content);
    }
    const std::filesystem::path index = copy.path() / "model.safetensors.index.json";
    if (std::filesystem::exists(index)) {
      Json json = parse_json(read_file(index));
      json["weight_map"].erase("lm_head.weight");
      write_file(index, json.dump());
    }
    const std::string expected = name.starts_with("gpt_neox") ? "embed_out.weight" : "lm_head.weight";
    const std::string refusal = copy.refused();
    CHECK(refusal.find("\n  missing: " + expected + ", which holds unembedding (") != std::string::npos);
    CHECK(refusal.find("; set tie_word_embeddings to true in config.json to use the embeddings") != std::string::npos);
    if (name == "gemma3_images") continue;  // always with logits
    copy.config([](Json& json) { json["architectures"] = {"SomeModelForSequenceClassification"}; });
    CHECK_FALSE(load_model(copy.path()).head().exists());
  }
}

TEST_CASE("An untied decoder uses its own bias, not the one that transformers 5 leaves unused") {
  for (const auto& [name, head] : {std::pair{"bert", "cls.predictions"}, std::pair{"roberta", "lm_head"}}) {
    CAPTURE(name);
    const std::string prefix = std::string(head) + ".", model = std::string(name) + ".";
    CopiedModel copy(name);
    copy.config([](Json& json) { json["tie_word_embeddings"] = false; });
    copy.tensors([&](NamedTensors& tensors) {
      const Tensor words = tensor_of(tensors, model + "embeddings.word_embeddings.weight").second.clone();
      auto& bias = tensor_of(tensors, prefix + "bias").second;
      const Tensor used = bias.clone();
      bias = bias + 1.0;
      tensors.emplace_back(prefix + "decoder.weight", words);
      tensors.emplace_back(prefix + "decoder.bias", used);
    });
    CHECK(copy.difference() < exactly);
    const Scratch scratch;
    export_hugging_face(load_model(copy.path()), scratch / "out");
    const SafeTensors out = read_safetensors(scratch / "out" / "model.safetensors");
    CHECK(out[prefix + "bias"].to_vector() == out[prefix + "decoder.bias"].to_vector());
  }
}

TEST_CASE("A head that does not predict tokens is left out, even when the embeddings are tied") {
  const auto with_head = [](const char* model, const std::string& head, const std::string& prefix = {}) {
    CopiedModel copy(model);
    copy.tensors([&](NamedTensors& tensors) {
      for (auto& [name, value] : tensors) {
        if (!prefix.empty() && name.starts_with("model.")) name.replace(0, 6, prefix);
      }
      tensors.emplace_back(head + ".weight", zeros({2, 20}));
      tensors.emplace_back(head + ".bias", zeros({2}));
    });
    CHECK(copy.difference() < exactly);
    return !load_model(copy.path()).head().exists();
  };
  CHECK(with_head("gpt2", "score"));
  CHECK(with_head("gpt2", "classifier"));
  CHECK(with_head("gpt2", "qa_outputs"));
  CHECK(with_head("llama_tied", "qa_outputs", "transformer."));
  CHECK(with_head("opt_projected", "score"));
  CHECK_FALSE(with_head("gpt2", "multiple_choice_head.summary"));
  CHECK_FALSE(with_head("gpt_neox", "classifier"));
  CHECK_FALSE(with_head("llama", "score"));
}

TEST_CASE("A classifier on ModernBERT opens without its head") {
  CopiedModel copy("modernbert");
  copy.tensors([](NamedTensors& tensors) {
    tensor_of(tensors, "decoder.bias") = {"classifier.weight", zeros({2, 16})};
  });
  CHECK(copy.difference() < exactly);
  CHECK(!load_model(copy.path()).head().exists());
}

TEST_CASE("Granite's factors are those of its configuration") {
  for (const char* key : {"embedding_multiplier", "attention_multiplier", "residual_multiplier", "logits_scaling"}) {
    CAPTURE(key);
    CopiedModel copy("granite");
    copy.config([&](Json& json) { json[key] = 0.8; });
    CHECK(copy.difference() > 1e-4);
  }
}

TEST_CASE("SmolLM3 rotates in the layers that no_rope_layers or the interval names") {
  CopiedModel copy("smollm3");
  copy.config([](Json& json) { json["no_rope_layers"] = nullptr, json["no_rope_layer_interval"] = 2; });
  CHECK(copy.difference() < exactly);
  copy.config([](Json& json) { json["no_rope_layer_interval"] = 3; });
  CHECK(copy.difference() > 1e-4);
  copy.config([](Json& json) { json["no_rope_layers"] = {1, 0, 1, 0, 0}; });  // it may be longer
  CHECK(copy.difference() < exactly);
}

TEST_CASE("A model that was saved without its untied head is loaded without a head") {
  CopiedModel copy("mistral");
  copy.tensors([](NamedTensors& tensors) {
    std::erase_if(tensors, [](const auto& tensor) { return tensor.first == "lm_head.weight"; });
    for (auto& [name, tensor] : tensors) name.erase(0, std::string("model.").size());
  });
  CHECK(!load_model(copy.path()).head().exists());
  CHECK(copy.difference() < exactly);
}

TEST_CASE("The configuration or the family determines which layers have biases") {
  const Model qwen2 = load_model(golden_models / "qwen2");
  CHECK(qwen2.parameters.contains("encoder.0.attention.W_K.bias"));
  CHECK_FALSE(qwen2.parameters.contains("encoder.0.attention.W_O.bias"));
  CopiedModel llama("llama");
  llama.config([](Json& json) { json["attention_bias"] = false; });
  CHECK(llama.refused().find("unknown: model.layers.0.self_attn.k_proj.bias (12)") != std::string::npos);
}

TEST_CASE("RoBERTa's positions begin after the id of the padding") {
  const TransformerConfig config = load_model(golden_models / "roberta").transformer().config;
  CHECK((config.position_offset == 2 && config.max_length == 14 && config.segments == 1));
  CopiedModel other("roberta");
  other.config([](Json& json) { json["pad_token_id"] = 0; });
  CHECK(other.difference() > 1e-3);
  CHECK_NOTHROW(check_positions(config, {0, 2, 60}));
  CHECK_NOTHROW(check_positions(load_model(golden_models / "opt").transformer().config, {0, 1, 60}));
  CHECK(message([&] {
          check_positions(config, {5, 1, 7});
        }) ==
        "token 2 of the text is the padding token (id 1). RoBERTa gives it no position, but heed does; remove it from "
        "the text");
}

// Returns how far the results move when a key of a golden model's config.json changes.
static double changed(const char* model, const char* key, const Json& value) {
  CopiedModel copy(model);
  copy.config([&](Json& json) { json[key] = value; });
  return copy.difference();
}

TEST_CASE("Gemma's gains, scales and caps follow its configuration") {
  for (const char* model : {"gemma2", "gemma3"}) {
    CAPTURE(model);
    CHECK(changed(model, "query_pre_attn_scalar", 16) > 1e-4);
    CHECK(changed(model, "final_logit_softcapping", 1.5) > 1e-4);
  }
  CHECK(changed("gemma2", "attn_logit_softcapping", 1.5) > 1e-4);
  CHECK(changed("gemma2", "attn_logit_softcapping", nullptr) > 1e-4);
  CHECK(changed("gemma3", "attn_logit_softcapping", 1.5) < exactly);  // transformers does not apply it
  CHECK(changed("gemma2", "hidden_act", "relu") < exactly);           // hidden_activation counts
  const TransformerConfig config = load_model(golden_models / "gemma2").transformer().config;
  CHECK((config.embedding_scale == 4 && config.block.norm.gain_offset && config.block.attention.d_k == 6));
}

TEST_CASE("A config.json of Gemma 2 without caps and window has those of transformers") {
  const Model model = load_model(golden_models / "gemma2_defaults");
  CHECK((model.config().logits.soft_cap == 30 && model.transformer().config.block.attention.soft_cap == 50));
  CHECK((model.transformer().config.block_at(0).attention.window == 4096));
  CHECK(changed("gemma2_defaults", "attn_logit_softcapping", 49) > 1e-4);
  CHECK(changed("gemma2_defaults", "final_logit_softcapping", nullptr) > 1e-4);
}

TEST_CASE("A model without a head shows its attention, and a question for its answer throws") {
  const Model model = load_model(golden_models / "bert_bare");
  Example example;
  for (const int id : {5, 17, 3, 42}) example.tokens.push_back(model.vocabulary.word(id));
  example.query = 3;
  const SentenceAttention seen = attend(model, example);
  CHECK((seen.layers.size() == 2 && seen.layers[0].shape() == Shape{4, 4, 4}));
  CHECK((seen.predicted.empty() && seen.probability == 0));
  CHECK(sum(seen.layers[1]).item() == Approx(16));
  const std::string told = "the model has no head: it shows states and attention, but gives no answers";
  CHECK(message([&] { attribute(model, example); }) == told);
  CHECK(message([&] { model.logits(batch_of(model, example)); }) == told);
  CHECK(message([&] { right_answer(model, example); }) == told);
  const ScoreParts parts = score_parts(model, example, 1, 2);
  CHECK((parts.answer.empty() && parts.products.size() == max_products));
}

TEST_CASE("score_parts and attribute add up to the score and the logit in every family") {
  for (const auto& entry : std::filesystem::directory_iterator(golden_models)) {
    CAPTURE(entry.path().string());
    const Model model = load_model(entry.path());
    Example example;
    for (const int id : {5, 17, 3, 42, 8, 17, 29}) example.tokens.push_back(model.vocabulary.word(id));
    example.query = 6;
    for (int layer = 0; layer < model.layers(); ++layer) {
      const ScoreParts parts = score_parts(model, example, layer, model.heads() - 1, {.from = 6, .to = 4});
      double total = 0;
      for (const ScoreParts::Part& part : parts.query) total += part.score;
      CHECK(total == Approx(parts.score).epsilon(1e-6));
    }
    if (!model.head().exists()) continue;
    const Attribution logit = attribute(model, example);
    CHECK(logit.sum() == Approx(logit.logit).epsilon(1e-6));
  }
}
