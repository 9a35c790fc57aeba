"""The public functions of heed in PyTorch, for `bench --operations`."""

import torch
import torch.nn.functional as F


def ids(shape, below):
    return (torch.arange(torch.Size(shape).numel()) * 7919 % below).reshape(shape)


def scaled_in_place(x):
    x *= -1


def added_in_place(x, y):
    x += y


def rotate(x, c, s):
    u, v = x.chunk(2, -1)
    return torch.cat((u * c - v * s, u * s + v * c), -1)


def attention(q, k, v):
    weights = torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, -1)
    return weights @ v, weights


def lstm(gates, U, h):
    cell, states = h, []
    for x in gates:
        i, f, g, o = (x + h @ U).chunk(4, -1)
        cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
        h = o.sigmoid() * cell.tanh()
        states.append(h)
    return torch.stack([*states, cell])


def calls(n, c):
    """Returns for each call of bench/function_rows.cpp the shapes of its inputs and the call."""
    x, row = (n, c), (c,)
    third, chosen, rows, columns, labels, quarters = (
        ids(x, 3) == 0, ids(x, c), ids((n,), n), ids((c,), c), ids((n,), c), ids((n // 4,), 4))
    every_fourth = torch.arange(n // 4)
    target = third.float()
    d = min(64, c)
    T = min(128, n * c // d)
    heads, angles = (n * c // (T * d), T, d), (T, d // 2)
    side, channels = (8 if n * c < 1 << 20 else 32), (4 if n * c < 1 << 12 else 16 if n * c < 1 << 20 else 64)
    images = (n * c // (channels * side * side), channels, side, side)
    signals, bias = (images[0], channels, side * side), (channels,)
    kernels, kernels_1d = (channels, channels, 3, 3), (channels, channels, 3)
    one = {
        "x + 2": lambda t: t + 2,
        "x * 2": lambda t: t * 2,
        "x / 3": lambda t: t / 3,
        "2 / x": lambda t: 2 / t,
        "-x": torch.neg,
        **{name: getattr(torch, name) for name in (
            "exp", "log", "sqrt", "square", "abs", "sin", "cos", "tanh", "erf", "log1p", "expm1", "sigmoid", "relu", "sum",
            "mean", "max", "tril", "triu", "round", "floor", "ceil", "sign")},
        "pow(x, 3)": lambda t: t ** 3,
        "exp of a transposed": lambda t: t.t().exp(),
        "pow(x, 0.5)": lambda t: t ** 0.5,
        "pow(x, 2.5)": lambda t: t ** 2.5,
        "clamp": lambda t: t.clamp(-0.5, 0.5),
        "softplus": F.softplus,
        "leaky_relu": F.leaky_relu,
        "gelu": F.gelu,
        "gelu_tanh": lambda t: F.gelu(t, approximate="tanh"),
        "silu": F.silu,
        "masked_fill": lambda t: t.masked_fill(third, -1),
        "sum, last axis": lambda t: t.sum(-1),
        "sum, first axis": lambda t: t.sum(0),
        "max, last axis": lambda t: t.max(-1).values,
        "max, first axis": lambda t: t.max(0).values,
        "min, last axis": lambda t: t.min(-1).values,
        "var": lambda t: t.var(correction=0),
        "var, last axis": lambda t: t.var(-1, correction=0),
        "stddev, last axis": lambda t: t.std(-1, correction=0),
        "prod, last axis": lambda t: t.prod(-1),
        "prod, first axis": lambda t: t.prod(0),
        "norm": torch.linalg.vector_norm,
        "norm, last axis": lambda t: torch.linalg.vector_norm(t, dim=-1),
        "logsumexp, last axis": lambda t: t.logsumexp(-1),
        "cumsum, last axis": lambda t: t.cumsum(-1),
        "argmax, last axis": lambda t: t.argmax(-1),
        "argmin, last axis": lambda t: t.argmin(-1),
        "topk 8, last axis": lambda t: t.topk(8).values,
        "sort, last axis": lambda t: t.sort(stable=True).values,
        "reshape of a transposed": lambda t: t.t().reshape(-1),
        "flatten": torch.flatten,
        "transpose": torch.t,
        "permute": lambda t: t.permute(1, 0),
        "contiguous of a transposed": lambda t: t.t().contiguous(),
        "clone": torch.clone,
        "view by strides": lambda t: t.as_strided((n, c), (c, 1)),
        "slice of half the columns": lambda t: t[:, : c // 2],
        "split in two, the second": lambda t: t.split([n // 2, n - n // 2])[1],
        "unbind, the second": lambda t: t.unbind()[1],
        "squeeze": lambda t: t.view(n, 1, c).squeeze(1),
        "unsqueeze": lambda t: t.unsqueeze(0),
        "pad": lambda t: F.pad(t, (1, 1)),
        "repeat 2 x 2": lambda t: t.repeat(2, 2),
        "cast to float64": torch.Tensor.double,
        "gather, last axis": lambda t: t.gather(1, chosen),
        "flip, first axis": lambda t: t.flip(0),
        "flip, last axis": lambda t: t.flip(1),
        "roll, last axis": lambda t: t.roll(1, 1),
        "index_select": lambda t: t.index_select(0, rows),
        "index_select, last axis": lambda t: t.index_select(1, columns),
        "embedding": lambda t: F.embedding(rows, t),
        "dropout": lambda t: F.dropout(t, 0.1),
        "softmax": lambda t: t.softmax(-1),
        "softmax, first axis": lambda t: t.softmax(0),
        "log_softmax": lambda t: t.log_softmax(-1),
        "cross_entropy": lambda t: F.cross_entropy(t, labels),
        "bce_with_logits": lambda t: F.binary_cross_entropy_with_logits(t, target),
        "accuracy": lambda t: (t.argmax(-1) == labels).float().mean(),
        "sum_of_squares": lambda t: torch.linalg.vector_norm(t, dtype=torch.float64),
        "scale_in_place": scaled_in_place,
    }
    two = {
        "a + b": torch.add,
        "a - b": torch.sub,
        "a * b": torch.mul,
        "a / b": torch.div,
        "swiglu": lambda a, b: F.silu(a) * b,
        "maximum": torch.maximum,
        "minimum": torch.minimum,
        "pow(a, b)": torch.pow,
        "where": lambda a, b: torch.where(third, a, b),
        "a < b": torch.lt,
        "a <= b": torch.le,
        "a > b": torch.gt,
        "a >= b": torch.ge,
        "equal": torch.eq,
        "a == b": torch.eq,
        "a != b": torch.ne,
        "concat, first axis": lambda a, b: torch.cat((a, b)),
        "concat, last axis": lambda a, b: torch.cat((a, b), 1),
        "stack": lambda a, b: torch.stack((a, b)),
        "scatter_add, last axis": lambda a, b: a.scatter_add(1, chosen, b),
        "scatter_max, last axis": lambda a, b: a.scatter_reduce(1, chosen, b, "amax"),
        "scatter, last axis": lambda a, b: a.scatter(1, chosen, b),
        "index_add": lambda a, b: a.index_add(0, rows, b),
        "mse_loss": F.mse_loss,
        "huber_loss": F.huber_loss,
        "add_in_place": added_in_place,
    }
    none = {
        "!booleans": lambda: ~third,
        "booleans & booleans": lambda: third & third,
        "booleans | booleans": lambda: third | third,
        "any": lambda: third.any().item(),
        "all": lambda: third.all().item(),
        "ids % 7": lambda: chosen % 7,
        "to_ids": lambda: third.int(),
        "nonzero": lambda: third.nonzero(),
        "count": lambda: third.count_nonzero().item(),
        "tensor of ids": chosen.int().float,
        "one_hot": lambda: F.one_hot(labels, c).float(),
        "arange": lambda: torch.arange(0, n * c, dtype=torch.float32),
        "arange_ids": lambda: torch.arange(0, n * c, dtype=torch.int32),
        "full_ids": lambda: torch.full(x, 7, dtype=torch.int32),
        "random_uniform": lambda: torch.rand(x),
        "random_normal": lambda: torch.randn(x),
        "random_ids": lambda: torch.randint(1000, x, dtype=torch.int32),
        "random_permutation": lambda: torch.randperm(n * c, dtype=torch.int32),
    }
    others = {
        "a + row": ((x, row), torch.add),
        "a * row": ((x, row), torch.mul),
        "broadcast_to": ((row,), lambda t: t.expand(n, c)),
        "select_rows": (((n // 4, 4, c),), lambda t: t[every_fourth, quarters]),
        "matmul": ((x, (c, c)), torch.matmul),
        "inner product": (((n * c,),) * 2, torch.matmul),
        "linear": ((x, (c, c), row), lambda t, w, b: torch.addmm(b, t, w)),
        "einsum": ((x, (c, c)), lambda a, b: torch.einsum("ij,kj->ik", a, b)),
        "einsum, outer product": (((n,), row), lambda a, b: torch.einsum("i,j->ij", a, b)),
        "lstm": (((4, n // 4, c), (c // 4, c), (n // 4, c // 4)), lstm),
        "lstm_composed": (((4, n // 4, c), (c // 4, c), (n // 4, c // 4)), lstm),
        "conv2d, 3 x 3": ((images, kernels, bias), lambda t, w, b: F.conv2d(t, w, b, padding=1)),
        "conv1d, 3": ((signals, kernels_1d, bias), lambda t, w, b: F.conv1d(t, w, b, padding=1)),
        "conv_transpose2d, 3 x 3": ((images, kernels, bias), lambda t, w, b: F.conv_transpose2d(t, w, b, padding=1)),
        "conv_transpose1d, 3": ((signals, kernels_1d, bias), lambda t, w, b: F.conv_transpose1d(t, w, b, padding=1)),
        "max_pool2d, 2 x 2": ((images,), lambda t: F.max_pool2d(t, 2)),
        "max_pool1d, 2": ((signals,), lambda t: F.max_pool1d(t, 2)),
        "avg_pool2d, 2 x 2": ((images,), lambda t: F.avg_pool2d(t, 2)),
        "avg_pool1d, 2": ((signals,), lambda t: F.avg_pool1d(t, 2)),
        "batch_norm": ((images, bias, bias), lambda t, gain, shift: F.batch_norm(t, None, None, gain, shift, True)),
        "group_norm": ((images, bias, bias), lambda t, gain, shift: F.group_norm(t, 2, gain, shift)),
        "layer_norm": ((x, row, row), lambda t, gain, bias: F.layer_norm(t, row, gain, bias)),
        "rms_norm": ((x, row), lambda t, gain: F.rms_norm(t, row, gain, 1e-6)),
        "rotary": ((heads, angles, angles), lambda t, c, s: rotate(t, c.detach(), s.detach())),
        "sum, middle axis": ((heads,), lambda t: t.sum(1)),
        "max, middle axis": ((heads,), lambda t: t.max(1).values),
        "prod, middle axis": ((heads,), lambda t: t.prod(1)),
        "var, middle axis": ((heads,), lambda t: t.var(1, correction=0)),
        "logsumexp, middle axis": ((heads,), lambda t: t.logsumexp(1)),
        "softmax, middle axis": ((heads,), lambda t: t.softmax(1)),
        "attention": ((heads,) * 3, lambda q, k, v: F.scaled_dot_product_attention(q[None], k[None], v[None])[0]),
        "attention with weights": ((heads,) * 3, lambda q, k, v: attention(q, k, v)[1]),
        "attention_composed": ((heads,) * 3, lambda q, k, v: attention(q, k, v)[0]),
    }
    for number, group in enumerate((none, one, two)):
        others.update({name: ((x,) * number, f) for name, f in group.items()})
    return others


def work(request):
    """Returns the work of a row: the call without a recording, or the gradients of all inputs."""
    shapes, f = calls(*request["shape"])[request["call"]]
    inputs = [torch.rand(shape) * 1.5 + 0.5 for shape in shapes]
    if request["forward"]:

        @torch.inference_mode()
        def forward():
            f(*inputs)

        return forward
    for t in inputs:
        t.requires_grad_()
    y = f(*inputs)
    dy = torch.ones_like(y).contiguous()
    return lambda: torch.autograd.grad(y, inputs, dy, retain_graph=True, allow_unused=True)
