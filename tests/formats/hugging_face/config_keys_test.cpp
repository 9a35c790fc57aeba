// Keys of config.json that every family ignores, and those that may be missing.
#include "tests/catch.h"
#include "tests/formats/hugging_face/config_text.h"
#include "tests/message.h"

#include <heed/files/file.h>

#include <cmath>
#include <filesystem>
#include <set>

using namespace heed;

TEST_CASE("Keys that libraries write and that change no number are ignored in every family") {
  for (const auto& entry : std::filesystem::directory_iterator("tests/golden/hugging_face")) {
    Json config = parse_json(read_file(entry.path() / "config.json"));
    config["sentence_transformers"] = {{"activation_fn", "torch.nn.modules.activation.Sigmoid"}, {"version", "5.1.0"}};
    config["sbert_ce_default_activation_function"] = "torch.nn.modules.linear.Identity";
    // transformers 4 wrote these with to_json_file(use_diff=False).
    for (const char* key : {"add_cross_attention", "early_stopping", "is_decoder", "output_scores",
                            "remove_invalid_values", "return_dict_in_generate", "tf_legacy_loss"})
      config[key] = false;
    for (const char* key : {"diversity_penalty", "length_penalty", "typical_p"}) config[key] = 1.0;
    for (const char* key : {"encoder_no_repeat_ngram_size", "no_repeat_ngram_size", "num_beam_groups",
                            "num_return_sequences", "forced_bos_token_id", "forced_eos_token_id"})
      config[key] = 1;
    for (const char* key :
         {"bad_words_ids", "begin_suppress_tokens", "exponential_decay_length_penalty", "suppress_tokens"})
      config[key] = Json::array({1, 2});
    // Attributes of transformers' own objects.
    for (const char* key : {"_model_name_or_path", "_name_or_path", "_pre_quantization_dtype", "_from_auto"})
      config[key] = "of transformers";
    // Left by their authors in models that many people have.
    for (const char* key :
         {"antemplate", "author", "badwordsids", "cell", "created_date", "custom_pipelines", "generator_size",
          "layers_to_keep", "max_sequence_length", "model_max_length", "n_special", "name", "pre_trained",
          "predict_special_tokens", "structure", "tokenizer_type", "training", "welcome"})
      config[key] = "of the author";
    // Keys of other families, which transformers' own test models have.
    for (const char* key : {"emb_size", "embed_dim", "n_ctx", "num_choices", "summary_type", "use_unpad"})
      config[key] = 37;
    for (const char* key : {"hidden_act", "intermediate_size", "position_embedding_type", "type_vocab_size"}) {
      if (!config.contains(key))
        config[key] = key == std::string("position_embedding_type") ? Json("absolute") : Json(2);
    }
    CHECK(message([&] { read(config.dump()); }) == "no error");
  }
}

TEST_CASE("A value of the wrong JSON type is refused by the name of its key, unless the key changes no number") {
  std::set<std::string> accepted;
  for (const auto& entry : std::filesystem::directory_iterator("tests/golden/hugging_face")) {
    Json config = parse_json(read_file(entry.path() / "config.json"));
    if (config.contains("text_config")) config = config["text_config"];
    const auto flat = config.flatten();
    for (const auto& [place, value] : flat.items()) {
      const bool is_in_object = place.starts_with("/rope_parameters/");
      const std::size_t begin = is_in_object ? place.find('/', 1) + 1 : 1;
      std::string key = place.substr(begin, place.find('/', begin) - begin);
      if (key == "full_attention" || key == "sliding_attention") key = place.substr(place.rfind('/') + 1);
      for (const Json& wrong : {Json("1"), Json(true), Json(1), Json(1.5), Json::array({1}), Json{{"a", 1}}}) {
        if (wrong.type() == value.type() || (value.is_number_unsigned() && wrong == 1) || value.is_null()) continue;
        if (value.is_number_float() && wrong.is_number()) continue;
        Json changed = config;
        changed[Json::json_pointer(place)] = wrong;
        const std::string text = message([&] { read(changed.dump()); });
        CAPTURE(entry.path().string(), place, wrong.dump(), text);
        if (text == "no error") {
          accepted.insert(key);
        } else {
          CHECK(text.find("'" + key + "'") != std::string::npos);
        }
      }
    }
  }
  const std::set<std::string> changes_nothing{
      "architectures",
      "attention_dropout",
      "attention_probs_dropout_prob",
      "attn_pdrop",
      "bos_token_id",
      "classifier_dropout",
      "classifier_dropout_prob",
      "cls_token_id",
      "deterministic_flash_attn",
      "dropout",
      "dtype",
      "embd_pdrop",
      "embed_dropout",
      "embedding_dropout",
      "eos_token_id",
      "hidden_dropout",
      "hidden_dropout_prob",
      "init_std",
      "initializer_cutoff_factor",
      "initializer_range",
      "is_decoder",
      "layerdrop",
      "long_factor",
      "mlp_dropout",
      "pad_token_id",
      "pretraining_tp",
      "qa_dropout",
      "reorder_and_upcast_attn",
      "resid_dropout",
      "resid_pdrop",
      "residual_dropout",
      "sep_token_id",
      "seq_classif_dropout",
      "sinusoidal_pos_embds",
      "sparse_pred_ignore_index",
      "sparse_prediction",
      "summary_activation",
      "summary_first_dropout",
      "summary_last_dropout",
      "summary_proj_to_labels",
      "summary_type",
      "summary_use_proj",
      "transformers_version",
      "use_cache",
      "id2label",                          // a name that is not a text becomes LABEL_n
      "attention_types",                   // attention_layers counts
      "original_max_position_embeddings",  // in rope_parameters: Phi-3's own counts
      "query_pre_attn_scalar"};            // may be 1.5
  CHECK(accepted == changes_nothing);
}

