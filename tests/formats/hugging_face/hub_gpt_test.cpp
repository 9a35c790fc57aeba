// Configurations of GPT-2 and similar decoders on the Hugging Face hub, as several versions of transformers wrote them.
#include "tests/catch.h"
#include "tests/formats/hugging_face/config_text.h"

using namespace heed;

TEST_CASE("Configurations of GPT-2 and Pythia on the hub are understood") {
  const TransformerConfig gpt2 =
      read(R"({"activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1,
    "bos_token_id": 50256, "embd_pdrop": 0.1, "eos_token_id": 50256, "initializer_range": 0.02,
    "layer_norm_epsilon": 1e-05, "model_type": "gpt2", "n_ctx": 1024, "n_embd": 768, "n_head": 12, "n_layer": 12,
    "n_positions": 1024, "resid_pdrop": 0.1, "summary_activation": null, "summary_first_dropout": 0.1,
    "summary_proj_to_labels": true, "summary_type": "cls_index", "summary_use_proj": true,
    "task_specific_params": {"text-generation": {"do_sample": true, "max_length": 50}}, "vocab_size": 50257})")
          .transformer;
  CHECK((gpt2.layers == 12 && gpt2.block.mlp.width == 3072 && gpt2.block.mlp.activation == Activation::gelu_tanh));
  const TransformerConfig medium =  // from a version of 2019
      read(R"({"activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1,
    "bos_token_id": 50256, "embd_pdrop": 0.1, "eos_token_id": 50256, "initializer_range": 0.02,
    "layer_norm_epsilon": 1e-05, "model_type": "gpt2", "n_ctx": 1024, "n_embd": 1024, "n_head": 16, "n_layer": 24,
    "n_positions": 1024, "n_special": 0, "predict_special_tokens": true, "resid_pdrop": 0.1,
    "summary_activation": null, "summary_first_dropout": 0.1, "summary_proj_to_labels": true,
    "summary_type": "cls_index", "summary_use_proj": true, "vocab_size": 50257})")
          .transformer;
  CHECK((medium.layers == 24 && medium.block.mlp.width == 4096));
  const PretrainedConfig pythia =
      read(R"({"architectures": ["GPTNeoXForCausalLM"], "bos_token_id": 0, "eos_token_id": 0, "hidden_act": "gelu",
    "hidden_size": 512, "initializer_range": 0.02, "intermediate_size": 2048, "layer_norm_eps": 1e-05,
    "max_position_embeddings": 2048, "model_type": "gpt_neox", "num_attention_heads": 8, "num_hidden_layers": 6,
    "rotary_emb_base": 10000, "rotary_pct": 0.25, "tie_word_embeddings": false, "torch_dtype": "float16",
    "transformers_version": "4.24.0", "use_cache": true, "use_parallel_residual": true, "vocab_size": 50304})");
  CHECK((pythia.transformer.rotary.fraction == 0.25 && pythia.transformer.block.parallel && !pythia.logits.tied));
}

