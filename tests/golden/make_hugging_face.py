"""Writes small random models of every family that heed reads, as `transformers` saves them, and the results that it computes.
Run `python3 tests/golden/make_hugging_face.py` with torch, transformers and safetensors installed. It writes
tests/golden/hugging_face/NAME/, which is part of the tree.
"""

import json
import pathlib
import shutil
import subprocess
import sys

import torch
import transformers as tf
from safetensors.torch import load_file, save_file

here = pathlib.Path(__file__).parent
ids = [5, 17, 3, 42, 8, 17, 29, 11, 50, 7, 23]

encoder = dict(vocab_size=61, hidden_size=20, num_hidden_layers=2, num_attention_heads=4, intermediate_size=28,
               max_position_embeddings=16)
opt = dict(vocab_size=61, hidden_size=20, num_hidden_layers=2, num_attention_heads=4, ffn_dim=28,
                      max_position_embeddings=16, word_embed_proj_dim=20)
decoder = dict(vocab_size=61, hidden_size=20, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
               intermediate_size=28, max_position_embeddings=16, pad_token_id=0, bos_token_id=1, eos_token_id=2)
modernbert = dict(encoder, hidden_size=16, num_hidden_layers=4, num_attention_heads=2, local_attention=6, pad_token_id=0,
                  bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2)
wide = dict(decoder, head_dim=6)  # heads that are wider than d_model / heads
gemma = dict(wide, hidden_size=16, num_hidden_layers=3, query_pre_attn_scalar=9, sliding_window=4)
classes = dict(id2label={0: "negative", 1: "neutral", 2: "positive"})


def rope(kind="default", theta=500.0, **more):
    return dict(rope_type=kind, rope_theta=theta, **more)