TEST_CASE("Missing keys of a configuration have the defaults of transformers for its family") {
  const auto shape = [](const std::string& model_type, const std::string& more = "", int d_model = 8) {
    return read(R"({"hidden_size": )" + std::to_string(d_model) +
                R"(, "num_attention_heads": 2, "num_hidden_layers": 1, "intermediate_size": 8,
      "max_position_embeddings": 8192, "vocab_size": 5, "model_type": ")" +
                model_type + "\"" + more + "}")
        .transformer;
  };
  for (const char* name : {"llama", "mistral", "qwen2", "qwen3"}) CHECK(shape(name).block.norm.epsilon == 1e-6);
  for (const char* name : {"arcee", "olmo2", "phi3"}) CHECK(shape(name).block.norm.epsilon == 1e-5);
  CHECK(shape("mistral").block.attention.window == 4096);
  CHECK(shape("mistral", R"(, "sliding_window": null)").block.attention.window == 0);
  CHECK(shape("phi3").block.attention.window == 0);
  const std::string yarn = R"({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 2048)";
  CHECK(shape("qwen3", R"(, "rope_scaling": )" + yarn + R"(, "attn_factor": 0.5})").rotary.amplitude ==
        shape("qwen3", R"(, "rope_scaling": )" + yarn + "}").rotary.amplitude);
  CHECK(read(R"({"model_type": "llama", "hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 1,
      "intermediate_size": 8, "vocab_size": 5, "max_sequence_length": 2048})")
            .transformer.max_length == 2048);
  // Phi-3's class has a length of its own, which counts before that of its scaling.
  const auto phi3 = [&](const std::string& more) {
    return shape("phi3",
                 R"(, "rope_scaling": {"type": "longrope", "short_factor": [1, 2], "long_factor": [3, 4])" + more);
  };
  CHECK((phi3("}").max_length == 4096 && phi3("}").rotary.amplitude == Approx(std::sqrt(1 + 1.0 / 12))));
  CHECK(phi3(R"(, "original_max_position_embeddings": 2048})").max_length == 4096);
  CHECK(phi3(R"(}, "original_max_position_embeddings": 2048)").max_length == 2048);
  CHECK(message([&] {
          phi3(R"(}, "original_max_position_embeddings": null)");
        }).find("'original_max_position_embeddings' must be an integer from 1 to 16777216, got null") !=
        std::string::npos);
  CHECK(shape("stablelm", R"(, "num_key_value_heads": 2)", 16).rotary.fraction == 0.25);
  CHECK(shape("stablelm", R"(, "num_key_value_heads": 2, "use_parallel_residual": true)", 16).block.shared_norm);
  CHECK(shape("granite").block.attention.scale == 1);
  const TransformerConfig smollm3 =
      read(R"({"model_type": "smollm3", "hidden_size": 16, "num_attention_heads": 8, "num_hidden_layers": 4,
      "intermediate_size": 8, "max_position_embeddings": 8, "vocab_size": 5})")
          .transformer;
  CHECK((smollm3.block.attention.kv_heads == 4 && smollm3.unrotated_layers == std::vector<int>{3}));
  CHECK((smollm3.rotary.base == 2000000 && smollm3.block.attention.window == 0));
  CHECK((shape("phi").rotary.fraction == 0.5 && shape("phi").block.attention.kv_heads == 2));
  const BlockConfig starcoder2 = shape("starcoder2").block;
  CHECK((starcoder2.attention.kv_heads == 2 && starcoder2.attention.d_k == 4 && starcoder2.attention.window == 0));
  CHECK((starcoder2.norm.epsilon == 1e-5 && starcoder2.mlp.activation == Activation::gelu_tanh));
  CHECK((starcoder2.attention.output_bias && starcoder2.mlp.bias));
}
