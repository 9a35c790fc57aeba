"""The bench's side in JAX. Each piece of work is one compiled program; a step donates its parameters and moments to the next."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy

from peer import read_safetensors, serve

LR, BETA1, BETA2, EPS, DECAY = 1e-3, 0.9, 0.999, 1e-8, 0.1


def layer_norm(x, gain, bias):
    mean = x.mean(-1, keepdims=True)
    variance = jnp.square(x - mean).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * gain + bias


def attention(Q, K, V, visible=None):
    """Q (..., m, d), K and V (..., n, d)."""
    scores = jnp.einsum("...md,...nd->...mn", Q, K) / Q.shape[-1] ** 0.5
    if visible is not None:
        scores = jnp.where(visible, scores, -jnp.inf)
    return jnp.einsum("...mn,...nd->...md", jax.nn.softmax(scores, -1), V)


def cross_entropy(logits, answer):
    rest = jax.nn.log_softmax(logits, -1)
    return -jnp.take_along_axis(rest, answer[..., None], -1).mean()


def block(w, prefix, heads, x, visible, residual, query=None):
    """A pre-norm block; with `query` only at token query[b] of each text b."""

    def part(name, y):
        y = y @ w[f"{prefix}.{name}.weight"]
        return y + w[f"{prefix}.{name}.bias"] if f"{prefix}.{name}.bias" in w else y

    def normed(name, y):
        return layer_norm(y, w[f"{prefix}.{name}.gain"], w[f"{prefix}.{name}.bias"])

    def split(y):  # (B, T, heads d) -> (B, heads, T, d)
        return y.reshape(*y.shape[:2], heads, -1).transpose(0, 2, 1, 3)

    h = normed("attention_norm", x)
    asking = h if query is None else jnp.take_along_axis(h, query[:, None, None], 1)
    Q, K, V = split(part("attention.W_Q", asking)), split(part("attention.W_K", h)), split(part("attention.W_V", h))
    y = attention(Q, K, V, visible).transpose(0, 2, 1, 3)
    y = part("attention.W_O", y.reshape(*y.shape[:2], -1))
    x = x + y if residual else y
    if f"{prefix}.mlp.in.weight" in w:
        x = x + part("mlp.out", jax.nn.gelu(part("mlp.in", normed("mlp.norm", x)), approximate=False))
    return x


def language_loss(layers, heads, w, batch):
    (tokens,) = batch
    read, comes = tokens[:, :-1], tokens[:, 1:]
    T = read.shape[1]
    x = w["words.weight"][read] + w["positions.weight"][:T]
    visible = jnp.tril(jnp.ones((T, T), bool))
    for l in range(layers):
        x = block(w, f"encoder.{l}", heads, x, visible, True)
    return cross_entropy(layer_norm(x, w["encoder.norm.gain"], w["encoder.norm.bias"]) @ w["words.weight"].T, comes)


def reader_loss(layers, heads, w, batch):
    tokens, lengths, query, answer = batch
    words = w["words.weight"]
    x = words[tokens] * words.shape[1] ** 0.5 + w["positions.weight"][: tokens.shape[1]]
    visible = (jnp.arange(tokens.shape[1]) < lengths[:, None])[:, None, None, :]
    for l in range(layers):
        last = l + 1 == layers
        x = block(w, f"encoder.{l}", heads, x, visible, not last, query if last else None)
    x = layer_norm(x[:, 0], w["encoder.norm.gain"], w["encoder.norm.bias"])
    return cross_entropy(x @ words.T + w["output_bias"], answer)


def step(loss_of, w, m, v, t, batch):
    """A step of AdamW, gradients clipped to norm 1."""
    loss, g = jax.value_and_grad(loss_of)(w, batch)
    norm = jnp.sqrt(sum(jnp.vdot(x, x) for x in jax.tree.leaves(g)))
    g = jax.tree.map(lambda x: x * jnp.minimum(1, 1 / (norm + 1e-6)), g)
    m = jax.tree.map(lambda a, b: BETA1 * a + (1 - BETA1) * b, m, g)
    v = jax.tree.map(lambda a, b: BETA2 * a + (1 - BETA2) * b * b, v, g)
    down = lambda p, a, b: p * (1 - LR * DECAY) - LR / (1 - BETA1**t) * a / (jnp.sqrt(b / (1 - BETA2**t)) + EPS)
    return jax.tree.map(down, w, m, v), m, v, loss


class Training:
    """One training step per call, cycling over the batches of the file."""

    def __init__(self, request):
        arrays = read_safetensors(request["file"])
        self.w = {name: jnp.array(a) for name, a in arrays.items() if not name.startswith("batch.")}
        self.m, self.v = ({name: jnp.zeros_like(a) for name, a in self.w.items()} for _ in range(2))
        is_reader = request["row"] == "reader"
        parts = ("tokens", "lengths", "query", "answer") if is_reader else ("tokens",)
        self.batches = []
        while f"batch.{len(self.batches)}.tokens" in arrays:
            n = len(self.batches)
            self.batches.append(tuple(jnp.array(arrays[f"batch.{n}.{part}"].astype(numpy.int32)) for part in parts))
        loss_of = functools.partial(reader_loss if is_reader else language_loss, request["layers"], request["heads"])
        self.step = jax.jit(functools.partial(step, loss_of), donate_argnums=(0, 1, 2))
        self.steps = 0

    def __call__(self):
        batch = self.batches[self.steps % len(self.batches)]
        self.steps += 1
        self.w, self.m, self.v, loss = self.step(self.w, self.m, self.v, float(self.steps), batch)
        return loss.block_until_ready()


def normal(shape, seed):
    return jnp.array(numpy.random.default_rng(seed).standard_normal(shape, numpy.float32))


def gradients(f, inputs, dy=None):
    """Compiles the gradients of f with respect to `inputs`, from dy, or from 1 if f returns a scalar."""

    @jax.jit
    def compiled(inputs, dy):
        y, backward = jax.vjp(f, *inputs)
        return y, backward(jnp.ones(()) if dy is None else dy)

    return lambda: jax.block_until_ready(compiled(inputs, dy))


def operation(request):
    name, shape = request["row"], request["shape"]
    x = normal(shape, 1)
    if name == "AdamW":
        state = [x, jnp.zeros(shape), jnp.zeros(shape), 0]

        @functools.partial(jax.jit, donate_argnums=(0, 1, 2))
        def update(p, m, v, t, g):
            m, v = BETA1 * m + (1 - BETA1) * g, BETA2 * v + (1 - BETA2) * g * g
            p = p * (1 - LR * 0.01) - LR / (1 - BETA1**t) * m / (jnp.sqrt(v / (1 - BETA2**t)) + EPS)
            return p, m, v

        g = normal(shape, 2)

        def work():
            state[3] += 1
            state[:3] = jax.block_until_ready(update(*state[:3], float(state[3]), g))

        return work
    if name == "cross-entropy":
        labels = jnp.arange(shape[0]) * 7919 % shape[1]
        return gradients(lambda x: cross_entropy(x, labels), (x,))
    if name == "embedding":
        ids = jnp.arange(request["ids"]) * 7919 % shape[0]
        return gradients(lambda x: x[ids], (x,), normal((request["ids"], shape[1]), 2))
    dy = normal(shape, 2)
    if name == "attention":
        T = shape[-2]
        visible = jnp.tril(jnp.ones((T, T), bool)) if request["causal"] else None
        return gradients(lambda Q, K, V: attention(Q, K, V, visible), (x, normal(shape, 3), normal(shape, 4)), dy)
    if name == "layer norm":
        return gradients(layer_norm, (x, jnp.ones(shape[-1]), jnp.zeros(shape[-1])), dy)
    f = {"softmax": lambda t: jax.nn.softmax(t, -1), "GELU": lambda t: jax.nn.gelu(t, approximate=False)}[name]
    return gradients(f, (x,), dy)


OPERATIONS = ("AdamW", "cross-entropy", "embedding", "layer norm", "softmax", "GELU")


def prepare(request, threads):
    work = Training(request) if "file" in request else operation(request)
    work()  # compiles it
    return work, "compiled"


def losses(request, steps):
    training = Training(request)
    return [training().item() for _ in range(steps)]


def has(request):
    """Limits attention scores to 1 GB, because JAX stores all of them."""
    if request["row"] == "attention":
        *heads, T, _ = request["shape"]
        return request["kv_heads"] == heads[-1] and 4 * T * T * math.prod(heads) <= 1 << 30
    return request["row"] in ("reader", "language model", *OPERATIONS) and not request.get("autocast")


if __name__ == "__main__":
    serve("JAX", jax.__version__, has, prepare, losses)