TEST_CASE("Configurations of TinyStories, OPT, ELECTRA and Gemma on the hub are understood") {
  const TransformerConfig stories =
      read(R"({"activation_function": "gelu_new", "architectures": ["GPTNeoForCausalLM"], "attention_dropout": 0,
    "attention_layers": ["global", "local", "global", "local"], "attention_types": [[["global", "local"], 2]],
    "bos_token_id": 50256, "embed_dropout": 0, "eos_token_id": 50256, "gradient_checkpointing": false,
    "hidden_size": 768, "initializer_range": 0.02, "intermediate_size": null, "layer_norm_epsilon": 1e-05,
    "max_position_embeddings": 2048, "model_type": "gpt_neo", "num_heads": 16, "num_layers": 4, "resid_dropout": 0,
    "summary_activation": null, "summary_first_dropout": 0.1, "summary_proj_to_labels": true,
    "summary_type": "cls_index", "summary_use_proj": true, "torch_dtype": "float32",
    "transformers_version": "4.28.1", "use_cache": true, "vocab_size": 50257, "window_size": 256})")
          .transformer;
  CHECK((stories.block_at(0).attention.window == 0 && stories.block_at(1).attention.window == 256));
  const TransformerConfig in_order =
      read(
          R"({"attention_layers": ["local", "global", "global"], "attention_types": [[["global"], 3]], "model_type": "gpt_neo",
    "hidden_size": 8, "max_position_embeddings": 8, "num_heads": 2, "num_layers": 3, "vocab_size": 9, "window_size": 4})")
          .transformer;  // attention_layers counts
  CHECK((in_order.block_at(0).attention.window == 4 && in_order.block_at(1).attention.window == 0));
  CHECK((stories.block.attention.scale == 1 && stories.block.mlp.width == 3072));
  const TransformerConfig opt =
      read(R"({"_remove_final_layer_norm": false, "activation_dropout": 0.0, "activation_function": "relu",
    "architectures": ["OPTForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 2, "do_layer_norm_before": true,
    "dropout": 0.1, "eos_token_id": 2, "ffn_dim": 3072, "hidden_size": 768, "init_std": 0.02, "layerdrop": 0.0,
    "max_position_embeddings": 2048, "model_type": "opt", "num_attention_heads": 12, "num_hidden_layers": 12,
    "pad_token_id": 1, "prefix": "</s>", "torch_dtype": "float16", "use_cache": true, "vocab_size": 50272,
    "word_embed_proj_dim": 768})")
          .transformer;
  const PretrainedConfig narrow =  // of 350M
      read(R"({"activation_dropout": 0.0, "activation_function": "relu", "architectures": ["OPTForCausalLM"],
    "attention_dropout": 0.0, "bos_token_id": 2, "do_layer_norm_before": false, "dropout": 0.1, "eos_token_id": 2,
    "ffn_dim": 4096, "hidden_size": 1024, "init_std": 0.02, "layerdrop": 0.0, "max_position_embeddings": 2048,
    "model_type": "opt", "num_attention_heads": 16, "num_hidden_layers": 24, "pad_token_id": 1, "prefix": "</s>",
    "torch_dtype": "float16", "transformers_version": "4.19.2", "use_cache": true, "vocab_size": 50272,
    "word_embed_proj_dim": 512})");
  CHECK((narrow.transformer.embedding_width == 512 && narrow.transformer.projected_tokens && narrow.logits.tied));
  CHECK((narrow.transformer.block.placement == NormPlacement::after && !narrow.transformer.final_norm));
  CHECK((opt.position_offset == 2 && opt.max_length == 2048 && opt.block.mlp.activation == Activation::relu));
  const auto electra = [](int embedding_size, int hidden_size, int intermediate_size, int heads) {
    return read(fmt::format(
                    R"({{"architectures": ["ElectraForPreTraining"], "attention_probs_dropout_prob": 0.1,
    "embedding_size": {}, "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "hidden_size": {},
    "initializer_range": 0.02, "intermediate_size": {}, "layer_norm_eps": 1e-12, "max_position_embeddings": 512,
    "model_type": "electra", "num_attention_heads": {}, "num_hidden_layers": 12, "pad_token_id": 0,
    "summary_activation": "gelu", "summary_last_dropout": 0.1, "summary_type": "first", "summary_use_proj": true,
    "type_vocab_size": 2, "vocab_size": 30522}})",
                    embedding_size, hidden_size, intermediate_size, heads))
        .transformer;
  };
  const TransformerConfig base = electra(768, 768, 3072, 12), small = electra(128, 256, 1024, 4);
  CHECK((base.segments == 2 && base.embedding_norm && base.embedding_width == 0));
  CHECK((small.embedding_width == 128 && small.d_model() == 256));
  const PretrainedConfig gemma =
      read(R"({"architectures": ["GemmaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
    "bos_token_id": 2, "eos_token_id": 1, "head_dim": 256, "hidden_act": "gelu_pytorch_tanh",
    "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 2048, "initializer_range": 0.02,
    "intermediate_size": 16384, "max_position_embeddings": 8192, "model_type": "gemma", "num_attention_heads": 8,
    "num_hidden_layers": 18, "num_key_value_heads": 1, "pad_token_id": 0, "rms_norm_eps": 1e-06, "rope_scaling": null,
    "rope_theta": 10000.0, "torch_dtype": "bfloat16", "use_cache": true, "vocab_size": 256000})");
  CHECK((gemma.logits.tied && gemma.transformer.block.norm.gain_offset));
  const auto activation = [](const std::string& keys) {
    return read(
               R"({"model_type": "gemma", "hidden_size": 32, "intermediate_size": 16, "num_attention_heads": 2, "head_dim": 16,
      "max_position_embeddings": 8, "num_hidden_layers": 1, "num_key_value_heads": 1, "vocab_size": 9, )" +
               keys + "}")
        .transformer.block.mlp.activation;
  };
  CHECK(activation(R"("hidden_act": "gelu")") == Activation::gelu_tanh);  // of the first releases
  CHECK(activation(R"("hidden_act": "gelu_python")") == Activation::gelu);
  CHECK(activation(R"("hidden_act": "gelu", "hidden_activation": "gelu_pytorch_tanh")") == Activation::gelu_tanh);
  CHECK(activation(R"("hidden_act": "silu", "hidden_activation": null)") == Activation::silu);
}

