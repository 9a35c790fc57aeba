"""Random graphs of the library's operations against PyTorch in float64: every value and every gradient.

    python random_graphs.py PROGRAM [GRAPHS [SEED]]     PROGRAM: random_graphs, which is
                                                        built where the environment has PYTHON when CMake configures
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


def cumsum(x, axis, exclusive, reverse):
    if reverse:
        x = x.flip(axis)
    y = x.cumsum(axis)
    if exclusive:
        y = y - x
    return y.flip(axis) if reverse else y


def first_best(x, axis, keepdim, largest):
    # As the library, the first of equal elements takes the gradient.
    index = (x.argmax(axis, True) if largest else x.argmin(axis, True))
    y = x.gather(axis, index)
    return y if keepdim else y.squeeze(axis)


def rotary(x, half, neighbours):
    angle = torch.arange(x.shape[-2])[:, None] * torch.arange(1, half + 1)
    c, s = torch.cos(angle.double()), torch.sin(angle.double())
    r = 2 * half
    turned, rest = x[..., :r], x[..., r:]
    u, v = (turned[..., 0::2], turned[..., 1::2]) if neighbours else (turned[..., :half], turned[..., half:])
    a, b = u * c - v * s, u * s + v * c
    both = torch.stack([a, b], -1).flatten(-2) if neighbours else torch.cat([a, b], -1)
    return torch.cat([both, rest], -1)


def attention(x, scale, cap, mask, has_bias):
    q, k, v = x[:3]
    group = q.shape[-3] // k.shape[-3]
    k, v = k.repeat_interleave(group, -3), v.repeat_interleave(group, -3)
    s = q @ k.mT * (scale or q.shape[-1] ** -0.5)
    if cap:
        s = cap * torch.tanh(s / cap)
    if has_bias:
        s = s + x[3]
    T_q, T_k = s.shape[-2:]
    i, j = torch.arange(T_q)[:, None], torch.arange(T_k)
    key = i + T_k - T_q
    hidden = {0: j < 0, 1: j > key, 2: j > i, 3: (j - key).abs() > 1}[mask].expand(T_q, T_k)
    blind = hidden.all(-1, keepdim=True)
    w = torch.softmax(s.masked_fill(hidden & ~blind, -torch.inf), -1)
    return w.masked_fill(blind, 0) @ v


class Graph:
    def __init__(self, rng):
        self.rng, self.lines, self.values, self.inputs = rng, [], [], []
        for _ in range(rng.randint(1, 3)):
            self.input([rng.randint(1, 4) for _ in range(rng.randint(1, 3))])
        for _ in range(rng.randint(3, 9)):
            self.step()

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

    def step(self):
        rng = self.rng
        candidates = [i for i, v in enumerate(self.values) if 1 <= v.dim() <= 4 and v.numel() <= 300]
        a = rng.choice(candidates)
        x = self.values[a]
        axis = rng.randrange(x.dim())
        n = x.shape[axis]
        shape = list(x.shape)
        unary = {"abs": torch.abs, "sin": torch.sin, "cos": torch.cos, "erf": torch.erf,
                 "log1p": lambda v: torch.log1p(v.abs()), "expm1": lambda v: torch.expm1(torch.tanh(v)),
                 "softplus": lambda v: F.softplus(v, threshold=1e9), "silu": F.silu, "gelu": F.gelu, "sigmoid": torch.sigmoid,
                 "softmax": lambda v: v.softmax(-1), "log_softmax": lambda v: v.log_softmax(-1),
                 "layer_norm": lambda v: F.layer_norm(v, v.shape[-1:], eps=0.1),
                 "rms_norm": lambda v: v / (v.square().mean(-1, True) + 0.1).sqrt()}
        binary = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": lambda u, v: u / (v.abs() + 1),
                  "maximum": torch.maximum, "minimum": torch.minimum,
                  "pow": lambda u, v: (u.abs() + 0.5) ** torch.tanh(v), "where": lambda u, v: torch.where(u > v, u * 2, v)}
        keep = rng.randint(0, 1)
        reductions = {"min": lambda: first_best(x, axis, keep, False), "max": lambda: first_best(x, axis, keep, True),
                      "sum": lambda: x.sum(axis, bool(keep)), "var": lambda: x.var(axis, correction=0, keepdim=bool(keep)),
                      "norm": lambda: torch.linalg.vector_norm(x, dim=axis, keepdim=bool(keep)),
                      "logsumexp": lambda: x.logsumexp(axis, bool(keep))}
        name = rng.choice([*unary, *binary, *reductions, "power", "leaky_relu", "clamp", "swiglu", "cumsum", "topk", "sort",
                           "gather", "index_select", "scatter_add", "stack", "split", "pad", "repeat", "tril", "triu",
                           "flatten", "transpose", "row", "einsum", "rotary", "attention", "cross_entropy", "mse", "bce"])
        if name in unary:
            return self.emit(name, [a], [], unary[name](x))
        if name in binary:
            other = [s if rng.random() < 0.7 else 1 for s in shape][rng.randrange(len(shape)) if rng.random() < 0.3 else 0:]
            b = self.input(other)
            pair = (a, b) if rng.random() < 0.5 else (b, a)
            return self.emit(name, pair, [], binary[name](*(self.values[i] for i in pair)))
        if name in reductions:
            return self.emit(name, [a], [axis, keep], reductions[name]())
        if name == "power":
            p = rng.choice([-1.5, 0, 1, 2, 3])
            return self.emit(name, [a], [p], (x.abs() + 0.5) ** p)
        if name == "leaky_relu":
            return self.emit(name, [a], [0.2], F.leaky_relu(x, 0.2))
        if name == "clamp":
            return self.emit(name, [a], [-0.7, 0.9], x.clamp(-0.7, 0.9))
        if name in ("swiglu", "mse", "bce"):
            b = self.input(shape)
            y = self.values[b]
            if name == "swiglu":
                return self.emit(name, [a, b], [], F.silu(x) * y)
            r = rng.randrange(3)
            loss = F.mse_loss(x, y, reduction=REDUCTIONS[r]) if name == "mse" else F.binary_cross_entropy_with_logits(
                x, torch.sigmoid(y), reduction=REDUCTIONS[r])
            return self.emit(name, [a, b], [r], loss)
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
            letters = "abcd"[:x.dim()]
            if rng.random() < 0.3:
                out = "".join(rng.sample(letters, rng.randint(0, len(letters))))
                formula = f"{letters}->{out}"
                return self.emit(name, [a], [], torch.einsum(formula, x), formula)
            shared = rng.sample(letters, rng.randint(0, len(letters)))
            own = "xy"[:rng.randint(0, 2)]
            second = shared + list(own)
            rng.shuffle(second)
            if not second:
                second = ["x"]
            sizes = [shape[letters.index(c)] if c in letters else rng.randint(1, 3) for c in second]
            b = self.input(sizes)
            pool = sorted(set(letters) | set(second))
            out = "".join(rng.sample(pool, rng.randint(0, min(4, len(pool)))))
            formula = f"{letters},{''.join(second)}->{out}"
            return self.emit(name, [a, b], [], torch.einsum(formula, x, self.values[b]), formula)
        if name == "rotary" and x.dim() >= 2 and shape[-1] >= 2:
            half, neighbours = rng.randint(1, shape[-1] // 2), rng.randint(0, 1)
            return self.emit(name, [a], [half, neighbours], rotary(x, half, neighbours))
        if name == "attention" and x.dim() >= 2:
            kv = rng.choice([h for h in range(1, 5) if shape[-3] % h == 0]) if x.dim() >= 3 else None
            T_k, lead = rng.randint(1, 5), shape[:-3] + ([kv] if kv else [])
            operands = [a, self.input([*lead, T_k, shape[-1]]), self.input([*lead, T_k, rng.randint(1, 3)])]
            scale, cap, mask, bias = rng.choice([0, 0.7]), rng.choice([0, 1.5]), rng.randrange(4), rng.randint(0, 1)
            if bias:
                operands.append(self.input([shape[-2], T_k]))
            if x.dim() == 2:
                for_torch = [self.values[i][None] for i in operands[:3]] + [self.values[i] for i in operands[3:]]
                value = attention(for_torch, scale, cap, mask, bias)[0]
            else:
                value = attention([self.values[i] for i in operands], scale, cap, mask, bias)
            return self.emit(name, operands, [scale, cap, mask, bias], value)
        if name == "cross_entropy":
            rest = shape[:axis] + shape[axis + 1:]
            labels = torch.tensor([rng.randrange(n) for _ in range(x.numel() // n)]).reshape(rest)
            smoothing, r, weighted = rng.choice([0, 0.2]), rng.randrange(3), rng.randint(0, 1)
            weights = torch.arange(1, n + 1).double() if weighted else None
            moved = x.movedim(axis, -1)
            loss = F.cross_entropy(moved.reshape(-1, n), labels.flatten(), weights, reduction=REDUCTIONS[r],
                                   label_smoothing=smoothing)
            loss = loss.reshape(rest) if r == 2 else loss
            return self.emit(name, [a], [axis, smoothing, r, weighted, *labels.flatten().tolist()], loss)

    def expected(self):
        loss = sum((v * wave(v.shape)).mean() for v in self.values)
        loss.backward()
        return [("value", v.detach()) for v in self.values] + [("gradient", x.grad) for x in self.inputs]


def main():
    program, graphs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 500
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    made = [Graph(random.Random(seed * 1000003 + i)) for i in range(graphs)]
    text = "".join("\n".join(g.lines) + "\nend\n" for g in made)
    output = iter(subprocess.run([program], input=text, capture_output=True, text=True).stdout.splitlines())
    different, compared = 0, 0
    for number, graph in enumerate(made):
        for what, exact in graph.expected():
            line = next(output, "nothing more").split()
            if line[0] != what:
                sys.exit(f"graph {number}: expected a {what}, got: {' '.join(line)}\n" + "\n".join(graph.lines))
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
