#include "formats/hugging_face/family.h"

#include <heed/files/utf8.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

// Values of keys that a file of the family leaves out.
struct LlamaDefaults {
  std::optional<int> head_dim{}, kv_heads{};  // d_model / heads, and as many as heads
  double epsilon = 1e-6;
  std::optional<int> max_length{};  // the file must say it
};

// Reads the shape that LLaMA and its relatives share.
PretrainedConfig read_llama_shape(ConfigReader& json, const LlamaDefaults& defaults = {}) {
  PretrainedConfig config;
  const int heads = json.integer("num_attention_heads", 1), d_model = json.integer("hidden_size", 1);
  const int kv_heads =
      json.has("num_key_value_heads") ? heads : defaults.kv_heads.value_or(heads);  // a null means heads
  TransformerConfig& t = config.transformer = llama(json.integer("num_hidden_layers", 1), heads,
                                                    json.integer("num_key_value_heads", 1, kv_heads, Null::missing),
                                                    d_model, json.integer("intermediate_size", 1));
  AttentionConfig& attention = t.block.attention;
  attention.d_k = attention.d_v = json.integer("head_dim", 1, defaults.head_dim.value_or(std::max(1, d_model / heads)),
                                               defaults.head_dim ? Null::wrong : Null::missing);
  check_key_heads(json, attention);
  t.vocabulary = json.integer("vocab_size", 1);
  t.max_length = json.integer("max_position_embeddings", 1, defaults.max_length);
  t.block.norm.epsilon = json.positive("rms_norm_eps", defaults.epsilon);
  attention.query_key = t.block.norm;
  return config;
}

void read_attention_bias(ConfigReader& json, TransformerConfig& t) {
  t.block.attention.bias = t.block.attention.output_bias = json.bias("attention_bias", false);
}

// Accepts a list of layer types that says what the family computes: full attention in every layer.
void expect_full_attention(ConfigReader& json, const TransformerConfig& t) {
  const Json* types = json.find("layer_types");
  if (types && *types != Json(static_cast<std::size_t>(t.layers), "full_attention"))
    json.note(fmt::format("'layer_types': heed supports only \"full_attention\" in each of {}, got {}",
                          counted(t.layers, "layer"), excerpt(format_json(*types))));
}

PretrainedConfig read_llama(ConfigReader& json) {
  PretrainedConfig config = read_llama_shape(json, {.max_length = 2048});  // the first releases leave out the length
  TransformerConfig& t = config.transformer;
  t.block.mlp.activation = json.activation("hidden_act", "silu");
  t.block.mlp.gated = true;
  t.block.mlp.bias = json.bias("mlp_bias", false);
  read_attention_bias(json, t);
  expect_full_attention(json, t);
  read_rotary(json, t, 10000);
  config.logits.tied = json.flag("tie_word_embeddings", false);
  json.expect("rope_interleaved", false);
  json.ignore({"is_llama_config"});
  return config;
}

// Reads Arcee, a LLaMA whose MLP has no gate.
PretrainedConfig read_arcee(ConfigReader& json) {
  PretrainedConfig config = read_llama_shape(json, {.epsilon = 1e-5});
  TransformerConfig& t = config.transformer;
  t.block.mlp.activation = json.activation("hidden_act", "relu2");
  t.block.mlp.gated = false;
  t.block.mlp.bias = json.bias("mlp_bias", false);
  read_attention_bias(json, t);
  read_rotary(json, t, 10000);
  config.logits.tied = json.flag("tie_word_embeddings", false);
  return config;
}

// Reads Granite, a LLaMA with four factors: of the embeddings, the scores, what each part adds, and the logits.
PretrainedConfig read_granite(ConfigReader& json) {
  PretrainedConfig config = read_llama_shape(json, {.max_length = 2048});
  TransformerConfig& t = config.transformer;
  t.block.mlp.activation = json.activation("hidden_act", "silu");
  t.block.mlp.gated = true;
  t.block.mlp.bias = json.bias("mlp_bias", false);
  read_attention_bias(json, t);
  read_rotary(json, t, 10000);
  t.embedding_scale = json.positive("embedding_multiplier", 1);
  t.block.attention.scale = json.positive("attention_multiplier", 1);
  t.block.residual_scale = json.positive("residual_multiplier", 1);
  config.logits = {.tied = json.flag("tie_word_embeddings", false), .scale = 1 / json.positive("logits_scaling", 1)};
  return config;
}

