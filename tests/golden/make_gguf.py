#!/usr/bin/env python3
"""make_gguf.py: writes tests/golden/gguf/, with the `gguf` package of llama.cpp.

  python3 -m venv VENV && VENV/bin/pip install gguf safetensors ml_dtypes
  VENV/bin/python tests/golden/make_gguf.py

llama.gguf, qwen2.gguf, qwen3.gguf and gpt2.gguf have the weights of the models in tests/golden/hugging_face, as llama.cpp's
convert_hf_to_gguf.py lays them out. types.gguf has for each type of numbers TYPE a tensor TYPE and its numbers, which the
package computes, as TYPE.numbers. tests/golden/rounded.gguf has numbers F32 and how the package rounds them to F16, BF16 and Q8_0.
"""
import json
import math
from pathlib import Path

import gguf
import numpy as np
from gguf.quants import dequantize, quantize
from safetensors import safe_open

GOLDEN = Path(__file__).resolve().parent
OUT = GOLDEN / "gguf"
NAMES = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output", "input_layernorm": "attn_norm",
         "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
         "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm", "post_attention_layernorm": "ffn_norm",
         "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
         "wte": "token_embd", "wpe": "position_embd", "ln_f": "output_norm", "ln_1": "attn_norm",
         "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "ln_2": "ffn_norm", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"}


def weights(directory):
    import ml_dtypes  # noqa: F401  (bfloat16 for NumPy)
    with safe_open(directory / "model.safetensors", framework="numpy") as file:
        return {name: file.get_tensor(name).astype(np.float32) for name in file.keys()}


