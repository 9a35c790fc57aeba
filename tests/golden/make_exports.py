"""Writes directories of `inspect export --hugging-face` for trained models, and the results that `transformers` computes: run
`python3 tests/golden/make_exports.py BUILD` with torch, transformers and safetensors installed, after a build in BUILD. It writes
tests/golden/exports/NAME/, which is part of the tree, and compares the trained model with these values.

The pretrained models are those of make_hugging_face.py with a small tokenizer. Each learns for three steps.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).parent.resolve()
sys.path.insert(0, str(here.parent.parent / "examples"))

words = ("[PAD] [UNK] [CLS] [SEP] [MASK] the cat dog saw a because it was big small bi ##rd ##s . hid from tree old red".split())
words += [f"w{i}" for i in range(len(words), 61)]
text = "".join(f"the {what} hid from a birds because it was {cue} .\n" for cue in ["big", "small", "old", "red"]
               for what in ["cat", "dog", "tree"])
shape = {"d_model": 8, "heads": 2, "layers": 2, "mlp": 12}

# name: (the class of transformers that loads it, the task, keys of the model)
models = {
    "own_gpt2": ("AutoModelForCausalLM", "text", {**shape, "activation": "gelu_tanh"}),
    "own_llama": ("AutoModelForCausalLM", "text",
                  {**shape, "kv_heads": 1, "activation": "silu", "gated": True, "norm": "rms", "positions": "rotary", "logits": "untied"}),
    "own_qwen3": ("AutoModelForCausalLM", "text",
                  {**shape, "activation": "silu", "gated": True, "norm": "rms", "normalised_heads": True, "positions": "rotary",
                   "output_bias": False}),
    "own_mistral": ("AutoModelForCausalLM", "text",
                    {**shape, "kv_heads": 1, "activation": "silu", "gated": True, "norm": "rms", "positions": "rotary", "window": 3,
                     "bias": False, "output_bias": False}),
    "own_qwen3_window": ("AutoModelForCausalLM", "text",
                         {**shape, "activation": "silu", "gated": True, "norm": "rms", "normalised_heads": True, "positions": "rotary",
                          "output_bias": False, "window": 3, "full_attention_every": 2}),
    "own_bert": ("AutoModelForMaskedLM", "masked_text",
                 {**shape, "norm_placement": "after", "embedding_norm": True, "final_norm": False}),
    "own_megatron_bert": ("AutoModelForMaskedLM", "masked_text", shape),
    "text_of_gpt2": ("AutoModelForCausalLM", "text", {"from": "gpt2"}),
    "text_of_llama": ("AutoModelForCausalLM", "text", {"from": "llama"}),
    "masked_text_of_bert": ("AutoModelForMaskedLM", "masked_text", {"from": "bert"}),
    "masked_text_of_bare_bert": ("AutoModelForMaskedLM", "masked_text", {"from": "bert_bare"}),
    "candidates_of_bert": ("AutoModel", "candidates", {"from": "bert"}),
}


def tokenizer(has_special):
    added = [{"id": id, "content": words[id], "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
              "special": True} for id in range(5)]
    template = {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}
    return json.dumps({
        "version": "1.0", "added_tokens": added if has_special else [], "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": template if has_special else None,
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": False},
        "model": {"type": "WordPiece", "vocab": {word: id for id, word in enumerate(words)}, "unk_token": "[UNK]",
                  "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}})


def sentences():
    for cue in ["big", "small", "old", "red"]:
        for what in ["cat", "dog", "tree"]:
            yield json.dumps({"tokens": ["the", what, "saw", "a", "birds", "because", "it", "was", cue], "query": 6,
                              "candidates": [[1, 2], [4, 5]], "antecedent": int(cue != "big")})


def configuration(task, model):
    data = {"task": task, "train": "sentences.jsonl" if task == "candidates" else "text.txt"}
    if task != "candidates":
        data["context"] = 12
    if "from" not in model:
        data["tokens"] = "characters"
    return {"data": data, "model": model, "optim": {"lr": 0.01, "schedule": "constant", "warmup": 0},
            "train": {"steps": 3, "batch_size": 4, "evaluate_every": 3}}


def make(name, build):
    kind, task, keys = models[name]
    out = here / "exports" / name
    shutil.rmtree(out, ignore_errors=True)
    with tempfile.TemporaryDirectory() as scratch:
        place = pathlib.Path(scratch)
        (place / "text.txt").write_text(text * 3)
        (place / "sentences.jsonl").write_text("\n".join(sentences()) + "\n")
        if "from" in keys:
            shutil.copytree(here / "hugging_face" / keys["from"], place / keys["from"])
            (place / keys["from"] / "tokenizer.json").write_text(tokenizer(keys["from"].startswith("bert")))
        (place / "config.yaml").write_text(json.dumps(configuration(task, keys)))
        run = [build / "train", "--quiet", "--config", "config.yaml", "--out", "run"]
        subprocess.run(run, cwd=place, check=True)
        subprocess.run([build / "inspect", "export", "run", "--hugging-face", out], cwd=place, check=True, stdout=subprocess.DEVNULL)

        import transformers
        transformers.logging.set_verbosity_error()
        model, loading = getattr(transformers, kind).from_pretrained(out, output_loading_info=True)
        assert type(model).__name__ == json.loads((out / "config.json").read_text())["architectures"][0]
        unused = sorted(loading["unexpected_keys"])
        assert not loading["missing_keys"] or kind == "AutoModel" and set(loading["missing_keys"]) <= {
            "pooler.dense.weight", "pooler.dense.bias"}, loading
        assert unused == (["candidates.pointer.weight"] if task == "candidates" else []), unused
        if (out / "tokenizer.json").exists():
            read = {"text": "the cat saw a birds"}
            ids = transformers.AutoTokenizer.from_pretrained(out)(read["text"])["input_ids"]
        else:
            read, ids = {}, [3, 1, 7, 7, 2, 9, 4]
        golden_values(out, ids, read, task == "candidates")
        subprocess.run([build / "inspect", "verify", "run/model.safetensors", "--against", out / "golden.safetensors"], cwd=place,
                       check=True)


def golden_values(out, ids, metadata, has_candidates):
    import golden
    import torch
    import transformers
    from safetensors.torch import load_file, save_file
    W = load_file(out / "model.safetensors").get("candidates.pointer.weight")
    model = golden.load(out)
    values = golden.golden(model, ids)
    if has_candidates:  # as docs/how-to/fine-tune.md explains
        query, candidates = len(ids) - 2, [[1, 2], [4, 6]]
        d = model.config.hidden_size
        q, x = values["hidden"][-1][query], torch.nn.functional.layer_norm(values["hidden"][-2], (d,))
        logits = [(W.double() @ q) @ x[begin:end].mean(0) / d**0.5 for begin, end in candidates]
        values.update({"query": torch.tensor(query), "candidates": torch.tensor(candidates), "candidate_logits": torch.stack(logits)})
    save_file(values, out / "golden.safetensors", {**metadata, "transformers": transformers.__version__})


if __name__ == "__main__":
    build = pathlib.Path(sys.argv[1]).resolve()
    if len(sys.argv) > 2:
        make(sys.argv[2], build)
    else:  # one process each: golden.load() changes torch
        for name in models:
            subprocess.run([sys.executable, __file__, build, name], check=True)
