#include "models/formats/hugging_face/family.h"

namespace heed {
namespace {

PretrainedConfig read_gpt2(ConfigReader& json) {
  PretrainedConfig config;
  TransformerConfig& t = config.transformer =
      gpt2(json.integer("n_layer", 1), json.integer("n_head", 1), json.integer("n_embd", 1));
  t.vocabulary = json.integer("vocab_size", 1);
  t.max_length = json.integer("n_positions", 1);
  t.block.mlp.width = json.integer("n_inner", 1, 4 * t.d_model(), Null::missing);
  t.block.mlp.activation = json.activation("activation_function", "gelu_new");
  t.block.norm.epsilon = json.positive("layer_norm_epsilon", 1e-5);
  if (!json.flag("scale_attn_weights", true)) t.block.attention.scale = 1;
  t.divide_scores_by_layer = json.flag("scale_attn_by_inverse_layer_idx", false);
  config.logits.tied = json.flag("tie_word_embeddings", true);
  json.expect("add_cross_attention", false);
  json.ignore({"n_ctx", "reorder_and_upcast_attn", "summary_activation", "summary_first_dropout",
               "summary_proj_to_labels", "summary_type", "summary_use_proj"});
  return config;
}

PretrainedConfig read_gpt_neox(ConfigReader& json) {
  PretrainedConfig config;
  TransformerConfig& t = config.transformer = gpt2(
      json.integer("num_hidden_layers", 1), json.integer("num_attention_heads", 1), json.integer("hidden_size", 1));
  t.vocabulary = json.integer("vocab_size", 1);
  t.max_length = json.integer("max_position_embeddings", 1);
  t.block.mlp.width = json.integer("intermediate_size", 1);
  t.block.mlp.activation = json.activation("hidden_act", "gelu");
  t.block.norm.epsilon = json.positive("layer_norm_eps", 1e-5);
  t.block.parallel = json.flag("use_parallel_residual", true);
  t.block.attention.bias = t.block.attention.output_bias = json.flag("attention_bias", true) ? Bias::yes : Bias::no;
  read_rotary(json, t, json.positive("rotary_emb_base", 10000),
              {.fraction = json.positive("rotary_pct", 0.25), .is_partial = true, .is_named_apart = true});
  config.logits.tied = json.flag("tie_word_embeddings", false);
  json.expect("is_decoder", false);
  return config;
}

}  // namespace

Family gpt2_family() {
  Family family{
      {"gpt2"}, read_gpt2, {"transformer."}, {}, {"h.{}.attn.bias", "h.{}.attn.masked_bias", "multiple_choice_head.*"}};
  family.tensors.same("wte.weight", "words.weight")
      .same("wpe.weight", "positions.weight")
      .norm("h.{}.ln_1", "encoder.{}.attention_norm")
      .linear_in_out("h.{}.attn.c_attn",
                     {"encoder.{}.attention.W_Q", "encoder.{}.attention.W_K", "encoder.{}.attention.W_V"})
      .linear_in_out("h.{}.attn.c_proj", {"encoder.{}.attention.W_O"})
      .norm("h.{}.ln_2", "encoder.{}.mlp.norm")
      .linear_in_out("h.{}.mlp.c_fc", {"encoder.{}.mlp.in"})
      .linear_in_out("h.{}.mlp.c_proj", {"encoder.{}.mlp.out"})
      .norm("ln_f", "encoder.norm")
      .logits("lm_head.weight");
  return family;
}

Family gpt_neox_family() {
  Family family{
      {"gpt_neox"},
      read_gpt_neox,
      {"gpt_neox."},
      {},
      {"layers.{}.attention.bias", "layers.{}.attention.masked_bias", "layers.{}.attention.rotary_emb.inv_freq"}};
  family.tensors.same("embed_in.weight", "words.weight")
      .norm("layers.{}.input_layernorm", "encoder.{}.attention_norm")
      .linear_by_head("layers.{}.attention.query_key_value",
                      {"encoder.{}.attention.W_Q", "encoder.{}.attention.W_K", "encoder.{}.attention.W_V"})
      .linear("layers.{}.attention.dense", {"encoder.{}.attention.W_O"})
      .norm("layers.{}.post_attention_layernorm", "encoder.{}.mlp.norm")
      .linear("layers.{}.mlp.dense_h_to_4h", {"encoder.{}.mlp.in"})
      .linear("layers.{}.mlp.dense_4h_to_h", {"encoder.{}.mlp.out"})
      .norm("final_layer_norm", "encoder.norm")
      .logits("embed_out.weight")
      .logits("lm_head.weight");
  return family;
}

}  // namespace heed
