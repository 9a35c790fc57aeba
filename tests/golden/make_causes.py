"""Effects of every head and every edge on one answer, for some of the models of make_hugging_face.py, computed by `transformers`
with hooks: run `python3 tests/golden/make_causes.py` with torch, transformers and safetensors installed. It writes
tests/golden/causes/NAME.safetensors, which is part of the tree.

A head is changed where its output enters the output projection. When an edge is cut, the other tokens share its weight, so the
head's output at the query becomes (z - a v) / (1 - a) with the edge's weight a and the value v of its key. With weight 0
instead, the other tokens keep theirs, and it becomes z - a v.
"""

import pathlib
import subprocess
import sys

import torch
from safetensors.torch import save_file

here = pathlib.Path(__file__).parent
sys.path.insert(0, str(here.parent.parent / "examples"))
text = [5, 17, 3, 42, 8, 17, 29, 11]
least_cut_weight = 0.01

# name: (the query; the token and the id that make the text's counterpart)
models = {"bert": (4, 1), "gpt2": (7, 2), "llama": (7, 2), "gemma2": (7, 6)}


def attention_of(model, layer):
    """Returns the output projection of a layer, and a function that returns its values (heads, T, d_v) from hooked tensors."""
    if hasattr(model, "bert"):
        attention = model.bert.encoder.layer[layer].attention
        return attention.output.dense, attention.self.value, lambda v: v
    if hasattr(model, "transformer"):
        attention = model.transformer.h[layer].attn
        return attention.c_proj, attention.c_attn, lambda qkv: qkv.chunk(3, dim=-1)[2]
    attention = model.model.layers[layer].self_attn
    return attention.o_proj, attention.v_proj, lambda v: v


class Reader:
    """Reads a text, with a change of the heads' joined output (1, T, heads d_v) in one layer."""

    def __init__(self, model, query):
        self.model, self.query = model, query
        self.layers, self.heads = model.config.num_hidden_layers, model.config.num_attention_heads

    @torch.no_grad()
    def logits(self, ids, layer=None, change=None):
        hook = None
        if change:
            hook = attention_of(self.model, layer)[0].register_forward_pre_hook(lambda _, inputs: (change(inputs[0].clone()),))
        logits = self.model(torch.tensor([ids])).logits[0, self.query]
        if hook:
            hook.remove()
        return logits

    @torch.no_grad()
    def seen(self, ids):
        """Returns per layer the joined outputs, the values (heads, T, d_v) and the weights (heads, T, T)."""
        outputs, values, hooks = {}, {}, []
        for layer in range(self.layers):
            projection, value, part = attention_of(self.model, layer)
            hooks.append(projection.register_forward_pre_hook(lambda _, i, layer=layer: outputs.update({layer: i[0].clone()})))
            hooks.append(value.register_forward_hook(lambda _, i, o, layer=layer, part=part: values.update({layer: part(o)})))
        weights = self.model(torch.tensor([ids]), output_attentions=True).attentions
        for hook in hooks:
            hook.remove()
        for layer in range(self.layers):
            width = outputs[layer].shape[-1] // self.heads
            value = values[layer][0].unflatten(-1, (-1, width)).transpose(0, 1)  # (kv_heads, T, d_v)
            values[layer] = value.repeat_interleave(self.heads // value.shape[0], 0)
        return outputs, values, [w[0] for w in weights]


def causes(model, query, other):
    reader = Reader(model, query)
    T, L, H = len(text), reader.layers, reader.heads
    outputs, values, weights = reader.seen(text)
    before = reader.logits(text)
    answer = before.argmax()
    counterpart, rival = None, answer
    for id in range(61):  # the first id in that place that changes the answer
        counterpart = text[:other] + [id] + text[other + 1:]
        before_in_pair = reader.logits(counterpart)
        rival = before_in_pair.argmax()
        if rival != answer:
            break
    assert rival != answer, "no id in that place changes the answer"

    def probability(logits):
        return logits.softmax(-1)[answer]

    def difference(logits):
        return logits[answer] - logits[rival]

    result = {"ids": torch.tensor(text), "counterpart": torch.tensor(counterpart), "query": torch.tensor(query),
              "answer": answer, "rival": rival, "probability": probability(before),
              "difference": difference(before), "pair_difference": difference(before_in_pair),
              "restored": torch.zeros(L, H), "answer_without": torch.zeros(L, H)}
    for name in ["probability", "difference"]:
        result.update({f"{name}_zero": torch.zeros(L, H), f"{name}_mean": torch.zeros(L, H),
                       f"{name}_cuts": torch.full((L, H, T), float("nan")),
                       f"{name}_zero_weights": torch.full((L, H, T), float("nan"))})
    for layer in range(L):
        width = outputs[layer].shape[-1] // H
        for head in range(H):
            part = slice(head * width, (head + 1) * width)

            def put(value):
                def change(z):
                    z[0, :, part] = value
                    return z
                return change

            def lose(key, shares_weight):
                def change(z):
                    a = weights[layer][head, query, key]
                    z[0, query, part] -= a * values[layer][head, key]
                    if shares_weight:
                        z[0, query, part] /= 1 - a
                    return z
                return change

            def record(name, at, change):
                logits = reader.logits(text, layer, change)
                for kind, measure in [("probability", probability), ("difference", difference)]:
                    result[f"{kind}_{name}"][at] = measure(logits) - measure(before)
                return logits

            output = outputs[layer][0, :, part]
            result["answer_without"][layer, head] = record("zero", (layer, head), put(0)).argmax()
            record("mean", (layer, head), put(output.mean(0)))
            for key in range(T):
                if weights[layer][head, query, key] >= least_cut_weight:
                    record("cuts", (layer, head, key), lose(key, shares_weight=True))
                    record("zero_weights", (layer, head, key), lose(key, shares_weight=False))
            patched = difference(reader.logits(counterpart, layer, put(output)))
            result["restored"][layer, head] = ((patched - result["pair_difference"]) /
                                               (result["difference"] - result["pair_difference"]))
    return {name: value.clone().contiguous() for name, value in result.items()}


def make(name):
    import golden
    model = golden.load(here / "hugging_face" / name)
    torch.set_default_dtype(torch.float64)
    (here / "causes").mkdir(exist_ok=True)
    save_file(causes(model, *models[name]), here / "causes" / f"{name}.safetensors")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        make(sys.argv[1])
    else:  # one process each: golden.load() changes torch
        for name in models:
            subprocess.run([sys.executable, __file__, name], check=True)
