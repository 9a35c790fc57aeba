#include "formats/hugging_face/family.h"

#include <heed/files/utf8.h>

#include <fmt/format.h>

#include <vector>

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
  json.ignore({"reorder_and_upcast_attn"});
  return config;
}

// Returns for each layer of GPT-Neo whether its attention is local: attention_layers has the kind of each layer, or
// attention_types has lists of kinds, each with the number of its repetitions.
std::vector<bool> local_layers(ConfigReader& json, int layers) {
  const Json *const in_order = json.find("attention_layers"), *const grouped = json.find("attention_types");
  const char* const key = in_order ? "attention_layers" : "attention_types";
  const Json types = in_order  ? Json::array({Json::array({*in_order, 1})})
                     : grouped ? *grouped
                               : Json::array({Json::array({{"global", "local"}, 12})});
  std::vector<bool> local;
  bool is_valid = types.is_array();
  for (std::size_t i = 0; is_valid && i < types.size(); ++i) {
    const Json& group = types[i];
    is_valid = group.is_array() && group.size() == 2 && group[0].is_array() && !group[0].empty() &&
               group[1].is_number_integer();
    for (int n = 0; is_valid && n < group[1] && std::ssize(local) <= layers; ++n) {
      for (const Json& kind : group[0]) {
        local.push_back(kind == "local");
        is_valid = is_valid && (kind == "local" || kind == "global");
      }
    }
  }
  if (!is_valid || std::ssize(local) != layers) {
    json.note(fmt::format("'{}' must give {} layers, each \"global\" or \"local\", got {}", key, layers,
                          excerpt(format_json(in_order ? *in_order : types))));
    local.assign(static_cast<std::size_t>(layers), false);
  }
  return local;
}

// Reads GPT-Neo, which does not scale its scores, and which adds a bias to the output of its attention alone.
PretrainedConfig read_gpt_neo(ConfigReader& json) {
  PretrainedConfig config;
  TransformerConfig& t = config.transformer =
      gpt2(json.integer("num_layers", 1), json.integer("num_heads", 1), json.integer("hidden_size", 1));
  t.vocabulary = json.integer("vocab_size", 1);
  t.max_length = json.integer("max_position_embeddings", 1);
  t.block.attention.scale = 1;
  t.block.attention.bias = false;
  const std::vector<bool> local = local_layers(json, t.layers);
  set_windows(t, json.integer("window_size", 1, 256), local);
  t.block.mlp.width = json.integer("intermediate_size", 1, 4 * t.d_model(), Null::missing);
  t.block.mlp.activation = json.activation("activation_function", "gelu_new");
  t.block.norm.epsilon = json.positive("layer_norm_epsilon", 1e-5);
  config.logits.tied = json.flag("tie_word_embeddings", true);
  json.ignore({"embed_dropout", "resid_dropout"});
  return config;
}

// Reads OPT, whose positions begin at row 2. The size of 350M normalises after each part, and its token embeddings are narrower
// than its states.
PretrainedConfig read_opt(ConfigReader& json) {
  PretrainedConfig config;
  TransformerConfig& t = config.transformer = read_sizes(json, gpt2);
  t.position_offset = 2;
  const bool bias = json.bias("enable_bias", true);
  t.block.attention.bias = t.block.attention.output_bias = t.block.mlp.bias = bias;
  const bool is_before = json.flag("do_layer_norm_before", true);
  t.block.placement = is_before ? NormPlacement::before : NormPlacement::after;
  const bool lacks_final_norm = json.flag("_remove_final_layer_norm", false);
  t.final_norm = is_before && !lacks_final_norm;
  t.block.mlp.width = json.integer("ffn_dim", 1);
  t.block.mlp.activation = json.activation("activation_function", "relu");
  config.logits.tied = json.flag("tie_word_embeddings", true);
  const int width = json.integer("word_embed_proj_dim", 1, t.d_model(), Null::missing);
  t.projected_tokens = width != t.d_model();
  t.embedding_width = t.projected_tokens ? width : 0;
  if (t.projected_tokens && !config.logits.tied) json.note("'tie_word_embeddings': heed supports only true, got false");
  for (const char* key : {"layer_norm_elementwise_affine", "learned_embeddings", "output_projection"})
    json.expect(key, true);
  json.expect("scale_embeddings", false);
  json.ignore({"activation_dropout", "init_std", "layerdrop"});
  return config;
}

PretrainedConfig read_gpt_neox(ConfigReader& json) {
  PretrainedConfig config;
  TransformerConfig& t = config.transformer = read_sizes(json, gpt2);
  t.block.mlp.width = json.integer("intermediate_size", 1);
  t.block.mlp.activation = json.activation("hidden_act", "gelu");
  t.block.norm.epsilon = json.positive("layer_norm_eps", 1e-5);
  t.block.parallel = json.flag("use_parallel_residual", true);
  t.block.attention.bias = t.block.attention.output_bias = json.bias("attention_bias", true);
  read_rotary(json, t, json.positive("rotary_emb_base", 10000),
              {.fraction = json.positive("rotary_pct", 0.25), .is_partial = true, .is_named_apart = true});
  config.logits.tied = json.flag("tie_word_embeddings", false);
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

Family gpt_neo_family() {
  Family family{
      {"gpt_neo"}, read_gpt_neo, {"transformer."}, {}, {"h.{}.attn.attention.bias", "h.{}.attn.attention.masked_bias"}};
  family.tensors.same("wte.weight", "words.weight")
      .same("wpe.weight", "positions.weight")
      .norm("h.{}.ln_1", "encoder.{}.attention_norm")
      .linear("h.{}.attn.attention.q_proj", {"encoder.{}.attention.W_Q"})
      .linear("h.{}.attn.attention.k_proj", {"encoder.{}.attention.W_K"})
      .linear("h.{}.attn.attention.v_proj", {"encoder.{}.attention.W_V"})
      .linear("h.{}.attn.attention.out_proj", {"encoder.{}.attention.W_O"})
      .norm("h.{}.ln_2", "encoder.{}.mlp.norm")
      .linear("h.{}.mlp.c_fc", {"encoder.{}.mlp.in"})
      .linear("h.{}.mlp.c_proj", {"encoder.{}.mlp.out"})
      .norm("ln_f", "encoder.norm")
      .logits("lm_head.weight");
  return family;
}

Family opt_family() {
  Family family{
      {"opt"}, read_opt, {"model."}, {}, {"decoder.project_out.*"}};  // without the logits, the states before it count
  family.tensors.same("decoder.embed_tokens.weight", "words.weight")
      .linear("decoder.project_in", {"token_projection"})
      .linear("decoder.project_out", {"output_projection"})
      .same("decoder.embed_positions.weight", "positions.weight")
      .norm("decoder.layers.{}.self_attn_layer_norm", "encoder.{}.attention_norm")
      .linear("decoder.layers.{}.self_attn.q_proj", {"encoder.{}.attention.W_Q"})
      .linear("decoder.layers.{}.self_attn.k_proj", {"encoder.{}.attention.W_K"})
      .linear("decoder.layers.{}.self_attn.v_proj", {"encoder.{}.attention.W_V"})
      .linear("decoder.layers.{}.self_attn.out_proj", {"encoder.{}.attention.W_O"})
      .norm("decoder.layers.{}.final_layer_norm", "encoder.{}.mlp.norm")
      .linear("decoder.layers.{}.fc1", {"encoder.{}.mlp.in"})
      .linear("decoder.layers.{}.fc2", {"encoder.{}.mlp.out"})
      .norm("decoder.final_layer_norm", "encoder.norm")
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
