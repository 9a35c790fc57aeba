#include "formats/hugging_face/family.h"

#include <fmt/format.h>

namespace heed {
namespace {

// Reads the keys of BERT's configurations that all of its relatives share.
PretrainedConfig read_bert(ConfigReader& json) {
  PretrainedConfig config;
  TransformerConfig& t = config.transformer = read_sizes(json, bert);
  t.segments = json.integer("type_vocab_size", 0, 2);
  t.block.mlp.width = json.integer("intermediate_size", 1);
  t.block.mlp.activation = config.head_activation = json.activation("hidden_act", "gelu");
  t.block.norm.epsilon = json.positive("layer_norm_eps", 1e-12);
  config.logits = {.tied = json.flag("tie_word_embeddings", true), .bias = true};
  json.expect("position_embedding_type", "absolute");
  json.expect("is_decoder", false);
  json.expect("add_cross_attention", false);
  json.ignore({"directionality", "pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers",
               "pooler_size_per_head", "pooler_type"});
  return config;
}

// Reads Megatron's BERT, which normalises before each part and at the end, not the embeddings.
PretrainedConfig read_megatron_bert(ConfigReader& json) {
  PretrainedConfig config = read_bert(json);
  TransformerConfig& t = config.transformer;
  t.block.placement = NormPlacement::before;
  t.embedding_norm = false;
  t.final_norm = true;
  return config;
}

// Reads ELECTRA, whose embeddings can be narrower than its states.
PretrainedConfig read_electra(ConfigReader& json) {
  PretrainedConfig config = read_bert(json);
  config.head_activation = config.class_activation = Activation::gelu;
  const int width = json.integer("embedding_size", 1, 128);
  config.transformer.embedding_width = width == config.transformer.d_model() ? 0 : width;
  return config;
}

// Reads ALBERT, whose layers share their parameters, and whose embeddings are narrower than its states.
PretrainedConfig read_albert(ConfigReader& json) {
  PretrainedConfig config = read_bert(json);
  TransformerConfig& t = config.transformer;
  t.shared_layers = true;
  t.embedding_width = json.integer("embedding_size", 1, 128);
  if (!json.has("hidden_act")) t.block.mlp.activation = config.head_activation = Activation::gelu_tanh;
  json.expect_integer("num_hidden_groups", 1), json.expect_integer("inner_group_num", 1);
  json.ignore({"classifier_dropout_prob", "down_scale_factor", "gap_size", "net_structure_type", "num_memory_blocks"});
  return config;
}

// Reads ModernBERT, which normalises before each part and rotates queries and keys. Two of three layers see a window on both
// sides, with a rotary base of their own. The embeddings are normalised, so the first attention reads them as they are.
PretrainedConfig read_modernbert(ConfigReader& json) {
  PretrainedConfig config;
  TransformerConfig& t = config.transformer = read_sizes(json, bert);
  t.segments = 0;
  t.final_norm = true;
  t.first_attention_norm = false;
  t.block.placement = NormPlacement::before;
  t.block.norm = {.epsilon = json.positive("norm_eps", 1e-5), .bias = json.flag("norm_bias", false)};
  t.block.attention.bias = t.block.attention.output_bias = json.bias("attention_bias", false);
  t.block.mlp = {.width = json.integer("intermediate_size", 1),
                 .activation = json.activation("hidden_activation", "gelu"),
                 .gated = true,
                 .bias = json.bias("mlp_bias", false)};
  const int every = json.integer("global_attn_every_n_layers", 1, 3);
  read_windows(
      json, t, [&](int layer) { return layer % every != 0; }, json.integer("local_attention", 1, 128) / 2 + 1);
  t.window_rotary_base = json.positive("local_rope_theta", 10000);
  json.expect("partial_rotary_factor", 1), json.expect("rope_scaling", nullptr);
  read_rotary(json, t, json.positive("global_rope_theta", 160000), {.is_named_apart = true, .by_layer_type = true});
  config.head_activation = json.activation("classifier_activation", "gelu");
  config.head_bias = json.bias("classifier_bias", false);
  config.class_activation = config.head_activation;
  config.class_norm = true;
  config.averages_states = json.text("classifier_pooling", "cls") != "cls";
  config.logits = {.tied = json.flag("tie_word_embeddings", true), .bias = json.bias("decoder_bias", true)};
  json.ignore({"deterministic_flash_attn", "embedding_dropout", "layer_norm_eps", "mlp_dropout", "reference_compile",
               "repad_logits_with_grad", "sparse_pred_ignore_index"});  // norm_eps counts
  return config;
}

// Reads RoBERTa, whose positions begin behind the padding's id.
PretrainedConfig read_roberta(ConfigReader& json) {
  PretrainedConfig config = read_bert(json);
  TransformerConfig& t = config.transformer;
  t.position_offset = json.integer("pad_token_id", 0, 1) + 1;
  t.max_length -= t.position_offset;
  if (t.max_length < 1) {
    json.note(fmt::format("'max_position_embeddings' must be above pad_token_id + 1 = {}", t.position_offset));
  }
  config.head_activation = Activation::gelu;
  return config;
}

PretrainedConfig read_distilbert(ConfigReader& json) {
  PretrainedConfig config;
  TransformerConfig& t = config.transformer =
      bert(json.integer("n_layers", 1), json.integer("n_heads", 1), json.integer("dim", 1));
  t.vocabulary = json.integer("vocab_size", 1);
  t.max_length = json.integer("max_position_embeddings", 1);
  t.segments = 0;
  t.block.mlp.width = json.integer("hidden_dim", 1);
  t.block.mlp.activation = config.head_activation = json.activation("activation", "gelu");
  config.class_activation = Activation::relu;
  config.logits = {.tied = json.flag("tie_word_embeddings", true), .bias = true};
  json.ignore(
      {"sinusoidal_pos_embds", "qa_dropout", "seq_classif_dropout", "tie_weights_"});  // the file has the positions
  return config;
}

TensorNames encoder_names() {
  TensorNames names;
  names.same("embeddings.word_embeddings.weight", "words.weight")
      .same("embeddings.position_embeddings.weight", "positions.weight")
      .same("embeddings.token_type_embeddings.weight", "sentences.weight")
      .norm("embeddings.LayerNorm", "embedding_norm");
  return names;
}

// Names the tensors of the layers. `attention_norm` and `mlp_norm` are the names of the two norms within a layer.
TensorNames bert_names(const std::string& attention_norm = "attention.output.LayerNorm",
                       const std::string& mlp_norm = "output.LayerNorm") {
  TensorNames names = encoder_names();
  names.linear("encoder.layer.{}.attention.self.query", {"encoder.{}.attention.W_Q"})
      .linear("encoder.layer.{}.attention.self.key", {"encoder.{}.attention.W_K"})
      .linear("encoder.layer.{}.attention.self.value", {"encoder.{}.attention.W_V"})
      .linear("encoder.layer.{}.attention.output.dense", {"encoder.{}.attention.W_O"})
      .norm("encoder.layer.{}." + attention_norm, "encoder.{}.attention_norm")
      .linear("encoder.layer.{}.intermediate.dense", {"encoder.{}.mlp.in"})
      .linear("encoder.layer.{}.output.dense", {"encoder.{}.mlp.out"})
      .norm("encoder.layer.{}." + mlp_norm, "encoder.{}.mlp.norm");
  return names;
}

// Pooling, and stored numbers of positions.
std::vector<std::string> unused_tensors() {
  return {"embeddings.position_ids", "embeddings.token_type_ids", "pooler.*", "cls.seq_relationship.*"};
}

// Adds the head that predicts masked tokens. The names of its tensors begin with `head`.
Family with_head(Family family, const std::string& head, const std::string& dense, const std::string& norm) {
  family.tensors.head()
      .candidates()
      .linear(head + dense, {"transform.dense"})
      .norm(head + norm, "transform.norm")
      .same(head + "bias", "output_bias", head + "decoder.bias")
      .same(head + "decoder.bias", "output_bias")
      .logits(head + "decoder.weight");
  return family;
}

Family with_bert_heads(Family family) {
  family.tensors.linear("pooler.dense", {"pooler.dense"});
  family = with_head(std::move(family), "cls.predictions.", "transform.dense", "transform.LayerNorm");
  family.tensors.classes({"", "classifier"});
  return family;
}

}  // namespace

Family bert_family() { return with_bert_heads({{"bert"}, read_bert, {"bert."}, bert_names(), unused_tensors()}); }

Family megatron_bert_family() {
  Family family{{"megatron-bert"}, read_megatron_bert, {"bert."}, bert_names("attention.ln", "ln"), unused_tensors()};
  family.tensors.norm("encoder.ln", "encoder.norm");
  return with_bert_heads(std::move(family));
}

Family electra_family() {
  Family family{{"electra"}, read_electra, {"electra."}, bert_names(), unused_tensors()};
  family.tensors.linear("embeddings_project", {"embedding_projection"})
      .head()
      .candidates()
      .classes({"classifier.dense", "classifier.out_proj"})
      .linear("generator_predictions.dense", {"transform.dense"})
      .norm("generator_predictions.LayerNorm", "transform.norm")
      .same("generator_lm_head.bias", "output_bias")
      .logits("generator_lm_head.weight");
  family.ignored.insert(family.ignored.end(), {"discriminator_predictions.*", "sequence_summary.*"});
  return family;
}

Family albert_family() {
  Family family{{"albert"}, read_albert, {"albert."}, encoder_names(), unused_tensors()};
  const std::string layer = "encoder.albert_layer_groups.0.albert_layers.0.";
  family.tensors.linear("encoder.embedding_hidden_mapping_in", {"embedding_projection"})
      .linear(layer + "attention.query", {"encoder.0.attention.W_Q"})
      .linear(layer + "attention.key", {"encoder.0.attention.W_K"})
      .linear(layer + "attention.value", {"encoder.0.attention.W_V"})
      .linear(layer + "attention.dense", {"encoder.0.attention.W_O"})
      .norm(layer + "attention.LayerNorm", "encoder.0.attention_norm")
      .linear(layer + "ffn", {"encoder.0.mlp.in"})
      .linear(layer + "ffn_output", {"encoder.0.mlp.out"})
      .norm(layer + "full_layer_layer_norm", "encoder.0.mlp.norm")
      .linear("pooler", {"pooler.dense"});
  family.ignored.insert(family.ignored.end(), {"sop_classifier.*"});
  family = with_head(std::move(family), "predictions.", "dense", "LayerNorm");
  family.tensors.classes({"", "classifier"});
  return family;
}

Family modernbert_family() {
  Family family{{"modernbert"}, read_modernbert, {"model."}, {}, {"head.*"}};  // of a classifier
  family.tensors.same("embeddings.tok_embeddings.weight", "words.weight")
      .norm("embeddings.norm", "embedding_norm")
      .norm("layers.{}.attn_norm", "encoder.{}.attention_norm")
      .linear("layers.{}.attn.Wqkv",
              {"encoder.{}.attention.W_Q", "encoder.{}.attention.W_K", "encoder.{}.attention.W_V"})
      .linear("layers.{}.attn.Wo", {"encoder.{}.attention.W_O"})
      .norm("layers.{}.mlp_norm", "encoder.{}.mlp.norm")
      .linear("layers.{}.mlp.Wi", {"encoder.{}.mlp.gate", "encoder.{}.mlp.in"})
      .linear("layers.{}.mlp.Wo", {"encoder.{}.mlp.out"})
      .norm("final_norm", "encoder.norm")
      .head()
      .candidates()
      .classes({"head.dense", "classifier"})
      .norm("head.norm", "pooler.norm")
      .linear("head.dense", {"transform.dense"})
      .norm("head.norm", "transform.norm")
      .same("decoder.bias", "output_bias")
      .logits("decoder.weight");
  return family;
}

Family roberta_family() {
  Family family{{"roberta", "xlm-roberta", "camembert"}, read_roberta, {"roberta."}, bert_names(), unused_tensors()};
  family = with_head(std::move(family), "lm_head.", "dense", "layer_norm");
  family.tensors.classes({"classifier.dense", "classifier.out_proj"});
  return family;
}

Family distilbert_family() {
  Family family{{"distilbert"}, read_distilbert, {"distilbert."}, encoder_names(), unused_tensors()};
  family.tensors.linear("transformer.layer.{}.attention.q_lin", {"encoder.{}.attention.W_Q"})
      .linear("transformer.layer.{}.attention.k_lin", {"encoder.{}.attention.W_K"})
      .linear("transformer.layer.{}.attention.v_lin", {"encoder.{}.attention.W_V"})
      .linear("transformer.layer.{}.attention.out_lin", {"encoder.{}.attention.W_O"})
      .norm("transformer.layer.{}.sa_layer_norm", "encoder.{}.attention_norm")
      .linear("transformer.layer.{}.ffn.lin1", {"encoder.{}.mlp.in"})
      .linear("transformer.layer.{}.ffn.lin2", {"encoder.{}.mlp.out"})
      .norm("transformer.layer.{}.output_layer_norm", "encoder.{}.mlp.norm")
      .head()
      .candidates()
      .classes({"pre_classifier", "classifier"})
      .linear("vocab_transform", {"transform.dense"})
      .norm("vocab_layer_norm", "transform.norm")
      .same("vocab_projector.bias", "output_bias")
      .logits("vocab_projector.weight");
  family.ignored.insert(family.ignored.end(), {"pre_classifier.*"});
  return family;
}

}  // namespace heed
