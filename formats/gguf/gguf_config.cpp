#include "formats/gguf/gguf_config.h"

#include <heed/files/utf8.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

namespace heed {
namespace {

// Names of tensors, "{}" for the layer. llama.cpp appends .weight and .bias.
struct TensorPair {
  const char *gguf, *hugging_face;
};

constexpr TensorPair llama_tensors[] = {{"token_embd", "model.embed_tokens"},
                                        {"output_norm", "model.norm"},
                                        {"output", "lm_head"},
                                        {"blk.{}.attn_norm", "model.layers.{}.input_layernorm"},
                                        {"blk.{}.attn_q", "model.layers.{}.self_attn.q_proj"},
                                        {"blk.{}.attn_k", "model.layers.{}.self_attn.k_proj"},
                                        {"blk.{}.attn_v", "model.layers.{}.self_attn.v_proj"},
                                        {"blk.{}.attn_output", "model.layers.{}.self_attn.o_proj"},
                                        {"blk.{}.attn_q_norm", "model.layers.{}.self_attn.q_norm"},
                                        {"blk.{}.attn_k_norm", "model.layers.{}.self_attn.k_norm"},
                                        {"blk.{}.ffn_norm", "model.layers.{}.post_attention_layernorm"},
                                        {"blk.{}.ffn_gate", "model.layers.{}.mlp.gate_proj"},
                                        {"blk.{}.ffn_up", "model.layers.{}.mlp.up_proj"},
                                        {"blk.{}.ffn_down", "model.layers.{}.mlp.down_proj"}};

constexpr TensorPair gpt2_tensors[] = {{"token_embd", "transformer.wte"},
                                       {"position_embd", "transformer.wpe"},
                                       {"output_norm", "transformer.ln_f"},
                                       {"output", "lm_head"},
                                       {"blk.{}.attn_norm", "transformer.h.{}.ln_1"},
                                       {"blk.{}.attn_qkv", "transformer.h.{}.attn.c_attn"},
                                       {"blk.{}.attn_output", "transformer.h.{}.attn.c_proj"},
                                       {"blk.{}.ffn_norm", "transformer.h.{}.ln_2"},
                                       {"blk.{}.ffn_up", "transformer.h.{}.mlp.c_fc"},
                                       {"blk.{}.ffn_down", "transformer.h.{}.mlp.c_proj"}};

// The architectures, and the class of transformers for each.
struct Architecture {
  std::string_view name;
  const char* of_transformers;
};
constexpr Architecture architectures[] = {{"gpt2", "GPT2LMHeadModel"},
                                          {"llama", "LlamaForCausalLM"},
                                          {"qwen2", "Qwen2ForCausalLM"},
                                          {"qwen3", "Qwen3ForCausalLM"}};

// Returns null for an unknown name.
const Architecture* architecture_named(std::string_view name) {
  const auto* const found = std::ranges::find(architectures, name, &Architecture::name);
  return found == std::end(architectures) ? nullptr : found;
}

// Keys of llama.cpp for what other models have, with the value of a model without them.
constexpr const char* absent_when_0[] = {"attention.clamp_kqv",
                                         "attention.max_alibi_bias",
                                         "attention.scale",
                                         "attention.sliding_window",
                                         "attn_logit_softcapping",
                                         "expert_count",
                                         "expert_group_count",
                                         "expert_group_used_count",
                                         "expert_used_count",
                                         "expert_shared_count",
                                         "final_logit_softcapping",
                                         "leading_dense_block_count",
                                         "pooling_type",
                                         "rope.scaling.yarn_log_multiplier"};
constexpr const char* absent_when_1[] = {"embedding_scale", "logit_scale", "residual_scale", "rope.scaling.attn_factor",
                                         "rope.scaling.yarn_attn_factor"};

constexpr const char* frequencies = "rope_freqs.weight";  // divisors of the rotary embedding's frequencies

const StoredTensor* find_tensor(const GgufFile& file, const std::string& name) {
  const auto found = std::ranges::find(file.tensors(), name, &StoredTensor::name);
  return found == file.tensors().end() ? nullptr : &*found;
}

// The values of an architecture: those below "llama." and so on.
class ConfigValues {
 public:
  explicit ConfigValues(const GgufFile& file) : file_(file) {
    const auto found = file.metadata().find("general.architecture");
    if (found == file.metadata().end() || !found->second.is_string()) wrong("'general.architecture' is missing");
    architecture_ = found->second.get<std::string>();
    if (!architecture_named(architecture_)) {
      std::vector<std::string_view> known;
      for (const Architecture& one : architectures) known.push_back(one.name);
      wrong("the architecture is '{}'; heed reads {}", excerpt(architecture_), fmt::join(known, ", "));
    }
  }

