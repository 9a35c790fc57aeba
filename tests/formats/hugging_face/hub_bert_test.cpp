// Configurations of BERT and other encoders on the Hugging Face hub, as several versions of transformers wrote them.
#include "tests/catch.h"
#include "tests/formats/hugging_face/config_text.h"

using namespace heed;

TEST_CASE("Configurations of BERT, DistilBERT and RoBERTa on the hub are understood") {
  const PretrainedConfig bert =
      read(R"({"architectures": ["BertForMaskedLM"], "attention_probs_dropout_prob": 0.1, "directionality": "bidi",
    "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "hidden_size": 768, "initializer_range": 0.02,
    "intermediate_size": 3072, "layer_norm_eps": 1e-12, "max_position_embeddings": 512, "model_type": "bert",
    "num_attention_heads": 12, "num_hidden_layers": 12, "pad_token_id": 0, "pooler_fc_size": 768,
    "pooler_num_attention_heads": 12, "pooler_num_fc_layers": 3, "pooler_size_per_head": 128,
    "pooler_type": "first_token_transform", "type_vocab_size": 2, "vocab_size": 119547})");
  CHECK((bert.logits.tied && bert.transformer.segments == 2 && bert.transformer.block.norm.epsilon == 1e-12));
  const TransformerConfig distilbert =
      read(R"({"activation": "gelu", "architectures": ["DistilBertForMaskedLM"], "attention_dropout": 0.1, "dim": 768,
    "dropout": 0.1, "hidden_dim": 3072, "initializer_range": 0.02, "max_position_embeddings": 512,
    "model_type": "distilbert", "n_heads": 12, "n_layers": 6, "pad_token_id": 0, "qa_dropout": 0.1,
    "seq_classif_dropout": 0.2, "sinusoidal_pos_embds": false, "tie_weights_": true,
    "transformers_version": "4.10.0.dev0", "vocab_size": 30522})")
          .transformer;
  CHECK((distilbert.layers == 6 && distilbert.segments == 0));
  const TransformerConfig roberta =
      read(R"({"architectures": ["RobertaForMaskedLM"], "attention_probs_dropout_prob": 0.1, "bos_token_id": 0,
    "eos_token_id": 2, "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "hidden_size": 768, "initializer_range": 0.02,
    "intermediate_size": 3072, "layer_norm_eps": 1e-05, "max_position_embeddings": 514, "model_type": "roberta",
    "num_attention_heads": 12, "num_hidden_layers": 12, "pad_token_id": 1, "type_vocab_size": 1,
    "vocab_size": 50265})")
          .transformer;
  CHECK((roberta.max_length == 512 && roberta.position_offset == 2));
}

TEST_CASE("Configurations of ALBERT on the hub are understood") {
  const TransformerConfig albert =  // of base v2
      read(R"({"architectures": ["AlbertForMaskedLM"], "attention_probs_dropout_prob": 0, "bos_token_id": 2,
    "classifier_dropout_prob": 0.1, "down_scale_factor": 1, "embedding_size": 128, "eos_token_id": 3, "gap_size": 0,
    "hidden_act": "gelu_new", "hidden_dropout_prob": 0, "hidden_size": 768, "initializer_range": 0.02,
    "inner_group_num": 1, "intermediate_size": 3072, "layer_norm_eps": 1e-12, "max_position_embeddings": 512,
    "model_type": "albert", "net_structure_type": 0, "num_attention_heads": 12, "num_hidden_groups": 1,
    "num_hidden_layers": 12, "num_memory_blocks": 0, "pad_token_id": 0, "type_vocab_size": 2, "vocab_size": 30000})")
          .transformer;
  CHECK((albert.shared_layers && albert.embedding_width == 128 && albert.layers == 12));
  CHECK(albert.block.mlp.activation == Activation::gelu_tanh);
}

TEST_CASE("Configurations of ModernBERT on the hub are understood") {
  const std::string shape = R"("architectures": ["ModernBertForMaskedLM"], "attention_bias": false,
    "attention_dropout": 0.0, "bos_token_id": 50281, "classifier_activation": "gelu", "classifier_bias": false,
    "classifier_dropout": 0.0, "classifier_pooling": "mean", "cls_token_id": 50281, "decoder_bias": true,
    "deterministic_flash_attn": false, "embedding_dropout": 0.0, "eos_token_id": 50282,
    "global_attn_every_n_layers": 3, "gradient_checkpointing": false, "hidden_activation": "gelu",
    "hidden_size": 768, "initializer_cutoff_factor": 2.0, "initializer_range": 0.02, "intermediate_size": 1152,
    "layer_norm_eps": 1e-05, "local_attention": 128, "max_position_embeddings": 8192, "mlp_bias": false,
    "mlp_dropout": 0.0, "model_type": "modernbert", "norm_bias": false, "norm_eps": 1e-05, "num_attention_heads": 12,
    "num_hidden_layers": 22, "pad_token_id": 50283, "position_embedding_type": "absolute", "sep_token_id": 50282,
    "tie_word_embeddings": true, "torch_dtype": "float32", "vocab_size": 50368, )";
  const PretrainedConfig base =
      read("{" + shape + R"("global_rope_theta": 160000.0, "local_rope_theta": 10000.0, "reference_compile": false})");
  const TransformerConfig& t = base.transformer;
  CHECK((t.block_at(0).attention.window == 0 && t.block_at(1).attention.window == 65 && !t.causal));
  CHECK((t.block_at(21).attention.window == 0 && t.rotary.base == 160000 && t.window_rotary_base == 10000));
  CHECK((!t.block_at(0).attention_norm && t.block_at(1).attention_norm && !t.block.norm.bias));
  CHECK((t.block.mlp.activation == Activation::gelu && t.block.mlp.gated && t.segments == 0 && t.embedding_norm &&
         t.final_norm));
  CHECK((!base.head_bias && base.logits.bias && base.logits.tied));
  const TransformerConfig multilingual =  // transformers 5
      read("{" + shape + R"("rope_parameters": {"full_attention": {"rope_theta": 160000, "rope_type": "default"},
    "sliding_attention": {"rope_theta": 160000, "rope_type": "default"}}})")
          .transformer;
  CHECK((multilingual.window_rotary_base == 160000 && multilingual.rotary.base == 160000));
  CHECK(read("{" + shape + R"("sparse_prediction": false})").transformer.rotary.base == 160000);
}
