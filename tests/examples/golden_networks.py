"""Prints PyTorch's figures for examples_test.cpp: python tests/examples/golden_networks.py [NAME]. Each function is the twin of
examples/NAME.cpp: the same numbers, weights and steps, in float64."""
import math
import sys

import torch
from torch.nn import functional as F

torch.set_default_dtype(torch.float64)


class Numbers:
    """The generator of examples/waves.h."""

    def __init__(self):
        self.state = 1

    def next(self):
        self.state = (self.state * 1103515245 + 12345) % 2147483648
        return self.state / 2147483648

    def below(self, end):
        return int(end * self.next())

    def normal(self):
        radius = math.sqrt(-2 * math.log(1 - self.next()))
        return radius * math.cos(2 * math.pi * self.next())

    def normals(self, *shape):
        return torch.tensor([self.normal() for _ in range(math.prod(shape))]).reshape(shape)


class Weights:
    """Makes weights as set_to_waves() does: matrices (rows, columns) in heed's order, vectors of 0."""

    def __init__(self, scale=1.0):
        self.scale, self.number, self.all = scale, 0, []

    def add(self, values):
        self.all.append(values.requires_grad_())
        return values

    def matrix(self, rows, columns):
        values = [math.sin(self.number + i + 1) for i in range(rows * columns)]
        self.number += rows * columns
        return self.add(self.scale / math.sqrt(rows) * torch.tensor(values).reshape(rows, columns))

    def vector(self, size, value=0.0):
        if value == 0:
            self.number += size
        return self.add(torch.full((size,), value))

    def linear(self, rows, columns, bias=True):
        W = self.matrix(rows, columns)
        b = self.vector(columns) if bias else 0
        return lambda x: x @ W + b

    def norm(self, size):
        gain, bias = self.vector(size, 1.0), self.vector(size)
        return lambda x: F.layer_norm(x, (size,), gain, bias)


class Adam:
    """torch.optim.Adam whose rate is an argument of step."""

    def __init__(self, weights, **options):
        self.optimizer = torch.optim.Adam(weights, **options)

    def step(self, loss, rate, clip=None):
        weights = self.optimizer.param_groups[0]["params"]
        for w in weights:
            w.grad = None
        for w, g in zip(weights, torch.autograd.grad(loss, weights)):
            w.grad = g
        if clip:
            torch.nn.utils.clip_grad_norm_(weights, clip)
        self.optimizer.param_groups[0]["lr"] = rate
        self.optimizer.step()


def counted(first, count):
    return [" 0123456789".index(c) for number in range(first, first + count) for c in f" {number}"]


