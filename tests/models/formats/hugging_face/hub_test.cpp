// Configurations as models on the Hugging Face hub have them, by several versions of transformers.
#include "models/formats/hugging_face/family.h"
#include "tests/catch.h"
#include "tests/message.h"

#include <heed/files/file.h>

#include <filesystem>

using namespace heed;

namespace {

PretrainedConfig read(const std::string& text) { return read_pretrained_config(text, "config.json"); }

}  // namespace

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
  CHECK(activation(R"("hidden_act": "gelu")") == Activation::geglu_tanh);  // of the first releases
  CHECK(activation(R"("hidden_act": "gelu", "hidden_activation": "gelu_pytorch_tanh")") == Activation::geglu_tanh);
  CHECK(activation(R"("hidden_act": "silu", "hidden_activation": null)") == Activation::swiglu);
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
  CHECK((starcoder2.logits.tied && t.block.norm.kind == NormKind::layer && t.block.mlp.bias == Bias::yes));
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
  CHECK((stablelm.rotary.fraction == 0.25 && stablelm.block.mlp.activation == Activation::swiglu));
  CHECK((stablelm.block.attention.bias == Bias::yes && stablelm.block.attention.output_bias == Bias::no));
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
  CHECK((phi.logits.bias == Bias::yes && !phi.logits.tied));
}

