"""Golden values from PyTorch, in float64, for the tests: run `python3 tests/golden/make_golden.py` at the root of the
source tree with torch and safetensors installed. The files it writes are part of the tree, so that building and
testing need no Python.

A case NAME holds its inputs, `NAME.output`, a random `NAME.cotangent` and, for each input, the gradient of
sum(output * cotangent). Inputs are float32 values, so that both precisions start from the same numbers.
Weight matrices are stored (in, out), the transpose of torch.nn.Linear's.
"""

import math
import pathlib

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

generator = torch.Generator().manual_seed(1)


def draw(*shape, scale=1.0):
    return (scale * torch.randn(shape, generator=generator)).double().requires_grad_()


def waves(*shape, phase, scale=1.0):
    """Returns scale sin(i^2 mod 10007 + phase): values too many to store, which the tests compute by the same formula."""
    i = torch.arange(math.prod(shape), dtype=torch.int64)
    values = (scale * torch.sin((i * i % 10007).double() + phase)).float()
    return values.double().reshape(shape).requires_grad_()


def save(name, tensors):
    folder = pathlib.Path(__file__).parent
    save_file({key: value.detach().double().clone().contiguous() for key, value in tensors.items()},
              folder / f"{name}.safetensors")


def add_case(store, name, function, inputs):
    """Adds a case. `function(**inputs)` returns the output, or (output, weights)."""
    result = function(**inputs)
    output, weights = result if isinstance(result, tuple) else (result, None)
    cotangent = store[f"{name}.cotangent"] = draw(*output.shape, scale=0.25)
    gradients = torch.autograd.grad((output * cotangent).sum(), list(inputs.values()))
    store[f"{name}.output"] = output
    if weights is not None:
        store[f"{name}.weights"] = weights
    for (key, value), gradient in zip(inputs.items(), gradients):
        store[f"{name}.{key}"] = value
        store[f"{name}.gradient.{key}"] = gradient


def positive(*shape):
    return draw(*shape).detach().abs().add(0.25).float().double().requires_grad_()


def attend(Q, K, V, visible=None):
    """Returns softmax(Q K^T / sqrt(d_k)) V and the weights; fully masked rows give 0, as in PyTorch."""
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])
    weights = torch.softmax(scores, dim=-1)
    if visible is not None:
        weights = torch.softmax(scores.masked_fill(~visible, -1e300), dim=-1) * visible
    output = weights @ V
    expected = F.scaled_dot_product_attention(Q, K, V, attn_mask=visible)
    torch.testing.assert_close(output, expected, rtol=1e-13, atol=1e-13)
    return output, weights


def make_operations():
    store = {}

    def case(name, function, *inputs):
        add_case(store, name, lambda **given: function(*given.values()), {str(i): x for i, x in enumerate(inputs)})

    case("add", torch.add, draw(3, 4), draw(4))
    case("subtract", torch.sub, draw(3, 1), draw(2, 1, 4))
    case("multiply", torch.mul, draw(3, 1), draw(1, 4))
    case("divide", torch.div, draw(3, 4), positive(4))
    case("scalars", lambda x: (2 - 3 / x) * 0.5 + 1 - x / 4, positive(3, 4))
    case("negate", torch.neg, draw(5))
    for name in ["exp", "square", "tanh", "sigmoid", "relu"]:
        case(name, getattr(torch, name), draw(4, 5))
    for name in ["log", "sqrt"]:
        case(name, getattr(torch, name), positive(4, 5))
    case("gelu", F.gelu, draw(4, 5))
    case("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), draw(4, 5))
    condition = torch.tensor([True, False, False, True])
    case("where", lambda a, b: torch.where(condition, a, b), draw(3, 4), draw(3, 1))
    case("masked_fill", lambda x: x.masked_fill(condition, -7.0), draw(3, 4))
    case("sum", lambda x: x.sum((0, 2)), draw(2, 3, 4))
    case("mean", lambda x: x.mean(1, keepdim=True), draw(2, 3, 4))
    case("max", lambda x: x.amax((-1,)), draw(2, 3, 4))
    case("permute", lambda x: x.permute(2, 0, 1).reshape(4, 6), draw(2, 3, 4))
    case("slice", lambda x: x[:, 1:5:2], draw(3, 6))
    case("concat", lambda a, b: torch.cat([a, b], 1), draw(2, 3), draw(2, 2))
    case("matmul", torch.matmul, draw(2, 1, 3, 4), draw(5, 4, 2))
    case("matmul_transposed", lambda a, b: a.mT @ b.mT, draw(4, 3), draw(2, 4))
    case("linear", lambda x, W, b: x @ W + b, draw(2, 3, 4), draw(4, 5), draw(5))
    case("softmax", lambda x: torch.softmax(x, -1), draw(3, 5))
    case("log_softmax", lambda x: torch.log_softmax(x, -1), draw(3, 5))
    case("layer_norm", lambda x, g, b: F.layer_norm(x, (6,), g, b), draw(4, 6), draw(6), draw(6))
    labels = torch.tensor([3, -1, 0, 2, 2])
    for name, smoothing in [("cross_entropy", 0), ("cross_entropy_smooth", 0.1)]:
        case(name, lambda x: F.cross_entropy(x, labels, ignore_index=-1, label_smoothing=smoothing), draw(5, 4))
    case("embedding", lambda table: F.embedding(torch.tensor([[1, 4, 1], [0, 3, 4]]), table), draw(5, 3))
    case("select_rows", lambda x: x[torch.arange(2), torch.tensor([2, 0])], draw(2, 3, 4))
    causal = torch.ones(5, 5, dtype=torch.bool).tril()
    lengths = torch.tensor([5, 2])
    padding = (torch.arange(5) < lengths[:, None])[:, None, None, :]
    hidden = torch.tensor([[1, 0, 1, 0, 0], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]], dtype=torch.bool)
    heads = lambda T, d: draw(2, 3, T, d)
    case("attention", attend, heads(3, 4), heads(5, 4), heads(5, 2))
    case("attention_causal", lambda Q, K, V: attend(Q, K, V, causal), heads(5, 4), heads(5, 4), heads(5, 2))
    case("attention_padding", lambda Q, K, V: attend(Q, K, V, padding), heads(3, 4), heads(5, 4), heads(5, 2))
    case("attention_boolean", lambda Q, K, V: attend(Q, K, V, hidden), heads(3, 4), heads(5, 4), heads(5, 2))
    save("operations", store)