# name: (class of the model, its configuration, type of the weights)
models = {
    "bert": (tf.BertForMaskedLM, tf.BertConfig(**encoder), torch.float32),
    "bert_bare": (tf.BertModel, tf.BertConfig(**encoder, hidden_act="gelu_new"), torch.float32),
    "megatron_bert": (tf.MegatronBertForMaskedLM, tf.MegatronBertConfig(**encoder), torch.float32),
    "distilbert": (tf.DistilBertForMaskedLM,
                   tf.DistilBertConfig(vocab_size=61, dim=20, n_layers=2, n_heads=4, hidden_dim=28,
                                       max_position_embeddings=16), torch.bfloat16),
    "electra": (tf.ElectraForMaskedLM, tf.ElectraConfig(**encoder, embedding_size=20), torch.bfloat16),
    "roberta": (tf.RobertaForMaskedLM,
                tf.RobertaConfig(**encoder, pad_token_id=1, type_vocab_size=1, layer_norm_eps=1e-5), torch.bfloat16),
    "gpt2": (tf.GPT2LMHeadModel,
             tf.GPT2Config(vocab_size=61, n_embd=20, n_layer=2, n_head=4, n_positions=16, n_inner=28), torch.float16),
    "gpt2_mistral": (tf.GPT2LMHeadModel,
                     tf.GPT2Config(vocab_size=61, n_embd=20, n_layer=3, n_head=4, n_positions=16,
                                   scale_attn_by_inverse_layer_idx=True, reorder_and_upcast_attn=True), torch.float16),
    "gpt_neo": (tf.GPTNeoForCausalLM,
                tf.GPTNeoConfig(vocab_size=61, hidden_size=20, num_layers=3, num_heads=4, max_position_embeddings=16,
                                attention_types=[[["global", "local"], 1], [["local"], 1]], window_size=4),
                torch.bfloat16),
    "opt": (tf.OPTForCausalLM, tf.OPTConfig(**opt), torch.float16),
    "opt_after": (tf.OPTForCausalLM, tf.OPTConfig(**opt, do_layer_norm_before=False, enable_bias=False),
                  torch.bfloat16),
    "gpt_neox": (tf.GPTNeoXForCausalLM,
                 tf.GPTNeoXConfig(**dict(encoder, num_attention_heads=2), rope_parameters=rope(partial_rotary_factor=0.4)),
                 torch.float16),
    "gpt_neox_sequential": (tf.GPTNeoXForCausalLM,
                            tf.GPTNeoXConfig(**dict(encoder, num_attention_heads=2), use_parallel_residual=False,
                                             rope_parameters=rope(partial_rotary_factor=0.8)), torch.bfloat16),
    "llama": (tf.LlamaForCausalLM,
              tf.LlamaConfig(**wide, attention_bias=True, mlp_bias=True, rope_parameters=rope(
                  "llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                  original_max_position_embeddings=64)), torch.bfloat16),
    "llama_tied": (tf.LlamaForCausalLM,
                   tf.LlamaConfig(**dict(decoder, hidden_size=24), tie_word_embeddings=True,
                                  rope_parameters=rope("linear", factor=3.0)), torch.float16),
    "llama_bare": (tf.LlamaModel, tf.LlamaConfig(**wide, rope_parameters=rope("dynamic", factor=4.0)), torch.bfloat16),
    "mistral": (tf.MistralForCausalLM,
                tf.MistralConfig(**wide, sliding_window=4, rope_parameters=rope("yarn", factor=4.0, beta_fast=4.0,
                                 original_max_position_embeddings=16)), torch.bfloat16),
    "qwen2": (tf.Qwen2ForCausalLM,
              tf.Qwen2Config(**dict(decoder, hidden_size=24, num_hidden_layers=3), use_sliding_window=True,
                             sliding_window=3, max_window_layers=1, rope_parameters=rope()), torch.bfloat16),
    "qwen3": (tf.Qwen3ForCausalLM, tf.Qwen3Config(**wide, tie_word_embeddings=True, rope_parameters=rope(
                  "yarn", factor=4.0, original_max_position_embeddings=8)), torch.bfloat16),
    "olmo2": (tf.Olmo2ForCausalLM, tf.Olmo2Config(**dict(decoder, hidden_size=24), rope_parameters=rope()),
              torch.bfloat16),
    "phi3": (tf.Phi3ForCausalLM,
             tf.Phi3Config(**dict(decoder, hidden_size=32, max_position_embeddings=48), sliding_window=5,
                           original_max_position_embeddings=12, rope_parameters=rope(
                               "longrope", partial_rotary_factor=0.75, short_factor=[1.0, 1.5, 2.25],
                               long_factor=[2.0, 4.0, 8.0], original_max_position_embeddings=12)), torch.bfloat16),
    "gemma": (tf.GemmaForCausalLM, tf.GemmaConfig(**dict(wide, num_key_value_heads=1), rope_parameters=rope()),
              torch.bfloat16),
    "gemma2": (tf.Gemma2ForCausalLM,
               tf.Gemma2Config(**gemma, attn_logit_softcapping=2.0, final_logit_softcapping=3.0,
                               rope_parameters=rope()), torch.bfloat16),
    "gemma3": (tf.Gemma3ForCausalLM,
               tf.Gemma3TextConfig(**gemma, layer_types=["full_attention", "sliding_attention", "full_attention"],
                                   rope_parameters={
                                       "full_attention": rope("linear", 2000.0, factor=8.0),
                                       "sliding_attention": rope(theta=50.0)}), torch.bfloat16),
    # with an image encoder, which heed leaves out
    "gemma3_images": (tf.Gemma3ForConditionalGeneration,
                      tf.Gemma3Config(
                          text_config=dict(gemma, layer_types=["sliding_attention", "full_attention", "full_attention"],
                                           rope_parameters={"full_attention": rope(theta=2000.0),
                                                            "sliding_attention": rope(theta=50.0)}),
                          vision_config=dict(hidden_size=8, intermediate_size=8, num_hidden_layers=1,
                                             num_attention_heads=1, image_size=8, patch_size=4),
                          mm_tokens_per_image=4, image_token_index=60), torch.bfloat16),
    # embeddings that are narrower than the states
    "electra_small": (tf.ElectraForMaskedLM, tf.ElectraConfig(**encoder, embedding_size=12), torch.float32),
    # other activations
    "bert_quick_gelu": (tf.BertForMaskedLM, tf.BertConfig(**encoder, hidden_act="quick_gelu"), torch.bfloat16),
    "gpt2_relu2": (tf.GPT2LMHeadModel,
                   tf.GPT2Config(vocab_size=61, n_embd=20, n_layer=2, n_head=4, n_positions=16, n_inner=28,
                                 activation_function="relu2"), torch.bfloat16),
    "llama_relu2": (tf.LlamaForCausalLM,
                    tf.LlamaConfig(**dict(decoder, hidden_size=24), hidden_act="relu2", rope_parameters=rope()),
                    torch.bfloat16),
    "llama_quick_gelu": (tf.LlamaForCausalLM,
                         tf.LlamaConfig(**dict(decoder, hidden_size=24), hidden_act="quick_gelu",
                                        rope_parameters=rope()), torch.bfloat16),
    # further families; the order gives the seeds
    "starcoder2": (tf.Starcoder2ForCausalLM,
                   tf.Starcoder2Config(**dict(decoder, hidden_size=16), sliding_window=4, rope_parameters=rope()),
                   torch.bfloat16),
    "stablelm": (tf.StableLmForCausalLM,
                 tf.StableLmConfig(**dict(decoder, hidden_size=16, num_attention_heads=2, num_key_value_heads=1),
                                   use_qkv_bias=True, rope_parameters=rope()), torch.bfloat16),
    "olmo3": (tf.Olmo3ForCausalLM,
              tf.Olmo3Config(**dict(decoder, hidden_size=16), sliding_window=4,
                             layer_types=["sliding_attention", "full_attention"],
                             rope_parameters={"full_attention": rope("yarn", factor=4.0, beta_fast=4.0,
                                                                     original_max_position_embeddings=16),
                                              "sliding_attention": rope(theta=50.0)}), torch.bfloat16),
    "phi": (tf.PhiForCausalLM,
            tf.PhiConfig(**dict(decoder, hidden_size=16, num_attention_heads=2, num_key_value_heads=2),
                         rope_parameters=rope()), torch.float16),
    "arcee": (tf.ArceeForCausalLM, tf.ArceeConfig(**dict(decoder, hidden_size=16), mlp_bias=True, rope_parameters=rope()),
              torch.bfloat16),
    "granite": (tf.GraniteForCausalLM,
                tf.GraniteConfig(**dict(decoder, hidden_size=16), embedding_multiplier=12.0, attention_multiplier=0.3,
                                 residual_multiplier=0.22, logits_scaling=6.0, attention_bias=True,
                                 tie_word_embeddings=True, rope_parameters=rope()), torch.bfloat16),
    "smollm3": (tf.SmolLM3ForCausalLM,
                tf.SmolLM3Config(**dict(decoder, hidden_size=16, num_hidden_layers=3), no_rope_layers=[1, 0, 1],
                                 use_sliding_window=True, sliding_window=4, rope_parameters=rope()), torch.bfloat16),
    "modernbert": (tf.ModernBertForMaskedLM,
                   tf.ModernBertConfig(**modernbert, rope_parameters={"full_attention": rope(theta=2000.0),
                                                                      "sliding_attention": rope(theta=50.0)}),
                   torch.bfloat16),
    # with the parts that the releases do not have
    "modernbert_biases": (tf.ModernBertForMaskedLM,
                          tf.ModernBertConfig(**modernbert, norm_bias=True, attention_bias=True, mlp_bias=True,
                                              classifier_bias=True, decoder_bias=False, tie_word_embeddings=False,
                                              hidden_activation="gelu_pytorch_tanh", classifier_activation="silu",
                                              layer_types=["sliding_attention", "full_attention"] * 2), torch.bfloat16),
    "opt_projected": (tf.OPTForCausalLM,
                      tf.OPTConfig(**dict(opt, word_embed_proj_dim=12), do_layer_norm_before=False), torch.float16),
    "albert": (tf.AlbertForMaskedLM,
               tf.AlbertConfig(**dict(encoder, num_hidden_layers=3), embedding_size=12), torch.bfloat16),
    # with the values of a file that leaves them out
    "gemma2_defaults": (tf.Gemma2ForCausalLM,
                        tf.Gemma2Config(**dict(gemma, query_pre_attn_scalar=1, sliding_window=4096),
                                        rope_parameters=rope()), torch.bfloat16),
    # classifiers of texts
    "bert_classes": (tf.BertForSequenceClassification, tf.BertConfig(**encoder, **classes), torch.float32),
    "distilbert_classes": (tf.DistilBertForSequenceClassification,
                           tf.DistilBertConfig(vocab_size=61, dim=20, n_layers=2, n_heads=4, hidden_dim=28,
                                               max_position_embeddings=16, **classes), torch.bfloat16),
    "electra_classes": (tf.ElectraForSequenceClassification, tf.ElectraConfig(**encoder, embedding_size=12, **classes),
                        torch.bfloat16),
    "albert_classes": (tf.AlbertForSequenceClassification, tf.AlbertConfig(**encoder, embedding_size=12, **classes),
                       torch.bfloat16),
    "roberta_classes": (tf.RobertaForSequenceClassification,
                        tf.RobertaConfig(**encoder, pad_token_id=1, type_vocab_size=1, **classes), torch.bfloat16),
    "modernbert_classes": (tf.ModernBertForSequenceClassification,
                           tf.ModernBertConfig(**modernbert, **classes, classifier_bias=True, norm_bias=True,
                                               rope_parameters={"full_attention": rope(theta=2000.0),
                                                                "sliding_attention": rope(theta=50.0)}), torch.bfloat16),
    "gpt2_classes": (tf.GPT2ForSequenceClassification,
                     tf.GPT2Config(vocab_size=61, n_embd=20, n_layer=2, n_head=4, n_positions=16, n_inner=28,
                                   pad_token_id=0, **classes), torch.float16),
    "llama_classes": (tf.LlamaForSequenceClassification, tf.LlamaConfig(**dict(decoder, hidden_size=24), **classes,
                                                                        rope_parameters=rope()), torch.bfloat16),
}


@torch.no_grad()
def shake(model, is_gemma):
    """Gives every parameter values of some size, so that each of them matters."""
    for name, parameter in sorted(model.named_parameters()):
        noise = torch.randn(parameter.shape)
        if parameter.ndim > 1:
            parameter.copy_(0.35 * noise)
        elif "norm" in name.lower() and name.endswith("weight") and not is_gemma or ".ln_" in name and "weight" in name:
            parameter.copy_(1 + 0.3 * noise)
        else:
            parameter.copy_(0.3 * noise)


def rename(folder, change):
    """Rewrites the weights as older versions of transformers saved them."""
    weights = load_file(folder / "model.safetensors")
    save_file(change(weights), folder / "model.safetensors", {"format": "pt"})


def old_bert(weights):
    renamed = {name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): value
               for name, value in weights.items()}
    return {**renamed, "embeddings.position_ids": torch.arange(16).unsqueeze(0)}


def old_gpt2(weights):
    bare = {name.removeprefix("transformer."): value for name, value in weights.items()}
    for layer in range(2):
        bare[f"h.{layer}.attn.bias"] = torch.tril(torch.ones(16, 16)).view(1, 1, 16, 16)
        bare[f"h.{layer}.attn.masked_bias"] = torch.tensor(-1e4)
    return bare


def old_neox(weights):
    named = {name.replace("lm_head.", "embed_out."): value for name, value in weights.items()}
    for layer in range(2):
        place = f"gpt_neox.layers.{layer}.attention."
        named[place + "bias"] = torch.tril(torch.ones(16, 16, dtype=torch.bool)).view(1, 1, 16, 16)
        named[place + "masked_bias"] = torch.tensor(-1e9)
        named[place + "rotary_emb.inv_freq"] = torch.ones(4)
    return named


def old_gemma3(weights):
    return {name.replace("model.language_model.", "language_model.model.").removeprefix("model."): value
            for name, value in weights.items()}


left_out = {"gemma2_defaults": ["attn_logit_softcapping", "final_logit_softcapping", "sliding_window"]}
older = {"gemma3_images": old_gemma3, "bert_bare": old_bert, "gpt2": old_gpt2, "gpt_neox_sequential": old_neox}


def make(name):
    kind, config, dtype = models[name]
    folder = here / "hugging_face" / name
    shutil.rmtree(folder, ignore_errors=True)
    torch.manual_seed(list(models).index(name))
    model = kind._from_config(config, attn_implementation="eager").eval()
    shake(model, name.startswith("gemma"))
    model.to(dtype).save_pretrained(folder, max_shard_size="9KB" if name == "olmo2" else "1GB")
    (folder / "generation_config.json").unlink(missing_ok=True)
    config_file = folder / "config.json"
    written = json.loads(config_file.read_text())
    for key in left_out.get(name, []):
        del written[key]
    if name in left_out:
        config_file.write_text(json.dumps(written, indent=2) + "\n")
    if name in older:
        rename(folder, older[name])
    sys.path.insert(0, str(here.parent.parent / "examples"))
    import golden
    save_file(golden.golden(golden.load(folder), ids), folder / "golden.safetensors",
              {"transformers": tf.__version__})


if __name__ == "__main__":
    if len(sys.argv) > 1:
        make(sys.argv[1])
    else:  # one process each: golden.load() changes torch
        for name in models:
            subprocess.run([sys.executable, __file__, name], check=True)
