"""Reads a model that `train` saved and runs it with NumPy alone: every step from the tokens to the probabilities.

    python3 examples/read_model.py runs/toy/model.safetensors QUERY TOKEN...
    python3 examples/read_model.py runs/toy/model.safetensors 7 The animal "didn't" cross the street because it was too tired

QUERY is the number of the token that is asked about, from 0 (of a language model: the last). Prints what is predicted there,
the likeliest first, and where each head looks from it. Models that choose among candidates are given them with the
sentence: We left [the trophy] beside [the basket] because it was too large
"""

import json
import math
import struct
import sys

import numpy as np

functions = {
    "gelu": lambda x: x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2))),
    "gelu_tanh": lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "tanh": np.tanh,
    "quick_gelu": lambda x: x / (1 + np.exp(-1.702 * x)),
    "relu": lambda x: np.maximum(x, 0),
    "relu2": lambda x: np.maximum(x, 0) ** 2,
    "silu": lambda x: x / (1 + np.exp(-x)),
}


def read_safetensors(path):
    """Returns the tensors by name, and the metadata (github.com/huggingface/safetensors, "Format")."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    metadata, types = header.pop("__metadata__", {}), {"F32": np.float32, "F64": np.float64}
    return {name: np.frombuffer(data[slice(*t["data_offsets"])], types[t["dtype"]]).reshape(t["shape"])
            for name, t in header.items()}, metadata


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def rms(x, gain, eps):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * gain


def standard(x, eps=1e-5):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps)


class Model:
    def __init__(self, path):
        self.w, self.metadata = read_safetensors(path)
        if "heed.model" not in self.metadata:
            sys.exit(f"{path}: not a model that train saved")
        described = json.loads(self.metadata["heed.model"])
        logits = described.get("logits", {})
        if described["kind"] == "masked_language_model" or logits.get("soft_cap") or logits.get("scale", 1.0) != 1.0:
            sys.exit(f"{path}: this script reads no masked language models and no capped or scaled logits")
        self.config = described["transformer"]
        self.block, self.words = self.config["block"], json.loads(self.metadata["heed.vocabulary"])
        needed = {"embedding_width": 0, "unrotated_layers": [], "shared_layers": False, "first_attention_norm": True,
                  "block.norm.bias": True, "block.attention_norm": True, "block.residual_scale": 1.0, "rotary.fraction": 1.0,
                  "rotary.scaling": "none", "rotary.pairs": "halves", "embedding_norm": False,
                  "block.placement": "before", "block.parallel": False, "block.attention.scale": 0.0,
                  "block.attention.soft_cap": 0.0, "block.attention.window": 0, "final_norm": True}
        for name, value in needed.items():
            found = self.config
            for key in name.split("."):
                found = found.get(key, value)  # older files have no newer fields
            if found != value:
                sys.exit(f"{path}: this script reads models whose {name} is {value!r}, got {found!r}")

    def linear(self, name, x):
        return x @ self.w[name + ".weight"] + self.w.get(name + ".bias", 0)

    def norm(self, name, x):
        norm = self.block["norm"]
        if norm["kind"] == "none":
            return x
        if norm["kind"] == "rms":
            return rms(x, self.w[name + ".gain"], norm["epsilon"])
        return standard(x, norm["epsilon"]) * self.w[name + ".gain"] + self.w[name + ".bias"]

    def embed(self, ids, sentences=None):
        d, n = self.block["attention"]["d_model"], np.arange(len(ids))[:, None]
        x = self.w["words.weight"][ids] * self.config["embedding_scale"]
        if self.config["positions"] == "learned":
            x = x + self.w["positions.weight"][: len(ids)]
        if self.config["positions"] == "sinusoidal":
            angle = n / 10000 ** (np.arange(0, d, 2) / d)
            x = x + np.stack([np.sin(angle), np.cos(angle)], -1).reshape(len(ids), -1)[:, :d]
        if self.config["segments"]:
            x = x + self.w["sentences.weight"][sentences]
        return x

    def rotated(self, x):
        """Rotates coordinates i and i + d/2 by the angle position / base^(2i/d)."""
        d = x.shape[-1]
        angle = np.arange(x.shape[1])[:, None] / self.config["rotary"]["base"] ** (np.arange(0, d, 2) / d)
        a, b = x[..., : d // 2], x[..., d // 2 :]
        return np.concatenate([a * np.cos(angle) - b * np.sin(angle), a * np.sin(angle) + b * np.cos(angle)], -1)

    def attention(self, name, x):
        """Maps (T, d_model) to the output and the weights (heads, T, T)."""
        a, T = self.block["attention"], len(x)
        heads, key_heads = a["heads"], a.get("kv_heads") or a["heads"]
        part = {"K": "Q"} if a["tie"] == "Q_is_K" else {"V": "K"} if a["tie"] == "K_is_V" else {}
        Q, K, V = (
            self.linear(f"{name}.W_{part.get(m, m)}", x).reshape(T, count, -1).transpose(1, 0, 2)  # (heads, T, d)
            for m, count in (("Q", heads), ("K", key_heads), ("V", key_heads)))
        if f"{name}.q_norm.gain" in self.w:
            eps = a["query_key"]["epsilon"]
            Q, K = rms(Q, self.w[f"{name}.q_norm.gain"], eps), rms(K, self.w[f"{name}.k_norm.gain"], eps)
        if self.config["positions"] == "rotary":
            Q, K = self.rotated(Q), self.rotated(K)
        K, V = (np.repeat(m, heads // key_heads, 0) for m in (K, V))
        scores = Q @ K.transpose(0, 2, 1) / math.sqrt(Q.shape[-1])
        if self.config["causal"]:
            scores = np.where(np.tri(T, dtype=bool), scores, -np.inf)
        weights = softmax(scores)
        return self.linear(f"{name}.W_O", (weights @ V).transpose(1, 0, 2).reshape(T, -1)), weights

    def mlp(self, name, x):
        x, function = self.norm(name + ".norm", x), functions[self.block["mlp"]["activation"]]
        h = self.linear(name + ".in", x)
        h = function(self.linear(name + ".gate", x)) * h if self.block["mlp"]["gated"] else function(h)
        return self.linear(name + ".out", h)

    def __call__(self, tokens, query, candidates=(), sentences=None):
        """Returns the probabilities of all words or candidates, and the weights (layers, heads, T, T)."""
        number = {word: i for i, word in enumerate(self.words)}
        unknown = number.get(self.metadata.get("heed.unknown"))
        ids = [number.get(token, unknown) for token in tokens]
        if None in ids:
            sys.exit(f"not among the words that the model knows: {tokens[ids.index(None)]!r}")
        x = self.embed(ids, sentences)
        layers, all_weights = self.config["layers"], []
        for l in range(layers):
            read_by_last = x
            y, weights = self.attention(f"encoder.{l}.attention", self.norm(f"encoder.{l}.attention_norm", x))
            x = x + y if l + 1 < layers or self.config["last_residual"] else y
            if self.block["mlp"]["width"]:
                x = x + self.mlp(f"encoder.{l}.mlp", x)
            all_weights.append(weights)
        q = self.norm("encoder.norm", x[query])
        if "candidates.pointer.weight" in self.w:
            asked = q @ self.w["candidates.pointer.weight"] / math.sqrt(len(q))
            logits = [asked @ standard(read_by_last)[begin:end].mean(0) for begin, end in candidates]
            if "candidates.none" in self.w:
                logits.append(asked @ self.w["candidates.none"])
        else:
            logits = self.w.get("unembedding", self.w["words.weight"]) @ q + self.w.get("output_bias", 0)
        return softmax(np.array(logits)), np.array(all_weights)


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    try:
        model = Model(sys.argv[1])
    except Exception as error:
        sys.exit(f"{sys.argv[1]}: cannot be read as a model in safetensors: {error!r}")
    tokens, candidates = [], []
    if model.config["segments"]:
        sys.exit("the model reads sentences: call Model(FILE)(tokens, query, sentences=[...]) with each token's")
    chooses = "candidates.pointer.weight" in model.w
    for word in sys.argv[3:]:
        if chooses and word.startswith("["):
            candidates.append([len(tokens), 0])
        tokens.append(word.strip("[]") if chooses else word)
        if candidates and word.endswith("]"):
            candidates[-1][1] = len(tokens)
    longest = len(model.w.get("positions.weight", tokens))
    if len(tokens) > longest:
        sys.exit(f"the model reads {longest} tokens at most, got {len(tokens)}")
    query = int(sys.argv[2]) if sys.argv[2].isdecimal() else -1
    if not 0 <= query < len(tokens):
        sys.exit(f"QUERY: expected a token's number, from 0 to {len(tokens) - 1}, got {sys.argv[2]!r}")
    if chooses and not (candidates and all(end for begin, end in candidates)):
        sys.exit("the model chooses among candidates: put each in brackets, as in [the trophy]")
    probabilities, weights = model(tokens, query, candidates)
    names = [" ".join(tokens[b:e]) for b, e in candidates] + ["none of them"] if candidates else model.words
    for i in probabilities.argsort()[::-1][:3]:
        print(f"{names[i]}  {probabilities[i]:.6f}")
    for l, layer in enumerate(weights):
        for h, head in enumerate(layer):
            looks = head[query].argsort()[::-1][:3]
            print(f"layer {l + 1} head {h + 1}:  " + "  ".join(f"{tokens[t]} {head[query][t]:.6f}" for t in looks))


if __name__ == "__main__":
    main()