def multi_head(x, heads, weights, visible=None):
    """Returns multi-head attention. `weights` holds "W_Q.weight" (d_model, heads d_k), ..., and biases, if any."""
    def project(name, x):
        return x @ weights[f"{name}.weight"] + weights.get(f"{name}.bias", 0)

    def split(y):
        return y.unflatten(-1, (heads, -1)).transpose(1, 2)

    output, attention = attend(*(split(project(name, x)) for name in ["W_Q", "W_K", "W_V"]), visible)
    return project("W_O", output.transpose(1, 2).flatten(2)), attention


def attention_weights(d_model, heads, d_k, d_v, bias=True):
    weights = {}
    for name, rows, columns in [("W_Q", d_model, heads * d_k), ("W_K", d_model, heads * d_k),
                                ("W_V", d_model, heads * d_v), ("W_O", heads * d_v, d_model)]:
        weights[f"{name}.weight"] = draw(rows, columns, scale=rows**-0.5)
        if bias:
            weights[f"{name}.bias"] = draw(columns, scale=0.3)
    return weights


def padding_mask(lengths, T):
    return (torch.arange(T) < torch.tensor(lengths)[:, None])[:, None, None, :]


def make_layers():
    store = {}
    case = lambda name, function, **inputs: add_case(store, name, function, inputs)
    linear = lambda x, weight, bias=None: F.linear(x, weight.T, bias)
    layer_norm = lambda x, gain, bias: F.layer_norm(x, (6,), gain, bias, 1e-3)
    case("linear", linear, x=draw(3, 2, 4), weight=draw(4, 5), bias=draw(5))
    case("linear_without_bias", linear, x=draw(3, 4), weight=draw(4, 5))
    case("embedding", lambda weight: F.embedding(torch.tensor([[2, 0], [2, 5]]), weight), weight=draw(6, 3))
    case("layer_norm", layer_norm, x=draw(2, 3, 6), gain=draw(6), bias=draw(6))
    case("learned_positions", lambda x, weight: x + weight[:3], x=draw(2, 3, 4), weight=draw(5, 4))
    t, i = torch.arange(50, dtype=torch.float64)[:, None], torch.arange(0, 8, 2, dtype=torch.float64)
    angles = t / 10000 ** (i / 8)
    store["sinusoidal"] = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
    save("layers", store)