TEST_CASE("Configurations of LLaMA 3, SmolLM2, Arcee, Mistral, Qwen and OLMo on the hub are understood") {
  const TransformerConfig llama =
      read(R"({"architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
    "bos_token_id": 128000, "eos_token_id": [128001, 128008], "head_dim": 64, "hidden_act": "silu", "hidden_size": 2048,
    "initializer_range": 0.02, "intermediate_size": 8192, "max_position_embeddings": 131072, "mlp_bias": false,
    "model_type": "llama", "num_attention_heads": 32, "num_hidden_layers": 16, "num_key_value_heads": 8,
    "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_scaling": {"factor": 32.0, "high_freq_factor": 4.0,
    "low_freq_factor": 1.0, "original_max_position_embeddings": 8192, "rope_type": "llama3"}, "rope_theta": 500000.0,
    "tie_word_embeddings": true, "torch_dtype": "bfloat16", "transformers_version": "4.45.0.dev0", "use_cache": true,
    "vocab_size": 128256})")
          .transformer;
  CHECK((llama.rotary.scaling == RotaryScaling::llama3 && llama.rotary.factor == 32 && llama.rotary.base == 500000));
  const PretrainedConfig smol =
      read(R"({"architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
    "bos_token_id": 0, "eos_token_id": 0, "hidden_act": "silu", "hidden_size": 576,
    "initializer_range": 0.041666666666666664, "intermediate_size": 1536, "is_llama_config": true,
    "max_position_embeddings": 8192, "model_type": "llama", "num_attention_heads": 9, "num_hidden_layers": 30,
    "num_key_value_heads": 3, "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_interleaved": false,
    "rope_scaling": null, "rope_theta": 100000, "tie_word_embeddings": true, "torch_dtype": "bfloat16",
    "transformers_version": "4.40.1", "use_cache": true, "vocab_size": 49152,
    "transformers.js_config": {"kv_cache_dtype": {"q4f16": "float16"}}})");
  const AttentionConfig& attention = smol.transformer.block.attention;
  CHECK((attention.keys() == 3 && attention.d_k == 64 && smol.logits.tied));
  const TransformerConfig arcee =
      read(R"({"architectures": ["ArceeForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
    "bos_token_id": 128000, "eos_token_id": 128001, "head_dim": 128, "hidden_act": "relu2", "hidden_size": 2560,
    "initializer_range": 0.02, "intermediate_size": 18432, "max_position_embeddings": 65536, "mlp_bias": false,
    "model_type": "arcee", "num_attention_heads": 20, "num_hidden_layers": 36, "num_key_value_heads": 4,
    "rms_norm_eps": 1e-05, "rope_scaling": {"beta_fast": 32.0, "beta_slow": 1.0, "factor": 20.0, "mscale": 1.0,
    "original_max_position_embeddings": 4096, "rope_type": "yarn"}, "rope_theta": 10000.0,
    "tie_word_embeddings": false, "torch_dtype": "bfloat16", "use_cache": true, "vocab_size": 128004})")
          .transformer;
  CHECK((arcee.block.mlp.activation == Activation::relu2 && arcee.rotary.divisors.size() == 64));
  const TransformerConfig mistral =
      read(R"({"architectures": ["MistralForCausalLM"], "bos_token_id": 1, "eos_token_id": 2, "hidden_act": "silu",
    "hidden_size": 4096, "initializer_range": 0.02, "intermediate_size": 14336, "max_position_embeddings": 32768,
    "model_type": "mistral", "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8,
    "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "sliding_window": 4096, "tie_word_embeddings": false,
    "torch_dtype": "bfloat16", "use_cache": true, "vocab_size": 32000})")
          .transformer;
  CHECK(mistral.block_at(31).attention.window == 4096);
  const TransformerConfig qwen2 =
      read(R"({"architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 151643,
    "eos_token_id": 151643, "hidden_act": "silu", "hidden_size": 896, "initializer_range": 0.02,
    "intermediate_size": 4864, "max_position_embeddings": 32768, "max_window_layers": 24, "model_type": "qwen2",
    "num_attention_heads": 14, "num_hidden_layers": 24, "num_key_value_heads": 2, "rms_norm_eps": 1e-06,
    "rope_theta": 1000000.0, "sliding_window": 32768, "tie_word_embeddings": true, "torch_dtype": "bfloat16",
    "use_cache": true, "use_mrope": false, "use_sliding_window": false, "vocab_size": 151936})")
          .transformer;
  CHECK((qwen2.block.attention.bias == Bias::yes && qwen2.block.attention.output_bias == Bias::no));
  CHECK(qwen2.block.attention.window == 0);
  const TransformerConfig qwen3 =
      read(R"({"architectures": ["Qwen3ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
    "bos_token_id": 151643, "eos_token_id": 151645, "head_dim": 128, "hidden_act": "silu", "hidden_size": 1024,
    "initializer_range": 0.02, "intermediate_size": 3072, "max_position_embeddings": 40960, "max_window_layers": 28,
    "model_type": "qwen3", "num_attention_heads": 16, "num_hidden_layers": 28, "num_key_value_heads": 8,
    "rms_norm_eps": 1e-06, "rope_scaling": null, "rope_theta": 1000000, "sliding_window": null,
    "tie_word_embeddings": true, "use_sliding_window": false, "vocab_size": 151936})")
          .transformer;
  CHECK((qwen3.block.attention.d_k == 128 && qwen3.block.attention.query_key_norm == QueryKeyNorm::heads));
  const TransformerConfig olmo =
      read(R"({"architectures": ["Olmo2ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
    "eos_token_id": 100257, "hidden_act": "silu", "hidden_size": 2048, "initializer_range": 0.02,
    "intermediate_size": 8192, "max_position_embeddings": 4096, "model_type": "olmo2", "num_attention_heads": 16,
    "num_hidden_layers": 16, "num_key_value_heads": 16, "pad_token_id": 100277, "rms_norm_eps": 1e-06,
    "rope_scaling": null, "rope_theta": 500000, "tie_word_embeddings": false, "use_cache": false,
    "vocab_size": 100352})")
          .transformer;
  CHECK((olmo.block.placement == NormPlacement::output && olmo.block.attention.query_key_norm == QueryKeyNorm::all));
  const TransformerConfig olmo3 =
      read(R"({"architectures": ["Olmo3ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
    "bos_token_id": 100257, "dtype": "bfloat16", "eos_token_id": 100257, "hidden_act": "silu", "hidden_size": 4096,
    "initializer_range": 0.02, "intermediate_size": 11008, "max_position_embeddings": 65536, "model_type": "olmo3",
    "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 32, "pad_token_id": 100277,
    "rms_norm_eps": 1e-06, "rope_scaling": {"attention_factor": 1.2079441541679836, "beta_fast": 32.0,
    "beta_slow": 1.0, "factor": 8.0, "original_max_position_embeddings": 8192, "rope_type": "yarn"},
    "rope_theta": 500000, "sliding_window": 4096, "tie_word_embeddings": false, "transformers_version": "4.57.1",
    "use_cache": false, "vocab_size": 100278})")
          .transformer;
  CHECK((olmo3.block_at(2).attention.window == 4096 && olmo3.block_at(3).attention.window == 0));
  CHECK((olmo3.window_rotary_base == 500000 && olmo3.rotary.divisors.size() == 64 && olmo3.rotary.amplitude > 1.2));
}

