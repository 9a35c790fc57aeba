#include "formats/hugging_face/nearest_family.h"

#include "formats/hugging_face/family.h"
#include "formats/internal/config_json.h"

#include <heed/autograd/ops.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

std::string_view hugging_face_name(Activation activation) { return function_of(activation).in_config_json[0]; }

// Returns the configuration in GPT-2's terms. The caller checks that it is complete.
Json gpt2_json(const TransformerConfig& t, const LogitsConfig& logits) {
  return {{"model_type", "gpt2"},
          {"architectures", {"GPT2LMHeadModel"}},
          {"vocab_size", t.vocabulary},
          {"n_positions", t.max_length},
          {"n_embd", t.d_model()},
          {"n_layer", t.layers},
          {"n_head", t.heads()},
          {"n_inner", t.block.mlp.width},
          {"activation_function", hugging_face_name(t.block.mlp.activation)},
          {"layer_norm_epsilon", t.block.norm.epsilon},
          {"bos_token_id", nullptr},
          {"eos_token_id", nullptr},
          {"tie_word_embeddings", logits.tied},
          {"dtype", "float32"}};
}

// Returns the same for LLaMA.
Json llama_json(const TransformerConfig& t, const LogitsConfig& logits) {
  const AttentionConfig attention = t.block.attention.complete();
  Json rope = {{"rope_type", "default"}, {"rope_theta", t.rotary.base}};
  if (t.rotary.scaling == RotaryScaling::linear) {
    rope["rope_type"] = "linear", rope["factor"] = t.rotary.factor;
  } else if (t.rotary.scaling == RotaryScaling::llama3) {
    rope = {{"rope_type", "llama3"},
            {"rope_theta", t.rotary.base},
            {"factor", t.rotary.factor},
            {"low_freq_factor", t.rotary.low_frequency},
            {"high_freq_factor", t.rotary.high_frequency},
            {"original_max_position_embeddings", t.rotary.original_length}};
  }
  return {{"model_type", "llama"},
          {"architectures", {"LlamaForCausalLM"}},
          {"vocab_size", t.vocabulary},
          {"max_position_embeddings", t.max_length},
          {"hidden_size", t.d_model()},
          {"num_hidden_layers", t.layers},
          {"num_attention_heads", t.heads()},
          {"num_key_value_heads", attention.keys()},
          {"head_dim", attention.d_k},
          {"intermediate_size", t.block.mlp.width},
          {"hidden_act", hugging_face_name(t.block.mlp.activation)},
          {"rms_norm_eps", t.block.norm.epsilon},
          {"bos_token_id", nullptr},
          {"eos_token_id", nullptr},
          {"attention_bias", attention.bias},
          {"mlp_bias", t.block.mlp.bias},
          {"rope_parameters", rope},
          {"tie_word_embeddings", logits.tied},
          {"dtype", "float32"}};
}

bool has_window(const TransformerConfig& t, int layer) { return t.block_at(layer).attention.window > 0; }

// Returns the same for Mistral, a LLaMA whose layers all have a sliding window.
Json mistral_json(const TransformerConfig& t, const LogitsConfig& logits) {
  Json json = llama_json(t, logits);
  json["model_type"] = "mistral";
  json["architectures"] = {"MistralForCausalLM"};
  json["sliding_window"] = t.block.attention.window;
  for (const char* key : {"attention_bias", "mlp_bias"}) json.erase(key);
  return json;
}

// Returns the same for Qwen3, a LLaMA that normalises the queries and keys of each head. Its layers may have windows.
Json qwen3_json(const TransformerConfig& t, const LogitsConfig& logits) {
  Json json = llama_json(t, logits);
  json["model_type"] = "qwen3";
  json["architectures"] = {"Qwen3ForCausalLM"};
  json.erase("mlp_bias");
  if (t.block.attention.window == 0) return json;
  json["use_sliding_window"] = true;
  json["sliding_window"] = t.block.attention.window;
  for (int layer = 0; layer < t.layers; ++layer)
    json["layer_types"].push_back(has_window(t, layer) ? "sliding_attention" : "full_attention");
  return json;
}

// Returns the same for a masked language model in BERT's terms.
Json bert_json(const TransformerConfig& t, const LogitsConfig& logits) {
  return {{"model_type", "bert"},
          {"architectures", {"BertForMaskedLM"}},
          {"vocab_size", t.vocabulary},
          {"max_position_embeddings", t.max_length},
          {"type_vocab_size", t.segments},
          {"hidden_size", t.d_model()},
          {"num_hidden_layers", t.layers},
          {"num_attention_heads", t.heads()},
          {"intermediate_size", t.block.mlp.width},
          {"hidden_act", hugging_face_name(t.block.mlp.activation)},
          {"layer_norm_eps", t.block.norm.epsilon},
          {"pad_token_id", nullptr},
          {"tie_word_embeddings", logits.tied},
          {"dtype", "float32"}};
}

// Returns the same for one that normalises before each part.
Json megatron_bert_json(const TransformerConfig& t, const LogitsConfig& logits) {
  Json json = bert_json(t, logits);
  json["model_type"] = "megatron-bert";
  json["architectures"] = {"MegatronBertForMaskedLM"};
  return json;
}

