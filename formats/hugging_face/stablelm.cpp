// Decoders with rotary embeddings, as LLaMA has them, and with LayerNorm, as GPT-2 has it.
#include "formats/hugging_face/family.h"

#include <algorithm>

namespace heed {
namespace {

// Reads the shape that these families share. `key_heads` is the number of key heads where the file says nothing, by default that
// of the heads, and `epsilon` the name of the constant of the norms.
PretrainedConfig read_layer_norm_shape(ConfigReader& json, std::optional<int> key_heads, const char* epsilon) {
  PretrainedConfig config;
  TransformerConfig& t = config.transformer = read_sizes(json, gpt2);
  AttentionConfig& attention = t.block.attention;
  attention.kv_heads =
      json.integer("num_key_value_heads", 1, key_heads.value_or(t.heads()), key_heads ? Null::wrong : Null::missing);
  check_key_heads(json, attention);
  t.block.mlp.width = json.integer("intermediate_size", 1);
  t.block.norm.epsilon = json.positive(epsilon, 1e-5);
  return config;
}

void read_head_size(ConfigReader& json, TransformerConfig& t) {
  AttentionConfig& attention = t.block.attention;
  attention.d_k = attention.d_v = json.integer("head_dim", 1, std::max(1, t.d_model() / t.heads()), Null::missing);
}

PretrainedConfig read_starcoder2(ConfigReader& json) {
  PretrainedConfig config = read_layer_norm_shape(json, 2, "norm_epsilon");
  TransformerConfig& t = config.transformer;
  AttentionConfig& attention = t.block.attention;
  read_head_size(json, t);
  attention.bias = attention.output_bias = t.block.mlp.bias = json.bias("use_bias", true);
  attention.window = json.integer("sliding_window", 1, 0, Null::missing);
  t.block.mlp.activation = json.activation("hidden_act", "gelu_pytorch_tanh");
  read_rotary(json, t, 10000);
  config.logits.tied = json.flag("tie_word_embeddings", true);
  json.expect("mlp_type", "default"), json.expect("norm_type", "layer_norm"), json.expect("scale_attn_weights", true);
  json.ignore({"attention_softmax_in_fp32", "embedding_dropout", "layer_norm_epsilon", "residual_dropout",
               "rms_norm_eps", "scale_attention_softmax_in_fp32"});  // norm_epsilon counts
  return config;
}

PretrainedConfig read_stablelm(ConfigReader& json) {
  PretrainedConfig config = read_layer_norm_shape(json, 32, "layer_norm_eps");
  TransformerConfig& t = config.transformer;
  json.expect_integer("head_dim", t.d_model() / t.heads());
  t.block.attention.bias = json.bias("use_qkv_bias", false);
  t.block.attention.output_bias = t.block.mlp.bias = false;
  t.block.parallel = t.block.shared_norm = json.flag("use_parallel_residual", false);
  t.block.mlp.activation = json.activation("hidden_act", "silu");
  t.block.mlp.gated = true;
  read_rotary(json, t, 10000, {.fraction = 0.25, .is_partial = true});
  config.logits.tied = json.flag("tie_word_embeddings", false);
  json.expect("qk_layernorm", false);
  return config;
}

PretrainedConfig read_phi(ConfigReader& json) {
  PretrainedConfig config = read_layer_norm_shape(json, {}, "layer_norm_eps");
  TransformerConfig& t = config.transformer;
  read_head_size(json, t);
  t.block.parallel = t.block.shared_norm = true;
  t.block.mlp.activation = json.activation("hidden_act", "gelu_new");
  read_rotary(json, t, 10000, {.fraction = 0.5, .is_partial = true});
  config.logits = {.tied = json.flag("tie_word_embeddings", false), .bias = true};
  json.expect("qk_layernorm", false);
  return config;
}

// Returns the names that StarCoder2 and Phi share.
TensorNames common_code_names() {
  TensorNames names;
  names.same("embed_tokens.weight", "words.weight")
      .norm("layers.{}.input_layernorm", "encoder.{}.attention_norm")
      .linear("layers.{}.self_attn.q_proj", {"encoder.{}.attention.W_Q"})
      .linear("layers.{}.self_attn.k_proj", {"encoder.{}.attention.W_K"})
      .linear("layers.{}.self_attn.v_proj", {"encoder.{}.attention.W_V"})
      .logits("lm_head.weight");
  return names;
}

}  // namespace

Family starcoder2_family() {
  Family family{{"starcoder2"}, read_starcoder2, {"model."}, common_code_names(), {}};
  family.tensors.linear("layers.{}.self_attn.o_proj", {"encoder.{}.attention.W_O"})
      .norm("layers.{}.post_attention_layernorm", "encoder.{}.mlp.norm")
      .norm("norm", "encoder.norm")
      .linear("layers.{}.mlp.c_fc", {"encoder.{}.mlp.in"})
      .linear("layers.{}.mlp.c_proj", {"encoder.{}.mlp.out"});
  return family;
}

Family stablelm_family() {
  return {{"stablelm"}, read_stablelm, {"model."}, llama_names(), {"layers.{}.self_attn.rotary_emb.inv_freq"}};
}

Family phi_family() {
  Family family{{"phi"}, read_phi, {"model."}, common_code_names(), {"layers.{}.self_attn.rotary_emb.inv_freq"}};
  family.tensors.linear("layers.{}.self_attn.dense", {"encoder.{}.attention.W_O"})
      .linear("layers.{}.mlp.fc1", {"encoder.{}.mlp.in"})
      .linear("layers.{}.mlp.fc2", {"encoder.{}.mlp.out"})
      .norm("final_layernorm", "encoder.norm")
      .head()
      .same("lm_head.bias", "output_bias");
  return family;
}

}  // namespace heed