  const std::string& architecture() const { return architecture_; }

  // Returns the value of a key, or null when it is missing.
  Json find(const std::string& key) {
    const std::string name = architecture_ + "." + key;
    known_.push_back(name);
    const auto found = file_.metadata().find(name);
    if (found == file_.metadata().end()) return {};
    Json value = found->second;
    if (value.is_number_float() && !std::isfinite(value.get<double>())) wrong("'{}' must be a finite number", name);
    return value;
  }
  // Returns a number, or null when it is missing.
  Json find_number(const std::string& key) {
    Json value = find(key);
    if (!value.is_null() && !value.is_number()) {
      wrong("'{}.{}' must be a number, got {}", architecture_, key, excerpt(format_json(value)));
    }
    return value;
  }
  Json need(const std::string& key) {
    Json value = find_number(key);
    if (value.is_null()) wrong("'{}.{}', a number, is missing", architecture_, key);
    return value;
  }

  // Refuses another value of a key than the one that changes nothing.
  void expect(const std::string& key, const Json& value) {
    const Json given = find(key);
    if (given.is_null() || given == value) return;
    wrong("'{}.{}': heed supports only {}, got {}", architecture_, key, format_json(value), format_json(given));
  }

  void refuse_others() const {
    for (const auto& [name, value] : file_.metadata()) {
      const bool is_ours = name.starts_with(architecture_ + ".");
      if (!is_ours || std::ranges::find(known_, name) != known_.end()) continue;
      wrong("unknown key '{}': {}. heed cannot tell whether it changes the results", excerpt(name),
            excerpt(format_json(Json(value))));
    }
  }

  template <class... T>
  [[noreturn]] void wrong(fmt::format_string<T...> format, T&&... values) const {
    fail("{}: {}", file_.path(), fmt::format(format, std::forward<T>(values)...));
  }