TEST_CASE("Configurations of StarCoder2, StableLM and Phi-2 on the hub are understood") {
  const PretrainedConfig starcoder2 =
      read(R"({"architectures": ["Starcoder2ForCausalLM"], "attention_dropout": 0.1, "attention_softmax_in_fp32": true,
    "bos_token_id": 0, "embedding_dropout": 0.1, "eos_token_id": 0, "hidden_act": "gelu_pytorch_tanh",
    "hidden_size": 3072, "initializer_range": 0.018042, "intermediate_size": 12288, "layer_norm_epsilon": 1e-05,
    "max_position_embeddings": 16384, "mlp_type": "default", "model_type": "starcoder2", "norm_epsilon": 1e-05,
    "norm_type": "layer_norm", "num_attention_heads": 24, "num_hidden_layers": 30, "num_key_value_heads": 2,
    "residual_dropout": 0.1, "rope_theta": 999999.4420358813, "scale_attention_softmax_in_fp32": true,
    "scale_attn_weights": true, "sliding_window": 4096, "transformers_version": "4.37.0.dev0", "use_bias": true,
    "use_cache": true, "vocab_size": 49152})");
  const TransformerConfig& t = starcoder2.transformer;
  CHECK((starcoder2.logits.tied && t.block.norm.kind == NormKind::layer && t.block.mlp.bias));
  CHECK((t.block.attention.kv_heads == 2 && t.block.attention.window == 4096 && t.rotary.fraction == 1));
  const TransformerConfig stablelm =
      read(R"({"architectures": ["StableLmForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 100257,
    "eos_token_id": 100257, "hidden_act": "silu", "hidden_dropout": 0.0, "hidden_size": 2048, "initializer_range": 0.02,
    "intermediate_size": 5632, "layer_norm_eps": 1e-05, "max_position_embeddings": 4096, "model_type": "stablelm",
    "num_attention_heads": 32, "num_hidden_layers": 24, "num_key_value_heads": 32, "partial_rotary_factor": 0.25,
    "qk_layernorm": false, "rope_scaling": null, "rope_theta": 10000, "tie_word_embeddings": false,
    "torch_dtype": "float16", "transformers_version": "4.40.0", "use_cache": true, "use_parallel_residual": false,
    "use_qkv_bias": true, "vocab_size": 100352})")
          .transformer;
  CHECK((stablelm.rotary.fraction == 0.25 && stablelm.block.mlp.activation == Activation::silu &&
         stablelm.block.mlp.gated));
  CHECK((stablelm.block.attention.bias && !stablelm.block.attention.output_bias));
  CHECK_FALSE((stablelm.block.parallel || stablelm.block.shared_norm));
  const PretrainedConfig phi =  // of Phi-2
      read(R"({"architectures": ["PhiForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 50256, "embd_pdrop": 0.0,
    "eos_token_id": 50256, "hidden_act": "gelu_new", "hidden_size": 2560, "initializer_range": 0.02,
    "intermediate_size": 10240, "layer_norm_eps": 1e-05, "max_position_embeddings": 2048, "model_type": "phi",
    "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 32, "partial_rotary_factor": 0.4,
    "qk_layernorm": false, "resid_pdrop": 0.1, "rope_scaling": null, "rope_theta": 10000.0,
    "tie_word_embeddings": false, "torch_dtype": "float16", "transformers_version": "4.37.0", "use_cache": true,
    "vocab_size": 51200})");
  CHECK(
      (phi.transformer.block.parallel && phi.transformer.block.shared_norm && phi.transformer.rotary.fraction == 0.4));
  CHECK((phi.logits.bias && !phi.logits.tied));
}