def permute(rows, heads):
    """Interleaves the halves of each head's rows, as convert_hf_to_gguf.py does."""
    return rows.reshape(heads, 2, rows.shape[0] // heads // 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)


def their_name(name):
    stem, _, ending = name.removeprefix("transformer.").rpartition(".")
    for prefix in ("model.layers.", "h."):
        if stem.startswith(prefix):
            layer, _, stem = stem[len(prefix):].partition(".")
            return f"blk.{layer}.{NAMES[stem]}.{ending}"
    return f"{NAMES[stem]}.{ending}"


def llama3_divisors(config):
    """Returns the divisors that convert_hf_to_gguf.py stores as rope_freqs."""
    rope = config["rope_parameters"]
    low, high = rope["original_max_position_embeddings"] / rope["low_freq_factor"], rope["original_max_position_embeddings"] / rope["high_freq_factor"]
    divisors = []
    for pair in range(config["head_dim"] // 2):
        wavelength = 2 * math.pi * rope["rope_theta"] ** (2 * pair / config["head_dim"])
        if wavelength < high:
            divisors.append(1)
        elif wavelength > low:
            divisors.append(rope["factor"])
        else:
            smooth = (rope["original_max_position_embeddings"] / wavelength - rope["low_freq_factor"]) / (rope["high_freq_factor"] - rope["low_freq_factor"])
            divisors.append(1 / ((1 - smooth) / rope["factor"] + smooth))
    return np.array(divisors, dtype=np.float32)


def write_model(name):
    directory = GOLDEN / "hugging_face" / name
    config = json.loads((directory / "config.json").read_text())
    writer = gguf.GGUFWriter(OUT / f"{name}.gguf", name)
    is_gpt2 = name == "gpt2"
    writer.add_context_length(config["n_positions" if is_gpt2 else "max_position_embeddings"])
    writer.add_embedding_length(config["n_embd" if is_gpt2 else "hidden_size"])
    writer.add_block_count(config["n_layer" if is_gpt2 else "num_hidden_layers"])
    writer.add_head_count(config["n_head" if is_gpt2 else "num_attention_heads"])
    if is_gpt2:
        writer.add_feed_forward_length(config.get("n_inner") or 4 * config["n_embd"])
        writer.add_layer_norm_eps(config["layer_norm_epsilon"])
    else:
        head_dim = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
        writer.add_feed_forward_length(config["intermediate_size"])
        writer.add_head_count_kv(config["num_key_value_heads"])
        writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
        writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
        writer.add_rope_dimension_count(head_dim)
        writer.add_key_length(head_dim)
        writer.add_value_length(head_dim)
        if config["rope_parameters"]["rope_type"] == "llama3":
            writer.add_tensor("rope_freqs.weight", llama3_divisors(config))
        elif config["rope_parameters"]["rope_type"] == "yarn":
            writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
            writer.add_rope_scaling_factor(config["rope_parameters"]["factor"])
            writer.add_rope_scaling_orig_ctx_len(config["rope_parameters"]["original_max_position_embeddings"])
        elif config["rope_parameters"]["rope_type"] != "default":
            raise SystemExit(f"{name}: rotary type {config['rope_parameters']['rope_type']}")
    for tensor_name, values in weights(directory).items():
        if tensor_name.endswith((".attn.bias", ".attn.masked_bias")):
            continue
        for part, heads in (("q_proj", "num_attention_heads"), ("k_proj", "num_key_value_heads")):
            if name == "llama" and f".{part}." in tensor_name:
                values = permute(values, config[heads])
        if is_gpt2 and "h." in tensor_name and values.ndim == 2:
            values = values.T
        writer.add_tensor(their_name(tensor_name), np.ascontiguousarray(values))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def blocks_of(kind, rng):
    """Returns two rows of one block each: quantised if the package can do it, otherwise random bits with ordinary scales."""
    block, size = gguf.GGML_QUANT_SIZES[kind]
    numbers = max(block, 32)
    values = rng.normal(size=(2, numbers)).astype(np.float32)
    values[0, 0], values[1, 1] = -3.75, 0
    try:
        return quantize(values, kind)
    except NotImplementedError:
        raw = rng.integers(0, 256, size=(2, size), dtype=np.uint8)
        scales = rng.uniform(0.001, 0.1, size=(2, 2)).astype(np.float16).view(np.uint8)
        if kind in (gguf.GGMLQuantizationType.Q3_K, gguf.GGMLQuantizationType.Q6_K):
            raw[:, -2:] = scales[:, :2]
        elif kind == gguf.GGMLQuantizationType.Q2_K:
            raw[:, -4:] = scales
        else:
            raw[:, :4] = scales
        return raw


def write_types():
    writer = gguf.GGUFWriter(OUT / "types.gguf", "llama")
    rng = np.random.default_rng(1)
    for name in ["F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q4_K", "Q5_K", "Q6_K", "Q2_K", "Q3_K", "IQ4_NL", "IQ4_XS"]:
        kind = gguf.GGMLQuantizationType[name]
        raw = blocks_of(kind, rng)
        numbers = dequantize(raw, kind).astype(np.float32)
        writer.add_tensor(name, raw if raw.dtype == np.uint8 else np.ascontiguousarray(raw), raw_dtype=kind)
        writer.add_tensor(f"{name}.numbers", numbers)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_rounded():
    """Writes numbers of many sizes, and how the package rounds them."""
    rng = np.random.default_rng(7)
    values = (rng.normal(size=(6, 64)) * 10.0 ** rng.integers(-6, 3, size=(6, 64))).astype(np.float32)
    values[0, :32] = 0
    writer = gguf.GGUFWriter(GOLDEN / "rounded.gguf", "rounded")
    writer.add_tensor("F32", values)
    for kind in (gguf.GGMLQuantizationType.F16, gguf.GGMLQuantizationType.BF16, gguf.GGMLQuantizationType.Q8_0):
        writer.add_tensor(kind.name, quantize(values, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    OUT.mkdir(exist_ok=True)
    for name in ["llama", "qwen2", "qwen3", "gpt2"]:
        write_model(name)
    write_types()
    write_rounded()


if __name__ == "__main__":
    main()