def make_attention():
    store = {}

    def case(name, x, heads, weights, visible=None):
        add_case(store, name, lambda x, **w: multi_head(x, heads, w, visible), {"x": x} | weights)

    causal = torch.ones(5, 5, dtype=torch.bool).tril()
    visible = torch.rand(2, 3, 5, 5, generator=generator) < 0.5
    visible[0, 1, 2] = False
    store["boolean.visible"] = visible
    case("one_head", draw(2, 5, 6), 1, attention_weights(6, 1, 6, 6))
    case("without_bias", draw(2, 5, 8), 4, attention_weights(8, 4, 2, 2, bias=False))
    case("sizes", draw(2, 5, 10), 3, attention_weights(10, 3, 4, 2))
    case("padding", draw(2, 5, 10), 3, attention_weights(10, 3, 4, 2), padding_mask([5, 2], 5))
    case("causal", draw(2, 5, 10), 3, attention_weights(10, 3, 4, 2), causal)
    case("both", draw(2, 5, 10), 3, attention_weights(10, 3, 4, 2), causal & padding_mask([3, 5], 5))
    case("boolean", draw(2, 5, 10), 3, attention_weights(10, 3, 4, 2), visible)

    # (B, T, d_model) = (5, 7, 32) with 4 heads: a bias for W_O only.
    x = waves(5, 7, 32, phase=0)
    weights = {f"{name}.weight": waves(32, 32, phase=k + 1, scale=0.2)
               for k, name in enumerate(["W_Q", "W_K", "W_V", "W_O"])}
    weights["W_O.bias"] = waves(32, phase=5)
    output, attention = multi_head(x, 4, weights)
    gradient, = torch.autograd.grad((output * waves(5, 7, 32, phase=6, scale=0.25)).sum(), x)
    store |= {"four_heads.output": output, "four_heads.weights": attention, "four_heads.gradient.x": gradient}

    # (2, 10, 512) -> (2, 10, 64): one head without W_O, biased projections, with and without a mask, 0 = hidden.
    x = waves(2, 10, 512, phase=0)
    W = [waves(512, 64, phase=k + 1, scale=0.06) for k in range(3)]
    b = [waves(64, phase=k + 4) for k in range(3)]
    hides_half = (torch.arange(10)[:, None] + torch.arange(10)) % 2 == 0
    for name, mask in [("wide", None), ("wide_masked", hides_half)]:
        output, attention = attend(*(x @ W[k] + b[k] for k in range(3)), mask)
        gradient, = torch.autograd.grad((output * waves(2, 10, 64, phase=7, scale=0.25)).sum(), W[0])
        store |= {f"{name}.output": output, f"{name}.weights": attention, f"{name}.gradient.W_Q": gradient[::64]}
    save("attention", store)


def scoped(scope, weights):
    return {f"{scope}.{name}": value for name, value in weights.items()}


def inside(scope, weights):
    return {name.removeprefix(f"{scope}."): value for name, value in weights.items() if name.startswith(f"{scope}.")}


def norm_weights(d):
    return {"gain": (1 + draw(d, scale=0.1)).detach().float().double().requires_grad_(), "bias": draw(d, scale=0.1)}