TEST_CASE("Configurations of Granite and SmolLM3 on the hub are understood") {
  const PretrainedConfig granite =  // of 3.1 2B
      read(R"({"architectures": ["GraniteForCausalLM"], "attention_bias": false, "attention_dropout": 0.1,
    "attention_multiplier": 0.015625, "bos_token_id": 0, "embedding_multiplier": 12.0, "eos_token_id": 0,
    "hidden_act": "silu", "hidden_size": 2048, "initializer_range": 0.02, "intermediate_size": 8192,
    "logits_scaling": 8.0, "max_position_embeddings": 131072, "mlp_bias": false, "model_type": "granite",
    "num_attention_heads": 32, "num_hidden_layers": 40, "num_key_value_heads": 8, "pad_token_id": 0,
    "residual_multiplier": 0.22, "rms_norm_eps": 1e-05, "rope_scaling": null, "rope_theta": 5000000.0,
    "tie_word_embeddings": true, "torch_dtype": "bfloat16", "use_cache": true, "vocab_size": 49155})");
  const TransformerConfig& t = granite.transformer;
  CHECK((t.embedding_scale == 12 && t.block.attention.scale == 1.0 / 64 && t.block.residual_scale == 0.22));
  CHECK((granite.logits.scale == 0.125 && granite.logits.tied && t.rotary.base == 5000000));
  const PretrainedConfig smol =  // of 3B
      read(R"({"architectures": ["SmolLM3ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
    "bos_token_id": null, "eos_token_id": 128001, "hidden_act": "silu", "hidden_size": 2048,
    "initializer_range": 0.02, "intermediate_size": 11008, "max_position_embeddings": 65536, "max_window_layers": 28,
    "mlp_bias": false, "model_type": "smollm3", "no_rope_layer_interval": 4, "num_attention_heads": 16,
    "num_hidden_layers": 8, "num_key_value_heads": 4, "pad_token_id": 128004, "pretraining_tp": 2,
    "rms_norm_eps": 1e-06, "rope_scaling": null, "rope_theta": 5000000.0, "sliding_window": null,
    "torch_dtype": "bfloat16", "use_cache": false, "use_sliding_window": false, "vocab_size": 128256})");
  CHECK((smol.transformer.unrotated_layers == std::vector<int>{3, 7} && smol.logits.tied));
  CHECK((smol.transformer.block.attention.window == 0 && smol.transformer.rotary.base == 5000000));
}

