"""The bench's side in PyTorch."""

import importlib.util
import math
import os
import pathlib
import subprocess
import sys
import time

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # more would start processes that keep our pipes open

import numpy
import torch
import torch.nn.functional as F

import functions
from peer import read_safetensors, serve, turn


class Block(torch.nn.Module):
    """Pre-norm block, with or without an MLP; as in GPT-2, or with the parts of LLaMA that the weights contain."""

    def __init__(self, weights, prefix, heads, residual):
        super().__init__()
        self.heads, self.residual, self.mlp = heads, residual, f"{prefix}.mlp.in.weight" in weights
        self.attention_norm = norm(weights, f"{prefix}.attention_norm")
        projections = [f"{prefix}.attention.W_{name}" for name in "QKV"]
        self.W_QKV = linear(  # one product for all three, as usual
            numpy.concatenate([weights[f"{name}.weight"] for name in projections], 1),
            numpy.concatenate([weights[f"{name}.bias"] for name in projections])
            if f"{projections[0]}.bias" in weights else None)
        self.W_O = linear(weights[f"{prefix}.attention.W_O.weight"], weights.get(f"{prefix}.attention.W_O.bias"))
        self.q_norm, self.k_norm = (
            norm(weights, f"{prefix}.attention.{x}_norm") if f"{prefix}.attention.{x}_norm.gain" in weights
            else torch.nn.Identity() for x in "qk")
        if self.mlp:
            names = [f"{prefix}.mlp.{name}" for name in ("gate", "in") if f"{prefix}.mlp.{name}.weight" in weights]
            self.mlp_norm, self.gated = norm(weights, f"{prefix}.mlp.norm"), len(names) > 1
            self.mlp_in = linear(numpy.concatenate([weights[f"{name}.weight"] for name in names], 1),
                                 weights.get(f"{names[0]}.bias"))
            self.mlp_out = linear(weights[f"{prefix}.mlp.out.weight"], weights.get(f"{prefix}.mlp.out.bias"))

    def heads_of(self, x):
        """Returns Q, K and V of a text: (B, heads, T, d) each."""
        B, T, _ = x.shape
        Q, K, V = self.W_QKV(self.attention_norm(x)).view(B, T, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        return self.q_norm(Q), self.k_norm(K), V

    def forward(self, x, mask, causal):
        Q, K, V = self.heads_of(x)
        y = F.scaled_dot_product_attention(Q, K, V, attn_mask=mask, is_causal=causal)
        return self.rest(x, self.W_O(y.transpose(1, 2).flatten(2)))

    def at(self, query, x, mask):
        """Computes forward() only at token query[b] of each text b: (B, d_model)."""
        B, T, _ = x.shape
        texts, normed = torch.arange(B), self.attention_norm(x)
        W_Q, W_KV = self.W_QKV.weight.tensor_split([self.W_QKV.out_features // 3])
        Q = F.linear(normed[texts, query], W_Q).view(B, self.heads, 1, -1)
        K, V = F.linear(normed, W_KV).view(B, T, 2, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(Q, K, V, attn_mask=mask)
        return self.rest(x[texts, query] if self.residual else None, self.W_O(y.flatten(1)))

    def rest(self, x, y):
        x = x + y if self.residual else y
        if not self.mlp:
            return x
        hidden = self.mlp_in(self.mlp_norm(x))
        if self.gated:
            gate, value = hidden.chunk(2, -1)
            return x + self.mlp_out(F.silu(gate) * value)
        return x + self.mlp_out(F.gelu(hidden))


def linear(weight, bias=None):
    layer = torch.nn.Linear(*weight.shape, bias=bias is not None)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(weight.T))
        if bias is not None:
            layer.bias.copy_(torch.tensor(bias))
    return layer


def norm(weights, prefix):
    gain, bias = weights[f"{prefix}.gain"], weights.get(f"{prefix}.bias")
    layer = torch.nn.RMSNorm(gain.shape, eps=1e-6) if bias is None else torch.nn.LayerNorm(gain.shape)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(gain))
        if bias is not None:
            layer.bias.copy_(torch.tensor(bias))
    return layer


def parameter(array):
    return torch.nn.Parameter(torch.tensor(array))


class Model(torch.nn.Module):
    """A language model, or, with `reader`, heed's model that answers questions."""

    def __init__(self, weights, layers, heads, reader):
        super().__init__()
        self.reader = reader
        self.words = parameter(weights["words.weight"])
        self.positions = parameter(weights["positions.weight"]) if "positions.weight" in weights else None
        self.blocks = torch.nn.ModuleList(
            Block(weights, f"encoder.{l}", heads, residual=not reader or l + 1 < layers) for l in range(layers))
        self.norm = norm(weights, "encoder.norm")
        if reader:
            self.output_bias = parameter(weights["output_bias"])

    def forward(self, tokens, mask=None, query=None):
        x = F.embedding(tokens, self.words)
        if self.reader:
            x = x * self.words.shape[1] ** 0.5
        x = x + self.positions[: tokens.shape[1]]
        for block in self.blocks[:-1] if self.reader else self.blocks:
            x = block(x, mask, causal=not self.reader)
        if self.reader:
            return F.linear(self.norm(self.blocks[-1].at(query, x, mask)), self.words, self.output_bias)
        return F.linear(self.norm(x), self.words)


class Writing:
    """Generates that many tokens per call, each the most probable, with a cache of keys and values."""

    def __init__(self, request, compiled):
        arrays = read_safetensors(request["file"])
        self.model = Model(arrays, request["layers"], request["heads"], False).eval()
        self.tokens, self.context, d = request["tokens"], request["context"], self.model.words.shape[1] // request["heads"]
        shape = (request["layers"], 1, request["heads"], self.context, d)
        self.K, self.V = torch.zeros(shape), torch.zeros(shape)
        angle = torch.outer(torch.arange(self.context), 10000.0 ** (-torch.arange(0, d, 2) / d)).repeat(1, 2)
        self.turns = None if self.model.positions is not None else (angle.cos(), angle.sin())
        self.read, self.written = 0, [1]
        self.step = torch.compile(self.one, dynamic=False) if compiled else self.one
        self.compiled = compiled

    def embedded(self, tokens, places):
        x = F.embedding(tokens, self.model.words)
        return (x if self.turns else x + self.model.positions[places])[None]

    def heads_of(self, block, x, places):
        """Returns Q, K and V of the tokens at these positions, rotated unless positions were added."""
        Q, K, V = block.heads_of(x)
        if self.turns:
            c, s = (table[places] for table in self.turns)
            half = Q.shape[-1] // 2
            Q, K = (y * c + torch.cat((-y[..., half:], y[..., :half]), -1) * s for y in (Q, K))
        return Q, K, V

    def rows(self, tokens, first):
        """Returns the logits after `tokens`, which follow `first` others."""
        end = first + len(tokens)
        x = self.embedded(tokens, slice(first, end))
        for l, block in enumerate(self.model.blocks):
            Q, K, V = self.heads_of(block, x, slice(first, end))
            self.K[l, :, :, first:end], self.V[l, :, :, first:end] = K, V
            y = F.scaled_dot_product_attention(Q, self.K[l, :, :, :end], self.V[l, :, :, :end], is_causal=len(tokens) > 1)
            x = block.rest(x, block.W_O(y.transpose(1, 2).flatten(2)))
        return F.linear(self.model.norm(x[0, -1]), self.model.words)

    def one(self, token, place):
        """rows() for one token at a position given as a tensor: one compiled program for all positions."""
        x = self.embedded(token, place)
        visible = (torch.arange(self.context) <= place)[None, None, None]
        for l, block in enumerate(self.model.blocks):
            Q, K, V = self.heads_of(block, x, place)
            self.K[l].index_copy_(2, place, K)
            self.V[l].index_copy_(2, place, V)
            y = F.scaled_dot_product_attention(Q, self.K[l], self.V[l], attn_mask=visible)
            x = block.rest(x, block.W_O(y.transpose(1, 2).flatten(2)))
        return F.linear(self.model.norm(x[0, -1]), self.model.words)

    @torch.inference_mode()
    def write(self, count):
        logits = []
        for _ in range(count):
            unread = 1
            if self.read + unread > self.context:
                self.read, unread = 0, max(1, self.context // 2)
            tokens = torch.tensor(self.written[-unread:])
            if self.compiled and unread == 1:
                after = self.step(tokens, torch.tensor([self.read]))
            else:
                after = self.rows(tokens, self.read)
            self.read += unread
            self.written.append(int(after.argmax()))
            logits.append(after[self.written[-1]].item())
        return logits

    def __call__(self):
        self.write(self.tokens)


class Pretrained:
    """A model of transformers that reads a batch of texts at once, or generates the most probable token. Each call returns the
    largest logit or state."""

    def __init__(self, request):
        import transformers

        transformers.utils.logging.disable_progress_bar()
        config = transformers.AutoConfig.from_pretrained(request["directory"])
        self.is_decoder = config.model_type == "llama"
        kind, options = (
            (transformers.AutoModelForCausalLM, {}) if self.is_decoder
            else (transformers.BertModel, {"add_pooling_layer": False}))
        self.model = kind.from_pretrained(request["directory"], dtype=getattr(torch, request["dtype"]), **options).eval()
        B, T = request["tokens"]
        self.tokens = ((torch.arange(B * T) * 7919 + 17) % config.vocab_size).view(B, T)
        self.past = None

    @torch.inference_mode()
    def __call__(self):
        if not self.is_decoder:
            return self.model(self.tokens).last_hidden_state.max()
        one = self.tokens.numel() == 1
        if not one or (self.past is not None and self.past.get_seq_length() >= 60):
            self.past = None
        result = self.model(self.tokens, past_key_values=self.past, use_cache=True, logits_to_keep=1)
        logits, self.past = result.logits[:, -1], result.past_key_values
        if one:
            self.tokens = logits.argmax(-1, keepdim=True)
        return logits.max()


class Training:
    """One training step per call, cycling over the batches of the file."""

    def __init__(self, request, compiled):
        arrays = read_safetensors(request["file"])
        self.reader = request["row"] == "reader"
        self.autocast = request.get("autocast", False)
        self.model = Model(arrays, request["layers"], request["heads"], self.reader)
        self.forward = torch.compile(self.model) if compiled else self.model
        self.adamw = torch.optim.AdamW(self.model.parameters(), lr=1e-3, weight_decay=0.1, fused=True)
        self.batches = []
        while f"batch.{len(self.batches)}.tokens" in arrays:
            n = len(self.batches)
            tokens = torch.tensor(arrays[f"batch.{n}.tokens"]).long()
            if self.reader:
                visible = torch.arange(tokens.shape[1]) < torch.tensor(arrays[f"batch.{n}.lengths"])[:, None]
                query, answer = (torch.tensor(arrays[f"batch.{n}.{what}"]).long() for what in ("query", "answer"))
                self.batches.append(((tokens, visible[:, None, None, :], query), answer))
            else:
                self.batches.append(((tokens[:, :-1].contiguous(),), tokens[:, 1:].flatten()))
        self.steps = 0

    def __call__(self):
        inputs, answer = self.batches[self.steps % len(self.batches)]
        self.steps += 1
        with torch.autocast("cpu", torch.bfloat16, enabled=self.autocast):
            loss = F.cross_entropy(self.forward(*inputs).flatten(0, -2), answer)
        self.adamw.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1)
        self.adamw.step()
        return loss


def operation(request):
    name, shape = request["row"], request.get("shape")
    if name == "graph":
        x = torch.ones((), requires_grad=True)

        def graph():
            y = x
            for _ in range(request["operations"] // 2):
                y = y * 0.999 + x
            y.backward()

        return graph
    if name == "program":
        command = [sys.executable, str(pathlib.Path(__file__).parent / request["script"]), *request["arguments"]]
        return lambda: subprocess.run(command + [way for way in [request.get("way")] if way], check=True)
    if name == "AdamW":
        p = torch.nn.Parameter(torch.randn(shape))
        p.grad = torch.randn(shape)
        return torch.optim.AdamW([p], lr=1e-3, weight_decay=0.01, fused=True).step
    x = torch.randn(shape, requires_grad=True)
    if name == "cross-entropy":
        labels = torch.arange(shape[0]) * 7919 % shape[1]
        return lambda: torch.autograd.grad(F.cross_entropy(x, labels), x)
    if name == "embedding":
        ids, dy = torch.arange(request["ids"]) * 7919 % shape[0], torch.randn(request["ids"], shape[1])
        return lambda: torch.autograd.grad(F.embedding(ids, x), x, dy)
    dy = torch.randn(shape)
    if name == "attention":
        shared = [shape[0], request["kv_heads"], *shape[2:]]
        K, V = (torch.randn(shared, requires_grad=True) for _ in range(2))
        return lambda: torch.autograd.grad(
            F.scaled_dot_product_attention(x, K, V, is_causal=request["causal"], enable_gqa=shared != shape), (x, K, V), dy)
    if name == "LSTM":
        lstm = torch.nn.LSTM(shape[-1], shape[-1], batch_first=True)
        return lambda: torch.autograd.grad(lstm(x)[0], (x, *lstm.parameters()), dy)
    if name == "SwiGLU":
        value = torch.randn(shape, requires_grad=True)
        return lambda: torch.autograd.grad(F.silu(x) * value, (x, value), dy)
    if name == "rotary":  # as in Hugging Face's models
        d = shape[-1]
        angle = torch.outer(torch.arange(shape[-2]), 10000.0 ** (-torch.arange(0, d, 2) / d)).repeat(1, 2)
        c, s = angle.cos(), angle.sin()
        return lambda: torch.autograd.grad(x * c + torch.cat((-x[..., d // 2:], x[..., :d // 2]), -1) * s, x, dy)
    if name == "RMSNorm":
        gain = torch.ones(shape[-1], requires_grad=True)
        return lambda: torch.autograd.grad(F.rms_norm(x, shape[-1:], gain, 1e-6), (x, gain), dy)
    if name == "layer norm":
        gain, bias = torch.ones(shape[-1], requires_grad=True), torch.zeros(shape[-1], requires_grad=True)
        return lambda: torch.autograd.grad(F.layer_norm(x, shape[-1:], gain, bias), (x, gain, bias), dy)
    f = {"softmax": lambda t: torch.softmax(t, -1), "GELU": F.gelu}[name]
    return lambda: torch.autograd.grad(f(x), x, dy)


def work_of(request, compiled):
    if request["row"] == "pretrained":
        return Pretrained(request)
    if request["row"] == "function":
        return functions.work(request)
    if "file" not in request:
        return operation(request)
    return (Writing if request["row"] == "writing" else Training)(request, compiled)


def prepare(request, threads):
    """Returns the row's work by the fastest available method, and the method's name."""
    is_model = "file" in request
    ways = [(n, False) for n in range(1, threads + 1)] + ([(threads, True)] if is_model else [])
    if request["row"] == "program":  # it chooses its threads
        programs = {way: operation({**request, "way": way}) for way in request.get("ways", [""])}
        way = min(programs, key=lambda name: turn(programs[name], 0)) if len(programs) > 1 else ""
        return programs[way], f"{threads} threads{', ' if way else ''}{way}"
    works = {}
    for n, compiled in ways:
        torch.set_num_threads(n)
        try:
            work = work_of(request, compiled)
            turn(work, 0)
            works[n, compiled] = work
        except Exception as error:
            if not compiled:
                raise
            print(f"torch.compile failed: {str(error).splitlines()[0]}", file=sys.stderr)
    fastest = dict.fromkeys(works, math.inf)
    end = time.perf_counter() + 10
    for _ in range(5 if len(works) > 1 else 0):  # alternately, since the machine's speed changes
        for way, work in works.items():
            torch.set_num_threads(way[0])
            fastest[way] = min(fastest[way], turn(work, 0.1))
        if time.perf_counter() > end:
            break
    n, compiled = min(works, key=fastest.get)
    torch.set_num_threads(n)
    return works[n, compiled], f"{n} thread{'s' if n > 1 else ''}{', compiled' if compiled else ''}"


def losses(request, steps):
    if request["row"] == "writing":
        return Writing(request, False).write(steps)
    if request["row"] == "pretrained":
        pretrained = Pretrained(request)
        return [pretrained().item() for _ in range(steps)]
    training = Training(request, False)
    return [training().item() for _ in range(steps)]


if __name__ == "__main__":
    has_transformers = importlib.util.find_spec("transformers") is not None
    serve("PyTorch", torch.__version__, lambda row: row["row"] != "pretrained" or has_transformers, prepare, losses)