def block_weights(d, heads, mlp):
    attention = attention_weights(d, heads, d // heads, d // heads)
    weights = scoped("attention_norm", norm_weights(d)) | scoped("attention", attention)
    if mlp:
        weights |= scoped("mlp.norm", norm_weights(d))
        weights |= {"mlp.in.weight": draw(d, mlp, scale=d**-0.5), "mlp.in.bias": draw(mlp, scale=0.1),
                    "mlp.out.weight": draw(mlp, d, scale=mlp**-0.5), "mlp.out.bias": draw(d, scale=0.1)}
    return weights


def norm(x, weights):
    return F.layer_norm(x, x.shape[-1:], weights["gain"], weights["bias"])


def run_block(x, heads, weights, visible):
    normed = norm(x, inside("attention_norm", weights))
    attended, attention = multi_head(normed, heads, inside("attention", weights), visible)
    x = x + attended
    if "mlp.in.weight" in weights:
        normed = norm(x, inside("mlp.norm", weights))
        hidden = F.gelu(normed @ weights["mlp.in.weight"] + weights["mlp.in.bias"])
        x = x + hidden @ weights["mlp.out.weight"] + weights["mlp.out.bias"]
    return x, attention


def check_against_torch_layer(x, heads, weights, lengths):
    """The block with an MLP is torch.nn.TransformerEncoderLayer(norm_first=True)."""
    d, mlp = weights["mlp.in.weight"].shape
    layer = torch.nn.TransformerEncoderLayer(d, heads, mlp, dropout=0, activation="gelu", norm_first=True,
                                             batch_first=True, dtype=torch.float64)
    packed = ["attention.W_Q", "attention.W_K", "attention.W_V"]
    state = {"self_attn.in_proj_weight": torch.cat([weights[f"{name}.weight"].T for name in packed]),
             "self_attn.in_proj_bias": torch.cat([weights[f"{name}.bias"] for name in packed])}
    for ours, theirs in [("attention.W_O", "self_attn.out_proj"), ("mlp.in", "linear1"), ("mlp.out", "linear2")]:
        state |= {f"{theirs}.weight": weights[f"{ours}.weight"].T, f"{theirs}.bias": weights[f"{ours}.bias"]}
    for ours, theirs in [("attention_norm", "norm1"), ("mlp.norm", "norm2")]:
        state |= {f"{theirs}.weight": weights[f"{ours}.gain"], f"{theirs}.bias": weights[f"{ours}.bias"]}
    layer.load_state_dict(state)
    hidden = torch.arange(x.shape[1]) >= torch.tensor(lengths)[:, None]
    expected = layer(x, src_key_padding_mask=hidden)
    output, _ = run_block(x, heads, weights, ~hidden[:, None, None, :])
    torch.testing.assert_close(output, expected, rtol=1e-12, atol=1e-12)


def make_encoder():
    store = {}
    d, heads, lengths = 8, 2, [5, 3]
    visible = padding_mask(lengths, 5)
    for name, mlp in [("block", 0), ("block_with_mlp", 12)]:
        weights, x = block_weights(d, heads, mlp), draw(2, 5, d)
        add_case(store, name, lambda x, **w: run_block(x, heads, w, visible), {"x": x} | weights)
        if mlp:
            check_against_torch_layer(x, heads, weights, lengths)

    def encode(x, **w):
        for layer in range(2):
            x, _ = run_block(x, heads, inside(str(layer), w), visible)
        return norm(x, inside("norm", w))

    blocks = scoped("0", block_weights(d, heads, 12)) | scoped("1", block_weights(d, heads, 12))
    weights = blocks | scoped("norm", norm_weights(d))
    add_case(store, "encoder", encode, {"x": draw(2, 5, d)} | weights)
    save("encoder", store)


class Lion(torch.optim.Optimizer):
    """Chen et al. 2023, arXiv:2302.06675, algorithm 2."""

    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            (beta1, beta2), lr = group["betas"], group["lr"]
            for p in group["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                p -= lr * ((beta1 * m + (1 - beta1) * p.grad).sign() + group["weight_decay"] * p)
                m.copy_(beta2 * m + (1 - beta2) * p.grad)


class Muon:
    """torch.optim.Muon for matrices, transposed from (in, out), without its rounding to bfloat16; AdamW for the rest."""

    def __init__(self, parameters, **options):
        self.matrices = [p for p in parameters if p.dim() == 2]
        self.columns = [p.detach().T.clone().requires_grad_() for p in self.matrices]
        self.muon = torch.optim.Muon(self.columns, weight_decay=0.1, **options)
        self.rest = torch.optim.AdamW([p for p in parameters if p.dim() != 2], weight_decay=0.1)
        self.param_groups = [{"lr": 0}]

    def step(self):
        self.muon.param_groups[0]["lr"] = self.rest.param_groups[0]["lr"] = self.param_groups[0]["lr"]
        for p, column in zip(self.matrices, self.columns):
            column.grad = p.grad.T.clone()
        rounded, torch.Tensor.bfloat16 = torch.Tensor.bfloat16, lambda x: x.clone()
        self.muon.step()
        torch.Tensor.bfloat16 = rounded
        self.rest.step()
        for p, column in zip(self.matrices, self.columns):
            p.data.copy_(column.data.T)


def rosenbrock(p, q):
    x = p.reshape(-1)
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum() + (q.exp() + (-2 * q).exp()).sum()


def make_lbfgs(start):
    store = {}
    for name, steps, options in [("wolfe", 12, {"line_search_fn": "strong_wolfe", "history_size": 5}), ("fixed", 3, {"lr": 1e-3})]:
        parameters = {key: value.detach().clone().requires_grad_() for key, value in start.items()}
        optimizer = torch.optim.LBFGS(list(parameters.values()), max_iter=4, **options)

        def closure():
            optimizer.zero_grad()
            loss = rosenbrock(**parameters)
            loss.backward()
            return loss

        history, losses = {key: [] for key in start}, []
        for _ in range(steps):
            losses.append(optimizer.step(closure).detach())
            for key, value in parameters.items():
                history[key].append(value.detach().clone())
        store |= scoped(f"lbfgs.{name}", {key: torch.stack(values) for key, values in history.items()})
        store[f"lbfgs.{name}.loss"] = torch.stack(losses)
    return store


def make_optim():
    store = {}
    steps = 15
    start = {"p": draw(5, 3), "q": draw(4)}
    gradients = {"p": draw(steps, 5, 3), "q": draw(steps, 4)}
    store |= scoped("start", start) | scoped("gradient", gradients)
    rates = [0.01 * (1 + step) for step in range(steps)]
    optimizers = {
        "sgd": lambda p: torch.optim.SGD(p, weight_decay=0.1),
        "momentum": lambda p: torch.optim.SGD(p, momentum=0.9, weight_decay=0.1),
        "nesterov": lambda p: torch.optim.SGD(p, momentum=0.9, nesterov=True, weight_decay=0.1),
        "adam": lambda p: torch.optim.Adam(p),
        "adam_decay": lambda p: torch.optim.Adam(p, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.1),
        "adamw": lambda p: torch.optim.AdamW(p, weight_decay=0.1),
        "adam_amsgrad": lambda p: torch.optim.Adam(p, betas=(0.5, 0.6), amsgrad=True, weight_decay=0.1),
        "adamw_amsgrad": lambda p: torch.optim.AdamW(p, betas=(0.5, 0.6), amsgrad=True, weight_decay=0.1),
        "adagrad": lambda p: torch.optim.Adagrad(p, weight_decay=0.1),
        "rmsprop": lambda p: torch.optim.RMSprop(p, weight_decay=0.1),
        "rmsprop_centered": lambda p: torch.optim.RMSprop(p, alpha=0.9, eps=1e-6, momentum=0.5, centered=True),
        "lion": lambda p: Lion(p, weight_decay=0.1),
        "lion_betas": lambda p: Lion(p, betas=(0.8, 0.95)),
        "muon": lambda p: Muon(p),
        "muon_plain": lambda p: Muon(p, momentum=0.8, nesterov=False, adjust_lr_fn="match_rms_adamw", ns_steps=3),
    }
    for name, make in optimizers.items():
        parameters = {key: value.detach().clone().requires_grad_() for key, value in start.items()}
        optimizer = make(list(parameters.values()))
        history = {key: [] for key in start}
        for step in range(steps):
            optimizer.param_groups[0]["lr"] = rates[step]
            for key, value in parameters.items():
                value.grad = gradients[key][step].detach().clone()
            optimizer.step()
            for key, value in parameters.items():
                history[key].append(value.detach().clone())
        store |= scoped(name, {key: torch.stack(values) for key, values in history.items()})

    for name, max_norm in [("clipped", 1.0), ("unclipped", 100.0)]:
        parameters = [value.detach().clone().requires_grad_() for value in start.values()]
        for parameter, gradient in zip(parameters, gradients.values()):
            parameter.grad = gradient[0].detach().clone()
        store[f"{name}.norm"] = torch.nn.utils.clip_grad_norm_(parameters, max_norm)
        store |= scoped(name, {key: parameter.grad for key, parameter in zip(start, parameters)})

    lr, warmup, steps = 0.3, 5, 20
    schedulers = torch.optim.lr_scheduler
    decays = {
        "constant": lambda o: schedulers.ConstantLR(o, 1.0, steps),
        "linear": lambda o: schedulers.LinearLR(o, 1.0, 0.0, steps - warmup),
        "cosine": lambda o: schedulers.CosineAnnealingLR(o, steps - warmup),
        "step": lambda o: schedulers.StepLR(o, 4, 0.5),
        "warmup_stable_decay": lambda o: schedulers.LambdaLR(o, lambda t: min((steps - warmup - t) / 6, 1)),
    }
    for name, decay in decays.items():
        optimizer = torch.optim.SGD([torch.zeros(1)], lr=lr)
        warm = schedulers.LinearLR(optimizer, 1 / (warmup + 1), 1.0, warmup)
        schedule = schedulers.SequentialLR(optimizer, [warm, decay(optimizer)], [warmup])
        values = []
        for _ in range(steps):
            values.append(schedule.get_last_lr()[0])
            optimizer.step()
            schedule.step()
        store[f"schedule.{name}"] = torch.tensor(values, dtype=torch.float64)
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=lr)
    schedule = schedulers.OneCycleLR(optimizer, lr, steps)
    values = [schedule.get_last_lr()[0]]
    for _ in range(steps - 1):
        optimizer.step()
        schedule.step()
        values.append(schedule.get_last_lr()[0])
    store["schedule.one_cycle"] = torch.tensor(values, dtype=torch.float64)
    store |= make_lbfgs(start)
    save("optim", store)


make_operations()
make_layers()
make_attention()
make_encoder()
make_optim()