// Returns whether each layer of SmolLM3 rotates: no_rope_layers has a 0 for each that does not, or every n-th does not.
std::vector<bool> rotated_layers(ConfigReader& json, int layers) {
  const int every = json.integer("no_rope_layer_interval", 1, 4);
  const Json* const given = json.find("no_rope_layers");
  const auto is_flag = [](const Json& entry) { return entry.is_number_integer() && (entry == 0 || entry == 1); };
  if (given && !(given->is_array() && std::ssize(*given) >= layers && std::ranges::all_of(*given, is_flag))) {
    json.note(fmt::format("'no_rope_layers' must be a list of 0 and 1, one per layer, for {} layers", layers));
    return std::vector<bool>(static_cast<std::size_t>(layers), true);
  }
  std::vector<bool> rotated;
  for (int layer = 0; layer < layers; ++layer) {
    rotated.push_back(given ? (*given)[static_cast<std::size_t>(layer)] == 1 : (layer + 1) % every != 0);
  }
  return rotated;
}

PretrainedConfig read_smollm3(ConfigReader& json) {
  PretrainedConfig config = read_llama_shape(json, {.kv_heads = 4});
  TransformerConfig& t = config.transformer;
  t.block.mlp.activation = json.activation("hidden_act", "silu");
  t.block.mlp.gated = true;
  t.block.mlp.bias = json.bias("mlp_bias", false);
  read_attention_bias(json, t);
  const std::vector<bool> rotated = rotated_layers(json, t.layers);
  for (int layer = 0; layer < t.layers; ++layer) {
    if (!rotated[static_cast<std::size_t>(layer)]) t.unrotated_layers.push_back(layer);
  }
  const bool uses_windows = json.flag("use_sliding_window", false);
  const bool has_windows = uses_windows && json.has("sliding_window", Null::missing);
  read_windows(json, t, [&](int layer) { return has_windows && !rotated[static_cast<std::size_t>(layer)]; });
  if (t.block.attention.window > 0 && !uses_windows)  // with which some kernels of transformers see all tokens
    json.note("'use_sliding_window': heed supports only true where layer_types has windows");
  read_rotary(json, t, 2000000);
  config.logits.tied = json.flag("tie_word_embeddings", true);
  json.ignore({"max_window_layers"});
  return config;
}

PretrainedConfig read_mistral(ConfigReader& json) {
  PretrainedConfig config = read_llama_shape(json);
  TransformerConfig& t = config.transformer;
  t.block.mlp.activation = json.activation("hidden_act", "silu");
  t.block.mlp.gated = true;
  t.block.attention.window = json.integer("sliding_window", 1, json.has("sliding_window") ? 0 : 4096, Null::missing);
  read_rotary(json, t, 10000);
  config.logits.tied = json.flag("tie_word_embeddings", false);
  return config;
}

// Reads the windows of Qwen: layers from max_window_layers on have one if use_sliding_window is set.
void read_qwen_windows(ConfigReader& json, TransformerConfig& t) {
  const bool has_windows = json.flag("use_sliding_window", false);
  const int first = json.integer("max_window_layers", 0, 28);
  read_windows(json, t, [&](int layer) { return has_windows && layer >= first; });
}

// Reads Qwen2, which has biases of queries, keys and values that its configuration does not mention.
PretrainedConfig read_qwen2(ConfigReader& json) {
  PretrainedConfig config = read_llama_shape(json);
  TransformerConfig& t = config.transformer;
  t.block.mlp.activation = json.activation("hidden_act", "silu");
  t.block.mlp.gated = true;
  t.block.attention.bias = true;
  read_qwen_windows(json, t);
  read_rotary(json, t, 10000);
  config.logits.tied = json.flag("tie_word_embeddings", false);
  json.expect("use_mrope", false);
  return config;
}

PretrainedConfig read_qwen3(ConfigReader& json) {
  PretrainedConfig config = read_llama_shape(json, {.head_dim = 128});
  TransformerConfig& t = config.transformer;
  t.block.mlp.activation = json.activation("hidden_act", "silu");
  t.block.mlp.gated = true;
  t.block.attention.query_key_norm = QueryKeyNorm::heads;
  read_attention_bias(json, t);
  read_qwen_windows(json, t);
  read_rotary(json, t, 10000);
  config.logits.tied = json.flag("tie_word_embeddings", false);
  return config;
}

// Reads what OLMo 2 and 3 share: norms of the outputs, and of the queries and the keys of all heads together.
PretrainedConfig read_olmo(ConfigReader& json) {
  PretrainedConfig config = read_llama_shape(json, {.epsilon = 1e-5});
  TransformerConfig& t = config.transformer;
  t.block.placement = NormPlacement::output;
  t.block.mlp.activation = json.activation("hidden_act", "silu");
  t.block.mlp.gated = true;
  t.block.attention.query_key_norm = QueryKeyNorm::all;
  read_attention_bias(json, t);
  config.logits.tied = json.flag("tie_word_embeddings", false);
  return config;
}