def lstm():
    w = Weights()
    characters = w.matrix(11, 16)
    W, b, U = w.matrix(16, 256), w.vector(256), w.matrix(64, 256)
    out = w.linear(64, 11)
    cell = torch.nn.LSTM(16, 64, batch_first=True)
    B, T, parts = 16, 20, 20
    text = torch.tensor([counted(100 + 50 * i, 101)[:parts * T + 1] for i in range(B)])
    adam = Adam(w.all)

    def run(x, h, c):
        outputs = []
        for t in range(x.shape[1]):
            i, f, g, o = (x[:, t] @ W + b + h @ U).split(64, 1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
            outputs.append(h)
        return torch.stack(outputs, 1), h, c

    with torch.no_grad():  # run() is torch.nn.LSTM
        cell.weight_ih_l0.copy_(W.T), cell.weight_hh_l0.copy_(U.T), cell.bias_ih_l0.copy_(b), cell.bias_hh_l0.zero_()
        x = characters[text[:, :T]]
        assert (cell(x)[0] - run(x, torch.zeros(B, 64), torch.zeros(B, 64))[0]).abs().max() < 1e-14
    for epoch in range(1, 31):
        h = c = torch.zeros(B, 64)
        mean = 0
        for part in range(parts):
            output, h, c = run(characters[text[:, part * T:part * T + T]], h.detach(), c.detach())
            loss = F.cross_entropy(out(output).flatten(0, 1), text[:, part * T + 1:part * T + T + 1].flatten())
            mean += loss.item() / parts
            adam.step(loss, 0.01, clip=1)
        if epoch % 10 == 0:
            print(f"epoch {epoch:2}  loss {mean:.6f} nats per character")


def attention(w, d, heads):
    Q, K, V, O = w.linear(d, d, False), w.linear(d, d, False), w.linear(d, d, False), w.linear(d, d)

    def run(x, memory, mask=None, causal=False):
        split = lambda y: y.unflatten(-1, (heads, -1)).transpose(1, 2)
        y = F.scaled_dot_product_attention(split(Q(x)), split(K(memory)), split(V(memory)), attn_mask=mask, is_causal=causal)
        return O(y.transpose(1, 2).flatten(2))
    return run


def mlp(w, d, width):
    into, out = w.linear(d, width), w.linear(width, d)
    return lambda x: out(F.gelu(into(x)))


def seq2seq():
    d, longest, start, end = 32, 8, 10, 11
    w, numbers = Weights(), Numbers()
    digits, positions = w.matrix(12, d), w.matrix(9, d)
    e_norm, e_attention, e_mlp_norm, e_mlp = w.norm(d), attention(w, d, 4), w.norm(d), mlp(w, d, 64)
    own, source, d_mlp = attention(w, d, 4), attention(w, d, 4), mlp(w, d, 64)
    own_norm, source_norm, mlp_norm = w.norm(d), w.norm(d), w.norm(d)
    out = w.linear(d, 12)
    adam = Adam(w.all)

    def draw(B):
        read, written, following, lengths = [], [], [], []
        for _ in range(B):
            text = [0] * (3 + numbers.below(longest - 2))
            text = [numbers.below(10) for _ in text]
            n = len(text)
            read.append(text + [end] * (longest - n))
            written.append([start] + text[::-1] + [end] * (longest - n))
            following.append((text[::-1] + [end] + [-1] * longest)[:longest + 1])
            lengths.append(n)
        mask = torch.arange(longest)[None] < torch.tensor(lengths)[:, None]
        return torch.tensor(read), torch.tensor(written), torch.tensor(following), mask[:, None, None]

    def encode(read, mask):
        x = digits[read] + positions[:longest]
        x = x + (lambda y: e_attention(y, y, mask))(e_norm(x))
        return x + e_mlp(e_mlp_norm(x))

    def decode(written, memory, mask):
        y = digits[written] + positions[:written.shape[1]]
        y = y + (lambda z: own(z, z, causal=True))(own_norm(y))
        y = y + source(source_norm(y), memory, mask)
        return out(y + d_mlp(mlp_norm(y)))

    for step in range(401):
        read, written, following, mask = draw(32)
        loss = F.cross_entropy(decode(written, encode(read, mask), mask).flatten(0, 1), following.flatten(), ignore_index=-1)
        if step % 100 == 0:
            print(f"step {step:3}  loss {loss.item():.6f}")
        adam.step(loss, 0.005 * min(1, (401 - step) / 100))
    read, written, following, mask = draw(200)
    text = torch.full((200, 1), start)
    with torch.no_grad():
        for t in range(longest + 1):
            text = torch.cat([text, decode(text, encode(read, mask), mask)[:, t].argmax(-1)[:, None]], 1)
    right = ((text[:, 1:] == following) | (following < 0)).all(1).sum().item()
    print(f"{right} of 200 new sequences written without a mistake")


glyphs = ["111101101101111", "010110010010111", "111001111100111", "111001111001111", "101101111001001", "111100111001111",
          "111100111101111", "111001010010010", "111101111101111", "111101111001111"]


def vae():
    w, numbers = Weights(), Numbers()
    into, mean, log_variance, out, pixels = w.linear(15, 64), w.linear(64, 2), w.linear(64, 2), w.linear(2, 64), w.linear(64, 15)
    adam = Adam(w.all)
    for step in range(2001):
        x = []
        for _ in range(64):
            glyph = glyphs[numbers.below(10)]
            x.append([float((p == "1") != (numbers.next() < 0.03)) for p in glyph])
        x, noise = torch.tensor(x), numbers.normals(64, 2)
        h = into(x).tanh()
        m, v = mean(h), log_variance(h)
        logits = pixels(out(m + (0.5 * v).exp() * noise).tanh())
        reconstruction = F.binary_cross_entropy_with_logits(logits, x, reduction="sum") / 64
        divergence = 0.5 * (v.exp() + m * m - 1 - v).sum() / 64
        if step % 500 == 0:
            print(f"step {step:4}  reconstruction {reconstruction.item():.6f}  divergence {divergence.item():.6f}")
        adam.step(reconstruction + divergence, 0.005)


def gan():
    numbers = Numbers()

    def network(w, n, m):
        into, hidden, out = w.linear(n, 64), w.linear(64, 64), w.linear(64, m)
        return lambda x: out(F.leaky_relu(hidden(F.leaky_relu(into(x), 0.2)), 0.2))

    of_maker, of_judge = Weights(), Weights()
    maker, judge = network(of_maker, 4, 2), network(of_judge, 2, 1)
    maker_adam, judge_adam = Adam(of_maker.all, betas=(0.0, 0.999)), Adam(of_judge.all, betas=(0.0, 0.999))
    for step in range(4001):
        rate = 0.001 * (1 - step / 4001)
        angle = torch.tensor([math.pi / 4 * numbers.below(8) for _ in range(128)])
        real = 2 * torch.stack([angle.cos(), angle.sin()], 1) + 0.1 * numbers.normals(128, 2)
        made = maker(numbers.normals(128, 4)).detach()
        judged = F.softplus(-judge(real)).mean() + F.softplus(judge(made)).mean()
        judge_adam.step(judged, rate)
        loss = F.softplus(-judge(maker(numbers.normals(128, 4)))).mean()
        if step % 1000 == 0:
            print(f"step {step:4}  judge {judged.item():.6f}  maker {loss.item():.6f}")
        maker_adam.step(loss, rate)


def lora():
    w, numbers = Weights(1.5), Numbers()
    into, hidden, out = w.linear(15, 48), w.linear(48, 48), w.linear(48, 10)
    adapters = []
    for n in (15, 48):
        A = torch.arange(1, 2.0 * n + 1).sin().reshape(n, 2) / 4
        adapters.append((A.requires_grad_(), torch.zeros(2, 48, requires_grad=True)))

    def model(x, adapted=True):
        for layer, (A, B) in zip((into, hidden), adapters):
            x = (layer(x) + (2 * (x @ A) @ B if adapted else 0)).relu()
        return out(x)

    def draw(B, mirrored):
        pixels, labels = [], []
        for _ in range(B):
            labels.append(numbers.below(10))
            rows = [glyphs[labels[-1]][i:i + 3] for i in range(0, 15, 3)]
            pixels.append([float(p == "1") + 0.3 * numbers.normal() for row in rows for p in (row[::-1] if mirrored else row)])
        return torch.tensor(pixels), torch.tensor(labels)

    def train(weights, mirrored):
        adam = Adam(weights)
        for step in range(301):
            x, labels = draw(64, mirrored)
            loss = F.cross_entropy(model(x, mirrored), labels)
            if step % 100 == 0:
                print(f"  step {step:3}  loss {loss.item():.6f}")
            adam.step(loss, 0.01)

    def accuracies(when):
        for mirrored in (False, True):
            x, labels = draw(1000, mirrored)
            right = (model(x).argmax(1) == labels).double().mean().item()
            print(f"{when}: {right:.3f} of {'mirrored' if mirrored else 'upright'} digits read correctly")

    train(w.all, False)
    accuracies("before")
    train([part for pair in adapters for part in pair], True)
    accuracies("after")


for twin in (lstm, seq2seq, vae, gan, lora):
    if len(sys.argv) < 2 or sys.argv[1] == twin.__name__:
        print(twin.__name__)
        twin()
