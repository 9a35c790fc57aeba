// Configurations of LLaMA and similar decoders on the Hugging Face hub, as several versions of transformers wrote them.
#include "tests/catch.h"
#include "tests/formats/hugging_face/config_text.h"

using namespace heed;

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
  CHECK((qwen2.block.attention.bias && !qwen2.block.attention.output_bias));
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