PretrainedConfig read_olmo2(ConfigReader& json) {
  PretrainedConfig config = read_olmo(json);
  expect_full_attention(json, config.transformer);
  read_rotary(json, config.transformer, 10000);
  return config;
}

// Reads OLMo 3, which scales the positions in layers without a window alone.
PretrainedConfig read_olmo3(ConfigReader& json) {
  PretrainedConfig config = read_olmo(json);
  TransformerConfig& t = config.transformer;
  read_windows(json, t, [](int layer) { return (layer + 1) % 4 != 0; });
  const int base = 500000;
  json.expect("rope_theta", base);  // for layers with a window, versions of transformers differ about another one
  t.window_rotary_base = base;
  read_rotary(json, t, base, {.by_layer_type = true});
  return config;
}

PretrainedConfig read_phi3(ConfigReader& json) {
  PretrainedConfig config = read_llama_shape(json, {.epsilon = 1e-5});
  TransformerConfig& t = config.transformer;
  t.block.mlp.activation = json.activation("hidden_act", "silu");
  t.block.mlp.gated = true;
  t.block.attention.window = json.integer("sliding_window", 1, 0, Null::missing);
  for (const char* key : {"attention_bias", "mlp_bias", "lm_head_bias"}) json.expect(key, false);
  json.ignore({"full_attn_mod", "interpolate_factor"});
  read_rotary(json, t, 10000, {.is_partial = true, .yarn_is_longrope = true, .original_length = 4096});
  config.logits.tied = json.flag("tie_word_embeddings", false);
  return config;
}

// Reads what all versions of Gemma share: gains of 1 + weight, and embeddings that are multiplied by sqrt(d_model).
PretrainedConfig read_gemma_shape(ConfigReader& json) {
  PretrainedConfig config = read_llama_shape(json, {.head_dim = 256});
  TransformerConfig& t = config.transformer;
  t.embedding_scale = std::sqrt(t.d_model());
  t.block.norm.gain_offset = t.block.attention.query_key.gain_offset = true;
  read_attention_bias(json, t);
  config.logits.tied = json.flag("tie_word_embeddings", true);
  json.expect("use_bidirectional_attention", false);
  return config;
}

PretrainedConfig read_gemma(ConfigReader& json) {
  PretrainedConfig config = read_gemma_shape(json);
  TransformerConfig& t = config.transformer;
  const std::string tanh = "gelu_pytorch_tanh", name = json.text("hidden_act", tanh);
  const Activation activation = json.activation("hidden_act", tanh);
  const bool is_gelu = name == "gelu";  // in the official releases, where it means the approximation
  t.block.mlp.activation = is_gelu ? Activation::gelu_tanh : activation;
  t.block.mlp.gated = true;
  json.expect("hidden_activation", is_gelu ? tanh : name);  // some versions of transformers read it
  read_rotary(json, t, 10000);
  return config;
}

// Reads what Gemma 2 and 3 share: norms before and after each part.
PretrainedConfig read_later_gemma(ConfigReader& json) {
  PretrainedConfig config = read_gemma_shape(json);
  TransformerConfig& t = config.transformer;
  t.block.placement = NormPlacement::both;
  t.block.mlp.activation = json.activation("hidden_activation", "gelu_pytorch_tanh");
  t.block.mlp.gated = true;
  t.block.attention.scale = 1 / std::sqrt(json.positive("query_pre_attn_scalar", 256));
  return config;
}

PretrainedConfig read_gemma2(ConfigReader& json) {
  PretrainedConfig config = read_later_gemma(json);
  TransformerConfig& t = config.transformer;
  t.block.attention.soft_cap = json.positive_or_none("attn_logit_softcapping", 50);
  config.logits.soft_cap = json.positive_or_none("final_logit_softcapping", 30);
  read_windows(
      json, t, [](int layer) { return layer % 2 == 0; }, json.integer("sliding_window", 1, 4096));
  json.ignore({"sliding_window_size"});  // of the first release; sliding_window counts
  read_rotary(json, t, 10000);
  return config;
}

PretrainedConfig read_gemma3(ConfigReader& json) {
  PretrainedConfig config = read_later_gemma(json);
  TransformerConfig& t = config.transformer;
  t.block.attention.query_key_norm = QueryKeyNorm::heads;
  json.ignore({"attn_logit_softcapping"});  // transformers applies it in Gemma 2 alone
  config.logits.soft_cap = json.positive_or_none("final_logit_softcapping", 0);
  const int every = json.integer("sliding_window_pattern", 1, json.integer("_sliding_window_pattern", 1, 6));
  read_windows(
      json, t, [&](int layer) { return (layer + 1) % every != 0; }, json.integer("sliding_window", 1, 4096));
  t.window_rotary_base = json.positive("rope_local_base_freq", 10000);
  read_rotary(json, t, 1000000, {.by_layer_type = true});
  return config;
}