TEST_CASE("Configurations of Phi-3 and Gemma on the hub are understood") {
  const TransformerConfig phi =
      read(R"({"architectures": ["Phi3ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
    "auto_map": {"AutoConfig": "configuration_phi3.Phi3Config"}, "bos_token_id": 1, "embd_pdrop": 0.0,
    "eos_token_id": 32000, "hidden_act": "silu", "hidden_size": 3072, "initializer_range": 0.02,
    "intermediate_size": 8192, "max_position_embeddings": 4096, "model_type": "phi3", "num_attention_heads": 32,
    "num_hidden_layers": 32, "num_key_value_heads": 32, "original_max_position_embeddings": 4096,
    "pad_token_id": 32000, "resid_pdrop": 0.0, "rms_norm_eps": 1e-05, "rope_scaling": null, "rope_theta": 10000.0,
    "sliding_window": 2047, "tie_word_embeddings": false, "use_cache": true, "vocab_size": 32064})")
          .transformer;
  CHECK((phi.block.attention.window == 2047 && phi.max_length == 4096));
  const PretrainedConfig gemma2 =
      read(R"({"architectures": ["Gemma2ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
    "attn_logit_softcapping": 50.0, "bos_token_id": 2, "cache_implementation": "hybrid", "eos_token_id": 1,
    "final_logit_softcapping": 30.0, "head_dim": 256, "hidden_act": "gelu_pytorch_tanh",
    "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 2304, "initializer_range": 0.02,
    "intermediate_size": 9216, "max_position_embeddings": 8192, "model_type": "gemma2", "num_attention_heads": 8,
    "num_hidden_layers": 26, "num_key_value_heads": 4, "pad_token_id": 0, "query_pre_attn_scalar": 256,
    "rms_norm_eps": 1e-06, "rope_theta": 10000.0, "sliding_window": 4096, "use_cache": true, "vocab_size": 256000})");
  const TransformerConfig& t = gemma2.transformer;
  CHECK((gemma2.logits.tied && gemma2.logits.soft_cap == 30 && t.block.attention.soft_cap == 50));
  CHECK((t.block_at(0).attention.window == 4096 && t.block_at(1).attention.window == 0));
  const TransformerConfig gemma3 =
      read(R"({"architectures": ["Gemma3ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
    "attn_logit_softcapping": null, "bos_token_id": 2, "cache_implementation": "hybrid", "eos_token_id": 1,
    "final_logit_softcapping": null, "head_dim": 256, "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 1152,
    "initializer_range": 0.02, "intermediate_size": 6912, "max_position_embeddings": 32768,
    "model_type": "gemma3_text", "num_attention_heads": 4, "num_hidden_layers": 26, "num_key_value_heads": 1,
    "pad_token_id": 0, "query_pre_attn_scalar": 256, "rms_norm_eps": 1e-06, "rope_local_base_freq": 10000,
    "rope_scaling": null, "rope_theta": 1000000, "sliding_window": 512, "sliding_window_pattern": 6,
    "use_cache": true, "vocab_size": 262144})")
          .transformer;
  CHECK((gemma3.block_at(4).attention.window == 512 && gemma3.block_at(5).attention.window == 0));
  CHECK((gemma3.window_rotary_base == 10000 && gemma3.rotary.base == 1000000));
  const TransformerConfig with_images =  // of 4B
      read(
          R"({"architectures": ["Gemma3ForConditionalGeneration"], "boi_token_index": 255999, "eoi_token_index": 256000,
    "eos_token_id": [1, 106], "image_token_index": 262144, "initializer_range": 0.02, "mm_tokens_per_image": 256,
    "model_type": "gemma3", "text_config": {"hidden_size": 2560, "intermediate_size": 10240,
    "model_type": "gemma3_text", "num_hidden_layers": 34, "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
    "sliding_window": 1024}, "torch_dtype": "bfloat16", "transformers_version": "4.50.0.dev0", "vision_config": {
    "hidden_size": 1152, "image_size": 896, "intermediate_size": 4304, "model_type": "siglip_vision_model",
    "num_attention_heads": 16, "num_hidden_layers": 27, "patch_size": 14, "vision_use_head": false}})")
          .transformer;
  CHECK((with_images.layers == 34 && with_images.heads() == 8 && with_images.block.attention.kv_heads == 4));
  CHECK((with_images.vocabulary == 262208 && with_images.max_length == 131072));
  CHECK((with_images.block_at(4).attention.window == 1024 && with_images.block_at(5).attention.window == 0));
}

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
  CHECK((t.block.mlp.activation == Activation::geglu && t.segments == 0 && t.embedding_norm && t.final_norm));
  CHECK((base.head_bias == Bias::no && base.logits.bias == Bias::yes && base.logits.tied));
  const TransformerConfig multilingual =  // transformers 5
      read("{" + shape + R"("rope_parameters": {"full_attention": {"rope_theta": 160000, "rope_type": "default"},
    "sliding_attention": {"rope_theta": 160000, "rope_type": "default"}}})")
          .transformer;
  CHECK((multilingual.window_rotary_base == 160000 && multilingual.rotary.base == 160000));
  CHECK(read("{" + shape + R"("sparse_prediction": false})").transformer.rotary.base == 160000);
}

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
    // Left by their authors in models that many people have.
    for (const char* key :
         {"antemplate", "author", "badwordsids", "created_date", "custom_pipelines", "max_sequence_length",
          "model_max_length", "n_special", "name", "predict_special_tokens", "tokenizer_type", "welcome"})
      config[key] = "of the author";
    CHECK(message([&] { read(config.dump()); }) == "no error");
  }
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
  CHECK((starcoder2.attention.output_bias == Bias::yes && starcoder2.mlp.bias == Bias::yes));
}