 private:
  const GgufFile& file_;
  std::string architecture_;
  std::vector<std::string> known_;
};

// Returns rope_scaling, or null without one. As in llama.cpp, a factor without a type is linear, and divides the frequencies
// that a table has divided.
Json rotary_scaling(const GgufFile& file, ConfigValues& values, const Json& context) {
  const Json type_given = values.find("rope.scaling.type"), newer = values.find_number("rope.scaling.factor"),
             older = values.find_number("rope.scale_linear"),
             original = values.find_number("rope.scaling.original_context_length");
  const std::string type = type_given.is_null()     ? "linear"
                           : type_given.is_string() ? type_given.get<std::string>()
                                                    : format_json(type_given);
  if (type != "none" && type != "linear" && type != "yarn") {
    values.wrong("'{}.rope.scaling.type' is '{}'; heed reads none, linear and yarn", values.architecture(),
                 excerpt(type));
  }
  double factor = newer.is_number() ? newer.get<double>() : older.is_number() ? older.get<double>() : 1;
  if (factor == 0 || type == "none") factor = 1;
  if (factor < 0) values.wrong("'{}.rope.scaling.factor' must be above 0, got {}", values.architecture(), factor);
  values.find("rope.scaling.finetuned");
  if (const StoredTensor* table = find_tensor(file, frequencies)) {
    if (type == "yarn") values.wrong("heed cannot combine yarn with the tensor '{}'", frequencies);
    std::vector<double> divisors = file.read(*table).to_vector();
    for (double& divisor : divisors) divisor *= factor;
    return {{"rope_type", "longrope"},  {"factor", 1.0},           {"attention_factor", 1.0},
            {"short_factor", divisors}, {"long_factor", divisors}, {"original_max_position_embeddings", context}};
  }
  if (type == "linear" && factor != 1) return {{"rope_type", "linear"}, {"factor", factor}};
  if (type == "yarn") {
    Json yarn{{"rope_type", "yarn"}, {"factor", factor}};
    if (!original.is_null()) yarn["original_max_position_embeddings"] = original;
    return yarn;
  }
  return {};
}

Json llama_config(const GgufFile& file, ConfigValues& values, const Json& vocabulary) {
  const Json heads = values.need("attention.head_count"), d_model = values.need("embedding_length"),
             context = values.need("context_length");
  Json config{{"model_type", values.architecture()},
              {"hidden_size", d_model},
              {"num_hidden_layers", values.need("block_count")},
              {"num_attention_heads", heads},
              {"intermediate_size", values.need("feed_forward_length")},
              {"vocab_size", vocabulary},
              {"max_position_embeddings", context},
              {"rms_norm_eps", values.need("attention.layer_norm_rms_epsilon")},
              {"tie_word_embeddings", !find_tensor(file, "output.weight")}};
  const Json kv_heads = values.find_number("attention.head_count_kv"),
             head = values.find_number("attention.key_length"), value = values.find_number("attention.value_length"),
             base = values.find_number("rope.freq_base"), rotated = values.find_number("rope.dimension_count");
  if (!kv_heads.is_null()) config["num_key_value_heads"] = kv_heads;
  if (!base.is_null()) config["rope_theta"] = base;
  const Json head_dim = !head.is_null() ? head : rotated;
  if (!head_dim.is_null()) config["head_dim"] = head_dim;
  if ((!value.is_null() && value != head_dim) || (!rotated.is_null() && rotated != head_dim)) {
    values.wrong("keys, values and rotated features of a head must be equally many");
  }
  if (values.architecture() != "qwen2") config["attention_bias"] = find_tensor(file, "blk.0.attn_q.bias") != nullptr;
  if (values.architecture() == "llama") config["mlp_bias"] = find_tensor(file, "blk.0.ffn_gate.bias") != nullptr;
  if (const Json scaling = rotary_scaling(file, values, context); !scaling.is_null()) config["rope_scaling"] = scaling;
  return config;
}

Json gpt2_config(const GgufFile& file, ConfigValues& values, const Json& vocabulary) {
  return {{"model_type", "gpt2"},
          {"n_embd", values.need("embedding_length")},
          {"n_layer", values.need("block_count")},
          {"n_head", values.need("attention.head_count")},
          {"n_inner", values.need("feed_forward_length")},
          {"n_positions", values.need("context_length")},
          {"vocab_size", vocabulary},
          {"layer_norm_epsilon", values.need("attention.layer_norm_epsilon")},
          {"tie_word_embeddings", !find_tensor(file, "output.weight")}};
}

// "blk.3.attn_q.weight" -> "blk.{}.attn_q" and 3, ".weight"
struct DividedName {
  std::string pattern, layer, ending;
};
DividedName divided_name(const std::string& name) {
  DividedName divided{name, "", ""};
  const std::size_t dot = name.rfind('.');
  if (dot == name.npos) return divided;
  divided.ending = name.substr(dot);
  divided.pattern = name.substr(0, dot);
  if (!divided.pattern.starts_with("blk.")) return divided;
  const std::size_t end = std::min(divided.pattern.find('.', 4), divided.pattern.size());
  divided.layer = divided.pattern.substr(4, end - 4);
  divided.pattern = "blk.{}" + divided.pattern.substr(end);
  return divided;
}

template <std::size_t N>
std::string translated(const TensorPair (&pairs)[N], const std::string& name) {
  const DividedName divided = divided_name(name);
  const auto* pair = std::ranges::find_if(pairs, [&](const TensorPair& p) { return divided.pattern == p.gguf; });
  if (pair == std::end(pairs)) return name;
  std::string result = pair->hugging_face;
  if (const std::size_t at = result.find("{}"); at != result.npos) result.replace(at, 2, divided.layer);
  return result + divided.ending;
}

}  // namespace

Json config_of_gguf(const GgufFile& file) {
  ConfigValues values(file);
  if (file.text("general.type") == "adapter") {
    values.wrong("it is an adapter, not a model; llama-export-lora merges it with its base model");
  }
  if (file.tensors().empty()) values.wrong("it has a vocabulary, but no tensors");
  const StoredTensor* embeddings = find_tensor(file, "token_embd.weight");
  if (!embeddings || embeddings->shape.rank() != 2) values.wrong("tensor 'token_embd.weight', a matrix, is missing");
  const Json vocabulary = embeddings->shape[0];
  values.find("vocab_size");
  values.expect("tensor_data_layout", "Meta AI original pth");  // the order of rotary pairs in llama's files
  values.expect("attention.causal", true);
  values.expect("use_parallel_residual", false);
  for (const char* key : absent_when_0) values.expect(key, 0);
  for (const char* key : absent_when_1) values.expect(key, 1);
  Json config =
      values.architecture() == "gpt2" ? gpt2_config(file, values, vocabulary) : llama_config(file, values, vocabulary);
  values.refuse_others();
  for (const char* key :
       {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"}) {
    const auto id = file.metadata().find(key);
    if (id == file.metadata().end()) continue;
    if (!id->second.is_number_integer()) values.wrong("'{}' must be the id of a token", key);
    config["eos_token_id"].push_back(id->second.get<std::int64_t>());
  }
  config["architectures"] = {architecture_named(values.architecture())->of_transformers};
  return config;
}

std::string name_in_gguf(const std::string& architecture, const std::string& hugging_face) {
  const std::size_t dot = hugging_face.rfind('.');
  std::string pattern = hugging_face.substr(0, dot), layer;
  for (const std::string_view prefix : {"model.layers.", "transformer.h."}) {
    if (!pattern.starts_with(prefix)) continue;
    const std::size_t end = std::min(pattern.find('.', prefix.size()), pattern.size());
    layer = pattern.substr(prefix.size(), end - prefix.size());
    pattern = std::string(prefix) + "{}" + pattern.substr(end);
  }
  const std::span<const TensorPair> pairs =
      architecture == "gpt2" ? std::span<const TensorPair>(gpt2_tensors) : std::span<const TensorPair>(llama_tensors);
  const auto pair = std::ranges::find_if(pairs, [&](const TensorPair& p) { return pattern == p.hugging_face; });
  if (pair == pairs.end() || dot == hugging_face.npos) return "";
  std::string result = pair->gguf;
  if (const std::size_t at = result.find("{}"); at != result.npos) result.replace(at, 2, layer);
  return result + hugging_face.substr(dot);
}

std::vector<GgufTensor> tensors_of_gguf(const GgufFile& file, const Json& config) {
  const bool is_gpt2 = config["model_type"] == "gpt2", is_llama = config["model_type"] == "llama";
  std::vector<GgufTensor> tensors;
  for (std::size_t index = 0; index < file.tensors().size(); ++index) {
    GgufTensor tensor{file.tensors()[index], index, false, 0};
    StoredTensor& stored = tensor.stored;
    if (stored.name == frequencies) continue;
    const DividedName name = divided_name(stored.name);
    const bool is_query = name.pattern == "blk.{}.attn_q", is_key = name.pattern == "blk.{}.attn_k";
    if (is_llama && (is_query || is_key)) {
      const char* key =
          is_key && config.contains("num_key_value_heads") ? "num_key_value_heads" : "num_attention_heads";
      tensor.permuted_heads = config[key].is_number_integer() ? config[key].get<std::int64_t>() : 0;
    }
    tensor.is_transposed = is_gpt2 && name.pattern.starts_with("blk.") && stored.shape.rank() == 2;
    if (tensor.is_transposed) std::swap(stored.shape[0], stored.shape[1]);
    stored.name = is_gpt2 ? translated(gpt2_tensors, stored.name) : translated(llama_tensors, stored.name);
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace heed
