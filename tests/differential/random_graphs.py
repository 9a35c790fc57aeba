"""Compares random graphs of the library's operations with PyTorch in float64: every value and every gradient.

    python random_graphs.py PROGRAM [GRAPHS [SEED]]     PROGRAM: random_graphs, which is
                                                        built where the environment has PYTHON when CMake configures

A new operation needs a line in the table of random_graphs.cpp and one in Graph.step().
"""
import random
import subprocess
import sys

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
REDUCTIONS = ["mean", "sum", "none"]


def wave(shape):
    n = 1
    for size in shape:
        n *= size
    return torch.sin(torch.arange(1, n + 1, dtype=torch.float64)).reshape(shape)


def product(x, axes, keepdim):
    for axis in reversed(axes):
        x = x.prod(axis, keepdim)
    return x


def cumsum(x, axis, exclusive, reverse):
    if reverse:
        x = x.flip(axis)
    y = x.cumsum(axis)
    if exclusive:
        y = y - x
    return y.flip(axis) if reverse else y


def first_best(x, axes, keepdim, largest):
    # As in the library, the first of equal elements gets the gradient.
    kept = [axis for axis in range(x.dim()) if axis not in axes]
    rows = x.permute(kept + axes).flatten(len(kept))
    y = rows.gather(-1, rows.argmax(-1, True) if largest else rows.argmin(-1, True)).squeeze(-1)
    return y.reshape([1 if axis in axes else n for axis, n in enumerate(x.shape)]) if keepdim else y


def last_best(x, axis, largest):
    return x.shape[axis] - 1 - (x.flip(axis).argmax(axis, True) if largest else x.flip(axis).argmin(axis, True))


def rotary(x, half, neighbours):
    angle = torch.arange(x.shape[-2])[:, None] * torch.arange(1, half + 1)
    c, s = torch.cos(angle.double()), torch.sin(angle.double())
    r = 2 * half
    turned, rest = x[..., :r], x[..., r:]
    u, v = (turned[..., 0::2], turned[..., 1::2]) if neighbours else (turned[..., :half], turned[..., half:])
    a, b = u * c - v * s, u * s + v * c
    both = torch.stack([a, b], -1).flatten(-2) if neighbours else torch.cat([a, b], -1)
    return torch.cat([both, rest], -1)


def attention(x, scale, cap, what, has_bias, at_start, before, after, visible):
    q, k, v = x[:3]
    group = q.shape[-3] // k.shape[-3]
    k, v = k.repeat_interleave(group, -3), v.repeat_interleave(group, -3)
    scores = s = q @ k.mT * (scale or q.shape[-1] ** -0.5)
    if cap:
        s = cap * torch.tanh(s / cap)
    if has_bias:
        s = s + x[3]
    T_q, T_k = s.shape[-2:]
    i, j = torch.arange(T_q)[:, None], torch.arange(T_k)
    key = i if at_start else i + T_k - T_q
    hidden = ((j < key - before) | (j > key + after) | ~visible).expand_as(s)
    blind = hidden.all(-1, keepdim=True)
    w = torch.softmax(s.masked_fill(hidden & ~blind, -torch.inf), -1).masked_fill(blind, 0)
    return [w @ v, w, scores][what]