// The families of heed's own models.
enum class Nearest { bert, megatron_bert, gpt2, llama, mistral, qwen3 };
constexpr struct {
  const char* name;
  Json (*config_json)(const TransformerConfig& t, const LogitsConfig& logits);
} nearest_families[] = {{"BERT", bert_json},       {"Megatron BERT", megatron_bert_json},
                        {"GPT-2", gpt2_json},      {"LLaMA", llama_json},
                        {"Mistral", mistral_json}, {"Qwen3", qwen3_json}};

Nearest nearest_family(const Model& model) {
  const TransformerConfig& t = model.transformer().config;
  if (model.head().fills_masks())
    return t.block.placement == NormPlacement::before ? Nearest::megatron_bert : Nearest::bert;
  if (t.block.attention.query_key_norm == QueryKeyNorm::heads) return Nearest::qwen3;
  if (t.positions != Positions::rotary && t.block.norm.kind != NormKind::rms) return Nearest::gpt2;
  return t.block.attention.window > 0 ? Nearest::mistral : Nearest::llama;
}

// Throws Error that names the fields of `given` whose values differ in `back`.
void check_equal(const Json& given, const Json& back, Nearest family) {
  const std::vector<std::string> different = differences(given, back);
  if (different.empty()) return;
  fail("export: the model differs from {}, the nearest family: {}", nearest_families[static_cast<int>(family)].name,
       listed(different, "; ", 10));
}

}  // namespace

Json comparable(ModelConfig config) {
  TransformerConfig& t = config.transformer;
  t.block.attention = t.block.attention.complete();
  const RotaryConfig used = t.rotary;
  if (t.positions != Positions::rotary) t.rotary = {};
  if (used.scaling == RotaryScaling::none) t.rotary.factor = 1;
  if (used.scaling != RotaryScaling::llama3) {
    t.rotary.low_frequency = RotaryConfig().low_frequency, t.rotary.high_frequency = RotaryConfig().high_frequency;
    t.rotary.original_length = RotaryConfig().original_length;
  }
  if (t.block.attention.query_key_norm == QueryKeyNorm::none) t.block.attention.query_key = {};
  if (t.block.attention.scale == 0) t.block.attention.scale = 1 / std::sqrt(1.0 * t.block.attention.d_k);
  std::vector<int> full;
  for (int layer = 0; layer < t.layers; ++layer) {
    if (!has_window(t, layer)) full.push_back(layer);
  }
  if (t.block.attention.window == 0) t.window_rotary_base = 0;
  t.full_attention_every = 0;
  t.full_attention_layers = t.block.attention.window > 0 ? full : std::vector<int>();
  return to_json(config);
}

std::vector<std::string> differences(const Json& given, const Json& back) {
  std::vector<std::string> different;
  const Json one = given.flatten(), other = back.flatten();
  for (const auto& [name, value] : one.items()) {
    if (other.contains(name) && other.at(name) == value) continue;
    different.push_back(fmt::format("{}: {} (there {})", name.substr(1), format_json(value),
                                    other.contains(name) ? format_json(other.at(name)) : "none"));
  }
  return different;
}

Model with_parts_of_family(const Model& model) {
  ModelConfig all = model.config();
  if (!model.head().has_token_logits()) {
    fail(
        "export: transformers has no class for this model; of heed's own models it has classes for language models and "
        "masked language models");
  }
  BlockConfig& block = all.transformer.block;
  const Nearest family = nearest_family(model);
  const bool is_bert = family == Nearest::bert || family == Nearest::megatron_bert;
  const bool has_all_biases = is_bert || family == Nearest::gpt2;
  if (is_bert) all.transformer.segments = std::max(1, all.transformer.segments);
  if (has_all_biases) block.mlp.bias = true;
  if (has_all_biases || block.attention.bias) block.attention.bias = block.attention.output_bias = true;
  if (block.attention.output_bias) block.attention.bias = true;
  const auto take = [&](const std::string& name, const Shape& of) {
    return model.parameters.contains(name) ? model.parameters[name] : zeros(of, DType::float32);
  };
  Model result;
  result.build(Scope(result.parameters, DType::float32, take), all);
  return result;
}

Json own_config(const Model& model) {
  if (model.transformer().config.block.mlp.width == 0) {
    fail("export: the model has no MLP (model.mlp: 0), which each family of transformers has");
  }
  const Nearest family = nearest_family(model);
  const TransformerConfig& t = model.transformer().config;
  Json json = nearest_families[static_cast<int>(family)].config_json(t, model.config().logits);
  if (family == Nearest::gpt2 && t.divide_scores_by_layer) json["scale_attn_by_inverse_layer_idx"] = true;
  ConfigReader reader(json, "export");
  const PretrainedConfig read = family_of(reader).read(reader);
  reader.finish();
  ModelConfig back = ModelConfig::of(model.config().head);
  back.transformer = read.transformer;
  back.logits = read.logits;
  back.activation = read.head_activation;
  check_equal(comparable(model.config()), comparable(back), family);
  return json;
}

}  // namespace heed