TensorNames common_names() {
  TensorNames names;
  names.same("embed_tokens.weight", "words.weight")
      .linear("layers.{}.self_attn.o_proj", {"encoder.{}.attention.W_O"})
      .linear("layers.{}.mlp.down_proj", {"encoder.{}.mlp.out"})
      .norm("norm", "encoder.norm")
      .logits("lm_head.weight");
  return names;
}

// Returns the projections of LLaMA, each in its own tensor.
TensorNames separate_projections() {
  TensorNames names = common_names();
  names.linear("layers.{}.self_attn.q_proj", {"encoder.{}.attention.W_Q"})
      .linear("layers.{}.self_attn.k_proj", {"encoder.{}.attention.W_K"})
      .linear("layers.{}.self_attn.v_proj", {"encoder.{}.attention.W_V"})
      .norm("layers.{}.self_attn.q_norm", "encoder.{}.attention.q_norm")
      .norm("layers.{}.self_attn.k_norm", "encoder.{}.attention.k_norm")
      .linear("layers.{}.mlp.gate_proj", {"encoder.{}.mlp.gate"})
      .linear("layers.{}.mlp.up_proj", {"encoder.{}.mlp.in"});
  return names;
}

// Adds the norms before each part.
TensorNames norms_before(TensorNames names) {
  names.norm("layers.{}.input_layernorm", "encoder.{}.attention_norm")
      .norm("layers.{}.post_attention_layernorm", "encoder.{}.mlp.norm");
  return names;
}

Family llama_like(const char* model_type, PretrainedConfig (*read)(ConfigReader&), TensorNames names) {
  return {
      {model_type}, read, {"model.", "transformer."}, std::move(names), {"layers.{}.self_attn.rotary_emb.inv_freq"}};
}

}  // namespace

TensorNames llama_names() { return norms_before(separate_projections()); }

Family llama_family() { return llama_like("llama", read_llama, llama_names()); }
Family arcee_family() { return llama_like("arcee", read_arcee, llama_names()); }
Family granite_family() { return llama_like("granite", read_granite, llama_names()); }
Family smollm3_family() { return llama_like("smollm3", read_smollm3, llama_names()); }
Family mistral_family() { return llama_like("mistral", read_mistral, llama_names()); }
Family qwen2_family() { return llama_like("qwen2", read_qwen2, llama_names()); }
Family qwen3_family() { return llama_like("qwen3", read_qwen3, llama_names()); }

static TensorNames olmo_names() {
  TensorNames names = separate_projections();
  names.norm("layers.{}.post_attention_layernorm", "encoder.{}.attention_norm")
      .norm("layers.{}.post_feedforward_layernorm", "encoder.{}.mlp.norm");
  return names;
}

Family olmo2_family() { return llama_like("olmo2", read_olmo2, olmo_names()); }
Family olmo3_family() { return llama_like("olmo3", read_olmo3, olmo_names()); }

Family phi3_family() {
  TensorNames names = norms_before(common_names());
  names
      .linear("layers.{}.self_attn.qkv_proj",
              {"encoder.{}.attention.W_Q", "encoder.{}.attention.W_K", "encoder.{}.attention.W_V"})
      .linear("layers.{}.mlp.gate_up_proj", {"encoder.{}.mlp.gate", "encoder.{}.mlp.in"});
  return llama_like("phi3", read_phi3, names);
}

Family gemma_family() { return llama_like("gemma", read_gemma, llama_names()); }

static TensorNames later_gemma_names() {
  TensorNames names = separate_projections();
  names.norm("layers.{}.input_layernorm", "encoder.{}.attention_norm")
      .norm("layers.{}.post_attention_layernorm", "encoder.{}.output_attention_norm")
      .norm("layers.{}.pre_feedforward_layernorm", "encoder.{}.mlp.norm")
      .norm("layers.{}.post_feedforward_layernorm", "encoder.{}.mlp.output_norm");
  return names;
}

Family gemma2_family() { return llama_like("gemma2", read_gemma2, later_gemma_names()); }
Family gemma3_family() {
  Family family = llama_like("gemma3_text", read_gemma3, later_gemma_names());
  family.prefixes = {"model.", "language_model.", "model."};  // with an image encoder in either order
  family.ignored.insert(family.ignored.end(), {"vision_tower.*", "multi_modal_projector.*"});
  return family;
}

}  // namespace heed