class Graph:
    def __init__(self, rng):
        self.rng, self.lines, self.values, self.inputs = rng, [], [], []
        for _ in range(rng.randint(1, 3)):
            self.input([rng.randint(1, 4) for _ in range(rng.randint(1, 3))])
        steps = rng.randint(3, 9)
        while steps > 0:
            count = len(self.values)
            self.step()
            steps -= len(self.values) > count  # operations that do not fit the shape are not counted

    def input(self, shape):
        x = torch.tensor([self.rng.uniform(-2, 2) for _ in range(int(torch.tensor(shape).prod()))]).reshape(shape)
        x.requires_grad_()
        numbers = " ".join(repr(v) for v in x.detach().flatten().tolist())
        self.lines.append(f"input {len(shape)} {' '.join(map(str, shape))} {numbers}")
        self.inputs.append(x)
        self.values.append(x)
        return len(self.values) - 1

    def emit(self, name, operands, numbers, value, text=""):
        text = text + " " if text else ""
        self.lines.append(f"{name} {len(operands)} {' '.join(map(str, operands))} {text}{' '.join(map(str, numbers))}")
        self.values.append(value)

    def emit_convolution(self, name, a, x):
        rng = self.rng
        if x.dim() != 4:
            a = self.input([rng.randint(1, 2), rng.choice([1, 2, 3, 4]), rng.randint(1, 5), rng.randint(1, 5)])
            x = self.values[a]
        kernel, stride, dilation = ([rng.randint(1, 3) for _ in range(2)] for _ in range(3))
        padding = [rng.randint(0, k // 2) for k in kernel]
        if any(n + 2 * p < d * (k - 1) + 1 for n, p, d, k in zip(x.shape[2:], padding, dilation, kernel)):
            return
        if name in ("max_pool", "avg_pool"):
            f = F.max_pool2d if name == "max_pool" else F.avg_pool2d
            return self.emit(name, [a], [*kernel, *stride, *padding], f(x, kernel, stride, padding))
        groups = rng.choice([g for g in (1, 2, 3) if x.shape[1] % g == 0])
        if name == "conv":
            b = self.input([groups * rng.randint(1, 2), x.shape[1] // groups, *kernel])
            y = F.conv2d(x, self.values[b], None, stride, padding, dilation, groups)
        else:
            b = self.input([x.shape[1], rng.randint(1, 2), *kernel])
            y = F.conv_transpose2d(x, self.values[b], None, stride, 0, 0, groups, dilation)
        return self.emit(name, [a, b], [*stride, *padding, *dilation, groups], y)

    def emit_lstm(self, a, x):
        """Reads a sequence (T, B, 4 d), as functions.py of bench/peers does."""
        d = x.shape[-1] // 4
        U, h, c = (self.input(shape) for shape in ([d, 4 * d], [x.shape[1], d], [x.shape[1], d]))
        state, cell, states = self.values[h], self.values[c], []
        for part in x:
            i, f, g, o = (part + state @ self.values[U]).chunk(4, -1)
            cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
            state = o.sigmoid() * cell.tanh()
            states.append(state)
        return self.emit("lstm", [a, U, h, c], [], torch.stack([*states, cell]))

    def step(self):
        rng = self.rng
        candidates = [i for i, v in enumerate(self.values) if 1 <= v.dim() <= 4 and v.numel() <= 300]
        a = rng.choice(candidates)
        x = self.values[a]
        axis = rng.randrange(x.dim())
        n = x.shape[axis]
        shape = list(x.shape)
        if x.dim() == 3 and x.shape[-1] % 4 == 0 and rng.random() < 0.2:
            return self.emit_lstm(a, x)
        unary = {"exp": lambda v: torch.exp(torch.tanh(v)), "log": lambda v: torch.log(v.abs() + 0.5),
                 "sqrt": lambda v: torch.sqrt(v.abs() + 0.5), "square": torch.square, "tanh": torch.tanh, "relu": torch.relu,
                 "gelu_tanh": lambda v: F.gelu(v, approximate="tanh"), "negate": torch.neg,
                 "cast": lambda v: v.float().double(), "detached": lambda v: v + v.detach(), "abs": torch.abs, "sin": torch.sin, "cos": torch.cos, "erf": torch.erf,
                 "log1p": lambda v: torch.log1p(v.abs()), "expm1": lambda v: torch.expm1(torch.tanh(v)),
                 "softplus": lambda v: F.softplus(v, threshold=1e9), "silu": F.silu, "gelu": F.gelu, "sigmoid": torch.sigmoid,
                 "softmax": lambda v: v.softmax(-1), "log_softmax": lambda v: v.log_softmax(-1),
                 "layer_norm": lambda v: F.layer_norm(v, v.shape[-1:], eps=0.1),
                 "rms_norm": lambda v: v / (v.square().mean(-1, True) + 0.1).sqrt()}
        binary = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": lambda u, v: u / (v.abs() + 1),
                  "maximum": torch.maximum, "minimum": torch.minimum,
                  "pow": lambda u, v: (u.abs() + 0.5) ** torch.tanh(v)}
        comparisons = [torch.lt, torch.le, torch.gt, torch.ge, torch.eq, lambda u, v: ~(u < v)]
        keep = rng.randint(0, 1)
        axes = sorted(rng.sample(range(x.dim()), rng.randint(1, x.dim())))
        reductions = {"min": lambda: first_best(x, axes, keep, False), "max": lambda: first_best(x, axes, keep, True),
                      "sum": lambda: x.sum(axes, bool(keep)), "mean": lambda: x.mean(axes, bool(keep)),
                      "var": lambda: x.var(axes, correction=0, keepdim=bool(keep)),
                      "prod": lambda: product(x, axes, bool(keep)),
                      "norm": lambda: torch.linalg.vector_norm(x, dim=axes, keepdim=bool(keep)),
                      "logsumexp": lambda: x.logsumexp(axes, bool(keep))}
        name = rng.choice([*unary, *binary, *reductions, "power", "leaky_relu", "clamp", "swiglu", "cumsum", "topk", "sort",
                           "gather", "index_select", "scatter_add", "scatter", "index_add", "flip", "roll", "stack", "split", "pad", "repeat", "tril", "triu",
                           "flatten", "transpose", "row", "einsum", "rotary", "attention", "cross_entropy", "mse", "huber", "bce",
                           "conv", "conv_transpose", "max_pool", "avg_pool", "where", "masked_fill", "best", "order", "one_hot", "squeeze", "unsqueeze", "permute", "slice",
                           "concat", "broadcast_to", "matmul", "linear", "embedding", "select_rows"])
        if name in unary:
            return self.emit(name, [a], [], unary[name](x))
        if name in binary or name == "where":
            other = [s if rng.random() < 0.7 else 1 for s in shape][rng.randint(0, len(shape)) if rng.random() < 0.3 else 0:]
            b = self.input(other)
            pair = (a, b) if rng.random() < 0.5 else (b, a)
            u, v = (self.values[i] for i in pair)
            if name in binary:
                return self.emit(name, pair, [], binary[name](u, v))
            kind = rng.randrange(len(comparisons))
            return self.emit(name, pair, [kind], torch.where(comparisons[kind](u, v), u * 2, v))
        if name in reductions:
            return self.emit(name, [a], [keep, *axes], reductions[name]())
        if name == "masked_fill":
            limit = rng.uniform(-1, 1)
            return self.emit(name, [a], [limit], x.masked_fill(x > limit, 0.25))
        if name == "best":
            largest, last = rng.randint(0, 1), rng.randint(0, 1)
            first = x.argmax(axis, True) if largest else x.argmin(axis, True)
            return self.emit(name, [a], [axis, largest, last], x.gather(axis, last_best(x, axis, largest) if last else first))
        if name == "order":
            down = rng.randint(0, 1)
            return self.emit(name, [a], [axis, down], x.sort(dim=axis, descending=bool(down), stable=True).indices.double())
        if name == "one_hot":
            return self.emit(name, [a], [axis], F.one_hot(x.argmax(axis), n).double())
        if name == "squeeze" and n == 1:
            return self.emit(name, [a], [axis], x.squeeze(axis))
        if name == "unsqueeze":
            at = rng.randint(-x.dim() - 1, x.dim())
            return self.emit(name, [a], [at], x.unsqueeze(at))
        if name == "permute":
            order = rng.sample(range(x.dim()), x.dim())
            return self.emit(name, [a], order, x.permute(order))
        if name == "slice":
            begin, step = rng.randint(0, n - 1), rng.randint(1, 3)
            end = rng.randint(begin + 1, n)
            rows = torch.arange(begin, end, step)
            return self.emit(name, [a], [axis, begin, end, step], x.index_select(axis, rows))
        if name == "concat":
            shape[axis] = rng.randint(1, 3)
            b = self.input(shape)
            return self.emit(name, [a, b, a], [axis], torch.cat([x, self.values[b], x], axis))
        if name == "broadcast_to":
            wide = [rng.randint(1, 3), *(rng.randint(1, 3) if s == 1 else s for s in shape)]
            return self.emit(name, [a], wide, x.broadcast_to(wide))
        if name in ("matmul", "linear") and x.dim() >= 2:
            m = rng.randint(1, 4)
            lead = [s if rng.random() < 0.7 else 1 for s in shape[:-2]][rng.randint(0, x.dim() - 2):]
            b = self.input([*(lead if name == "matmul" else []), shape[-1], m])
            if name == "matmul":
                return self.emit(name, [a, b], [], x @ self.values[b])
            c = self.input([m])
            return self.emit(name, [a, b, c], [], x @ self.values[b] + self.values[c])
        if name == "embedding" and x.dim() == 2:
            ids = [rng.randrange(shape[0]) for _ in range(4)]
            return self.emit(name, [a], ids, F.embedding(torch.tensor(ids).reshape(2, 2), x))
        if name == "select_rows" and x.dim() == 3:
            ids = [rng.randrange(shape[1]) for _ in range(shape[0])]
            return self.emit(name, [a], ids, x[torch.arange(shape[0]), torch.tensor(ids)])
        if name == "power":
            p = rng.choice([-1.5, 0, 1, 2, 3])
            return self.emit(name, [a], [p], (x.abs() + 0.5) ** p)
        if name == "leaky_relu":
            return self.emit(name, [a], [0.2], F.leaky_relu(x, 0.2))
        if name == "clamp":
            return self.emit(name, [a], [-0.7, 0.9], x.clamp(-0.7, 0.9))
        if name in ("swiglu", "mse", "huber", "bce"):
            b = self.input(shape)
            y = self.values[b]
            if name == "swiglu":
                return self.emit(name, [a, b], [], F.silu(x) * y)
            r = rng.randrange(3)
            losses = {"mse": lambda: F.mse_loss(x, y, reduction=REDUCTIONS[r]),
                      "huber": lambda: F.huber_loss(x, y, reduction=REDUCTIONS[r], delta=0.5),
                      "bce": lambda: F.binary_cross_entropy_with_logits(x, torch.sigmoid(y), reduction=REDUCTIONS[r])}
            return self.emit(name, [a, b], [r], losses[name]())
        if name in ("conv", "conv_transpose", "max_pool", "avg_pool"):
            return self.emit_convolution(name, a, x)
        if name == "cumsum":
            e, r = rng.randint(0, 1), rng.randint(0, 1)
            return self.emit(name, [a], [axis, e, r], cumsum(x, axis, e, r))
        if name == "topk":
            k, largest = rng.randint(1, n), rng.randint(0, 1)
            order = x.sort(dim=axis, descending=bool(largest), stable=True)
            return self.emit(name, [a], [axis, k, largest], order.values.narrow(axis, 0, k))
        if name == "sort":
            down = rng.randint(0, 1)
            return self.emit(name, [a], [axis, down], x.sort(dim=axis, descending=bool(down), stable=True).values)
        if name == "gather":
            k = rng.randint(1, 4)
            shape[axis] = k
            ids = torch.tensor([rng.randrange(n) for _ in range(int(torch.tensor(shape).prod()))]).reshape(shape)
            return self.emit(name, [a], [axis, k, *ids.flatten().tolist()], x.gather(axis, ids))
        if name == "index_select":
            ids = [rng.randrange(n) for _ in range(rng.randint(1, 5))]
            return self.emit(name, [a], [axis, *ids], x.index_select(axis, torch.tensor(ids)))
        if name == "scatter_add":
            shape[axis] = rng.randint(1, 4)
            b = self.input(shape)
            ids = torch.tensor([rng.randrange(n) for _ in range(self.values[b].numel())]).reshape(shape)
            return self.emit(name, [a, b], [axis, *ids.flatten().tolist()], x.scatter_add(axis, ids, self.values[b]))
        if name == "scatter":
            shape[axis] = rng.randint(1, n)
            b = self.input(shape)
            # one value for each element: PyTorch leaves open which of several stays
            ids = torch.rand(x.shape, generator=torch.Generator().manual_seed(rng.randrange(1000))).argsort(axis)
            ids = ids.narrow(axis, 0, shape[axis]).contiguous()
            return self.emit(name, [a, b], [axis, *ids.flatten().tolist()], x.scatter(axis, ids, self.values[b]))
        if name == "index_add":
            ids = [rng.randrange(n) for _ in range(rng.randint(1, 5))]
            shape[axis] = len(ids)
            b = self.input(shape)
            return self.emit(name, [a, b], [axis, *ids], x.index_add(axis, torch.tensor(ids), self.values[b]))
        if name == "flip":
            return self.emit(name, [a], axes, x.flip(axes))
        if name == "roll":
            shift = rng.randint(-4, 4)
            return self.emit(name, [a], [axis, shift], x.roll(shift, axis))
        if name == "stack":
            b = self.input(shape)
            at = rng.randint(-x.dim() - 1, x.dim())
            return self.emit(name, [a, b, a], [at], torch.stack([x, self.values[b], x], at))
        if name == "split":
            k = rng.randint(0, n - 1)
            return self.emit(name, [a], [axis, k], x.narrow(axis, k, n - k))
        if name == "pad":
            before, after = rng.randint(0, 2), rng.randint(0, 2)
            sizes = [0, 0] * (x.dim() - 1 - axis) + [before, after]
            return self.emit(name, [a], [axis, before, after, 0.5], F.pad(x, sizes, value=0.5))
        if name == "repeat":
            times = [rng.randint(1, 2) for _ in shape]
            return self.emit(name, [a], times, x.repeat(times))
        if name in ("tril", "triu") and x.dim() >= 2:
            d = rng.randint(-2, 2)
            return self.emit(name, [a], [d], x.tril(d) if name == "tril" else x.triu(d))
        if name == "flatten":
            last = rng.randint(axis, x.dim() - 1)
            return self.emit(name, [a], [axis, last], x.flatten(axis, last))
        if name == "transpose":
            other = rng.randrange(x.dim())
            return self.emit(name, [a], [axis, other], x.transpose(axis, other))
        if name == "row":
            i = rng.randint(-shape[0], shape[0] - 1)
            return self.emit(name, [a], [i], x[i])
        if name == "einsum":
            dots = rng.randint(1, x.dim()) if rng.random() < 0.3 else 0  # axes that "..." stands for
            letters = list("abcdefgh"[:x.dim() - dots])
            for i in range(1, len(letters)):
                if shape[dots + i] == shape[dots] and rng.random() < 0.3:
                    letters[i] = letters[0]
            first = "." * 3 * (dots > 0) + "".join(letters)
            pool = sorted(set(letters))
            operands = [a]
            if rng.random() < 0.7:
                second = rng.sample(pool, rng.randint(0, len(pool))) + list("xy"[:rng.randint(0, 2)])
                rng.shuffle(second)
                sizes = [shape[dots + letters.index(c)] if c in letters else rng.randint(1, 3) for c in second]
                sizes = [s if rng.random() < 0.85 else 1 for s in sizes]
                if dots and rng.random() < 0.7:
                    sizes = [s if rng.random() < 0.7 else 1 for s in shape[rng.randint(0, dots):dots]] + sizes
                    first += ",..."
                else:
                    first += ","
                first += "".join(second)
                pool = sorted(set(pool) | set(second))
                operands.append(self.input(sizes))
            out = rng.sample(pool, rng.randint(0, min(4, len(pool))))
            if dots and rng.random() < 0.7:
                out.insert(rng.randint(0, len(out)), "...")
            formula = first if rng.random() < 0.2 else f"{first}->{''.join(out)}"
            return self.emit(name, operands, [], torch.einsum(formula, *(self.values[i] for i in operands)), formula)
        if name == "rotary" and x.dim() >= 2 and shape[-1] >= 2:
            half, neighbours = rng.randint(1, shape[-1] // 2), rng.randint(0, 1)
            return self.emit(name, [a], [half, neighbours], rotary(x, half, neighbours))
        if name == "attention" and x.dim() >= 2:
            kv = rng.choice([h for h in range(1, 5) if shape[-3] % h == 0]) if x.dim() >= 3 else None
            T_k, lead = rng.randint(1, 5), shape[:-3] + ([kv] if kv else [])
            operands = [a, self.input([*lead, T_k, shape[-1]]), self.input([*lead, T_k, rng.randint(1, 3)])]
            scale, cap, bias = rng.choice([0, 0.7, -0.4]), rng.choice([0, 1.5]), rng.randint(0, 1)
            start, before, after = rng.randint(0, 1), rng.choice([0, 1, 2, 99]), rng.choice([0, 0, 1, 99])

            def broadcasting():
                wide = [s if rng.random() < 0.7 else 1 for s in [*shape[:-1], T_k]]
                return wide[rng.randint(0, len(wide)):] if rng.random() < 0.5 else wide
            if bias:
                operands.append(self.input(broadcasting()))
            seen = broadcasting()
            if len(seen) == 3 and x.dim() == 4:
                seen = [1, *seen]  # three axes may be texts or heads, and are refused
            visible = torch.tensor([rng.random() < 0.8 for _ in range(int(torch.tensor(seen).prod()))]).reshape(seen)
            options = [scale, cap, rng.randrange(3), bias, start, before, after]
            for_torch = [self.values[i] for i in operands]
            if x.dim() == 2:
                for_torch[:3] = [v[None] for v in for_torch[:3]]
            value = attention(for_torch, *options, visible)
            return self.emit(name, operands, [*options, len(seen), *seen, *visible.flatten().int().tolist()],
                             value[0] if x.dim() == 2 else value)
        if name == "cross_entropy":
            rest = shape[:axis] + shape[axis + 1:]
            ignored = rng.choice([-1, 0])
            labels = [rng.randrange(n) for _ in range(x.numel() // n)]
            if any(label != ignored for label in labels) and ignored < 0:
                labels[0] = ignored if len(labels) > 1 else labels[0]
            if all(label == ignored for label in labels):
                ignored = -1
            labels = torch.tensor(labels).reshape(rest)
            smoothing, r, weighted = rng.choice([0, 0.2]), rng.randrange(3), rng.randint(0, 1)
            weights = torch.arange(1, n + 1).double() if weighted else None
            moved = x.movedim(axis, -1)
            loss = F.cross_entropy(moved.reshape(-1, n), labels.flatten(), weights, reduction=REDUCTIONS[r],
                                   label_smoothing=smoothing, ignore_index=ignored)
            loss = loss.reshape(rest) if r == 2 else loss
            return self.emit(name, [a], [axis, smoothing, r, weighted, ignored, *labels.flatten().tolist()], loss)

    def expected(self):
        loss = sum((v * wave(v.shape)).mean() for v in self.values)
        loss.backward()
        return [("value", v.detach()) for v in self.values] + [("gradient", x.grad) for x in self.inputs]


def main():
    program, graphs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 500
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    made = [Graph(random.Random(seed * 1000003 + i)) for i in range(graphs)]
    text = "".join("\n".join(g.lines) + "\nend\n" for g in made)
    run = subprocess.run([program], input=text, capture_output=True, text=True)
    output = iter(run.stdout.splitlines())
    different, compared = 0, 0
    for number, graph in enumerate(made):
        for what, exact in graph.expected():
            line = next(output, "nothing more").split()
            if line[0] != what:
                sys.exit(f"graph {number}: expected a {what}, got: {' '.join(line)}; the program ended with {run.returncode}\n" +
                         "\n".join(graph.lines))
            got = torch.tensor([float(v) for v in line[1:]])
            exact = exact.flatten()
            scale = max(1.0, exact.abs().max().item()) if exact.numel() else 1.0
            compared += exact.numel()
            if got.numel() != exact.numel() or not (got - exact).abs().max().item() <= 1e-9 * scale:
                different += 1
                print(f"graph {number}, a {what}: {got.tolist()[:8]} instead of {exact.tolist()[:8]}\n" + "\n".join(graph.lines))
                break
        while next(output, "end") != "end":
            pass
    print(f"{graphs} graphs, {compared} numbers: {different} graphs differ from PyTorch {torch.__version__}")
    sys.exit(different > 0)


main()
