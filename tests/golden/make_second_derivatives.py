"""Golden second derivatives from PyTorch, in float64: run `python3 tests/golden/make_second_derivatives.py` at the root of the source
tree with torch and safetensors installed. Weight matrices are stored (in, out). A case NAME holds its inputs; tests/nn/
second_derivatives_test.cpp computes the same.
"""

import math
import pathlib

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

torch.set_default_dtype(torch.float64)
generator = torch.Generator().manual_seed(7)
store = {}


def draw(*shape, scale=1.0):
    return (scale * torch.randn(shape, generator=generator)).requires_grad_()


def grad(y, inputs, create_graph=False):
    return torch.autograd.grad(y, inputs, create_graph=create_graph)


def keep(case, parameters, gradients=None, **others):
    for name, value in parameters.items():
        store[f"{case}.{name}"] = value
    for name, value in zip(parameters, gradients or []):
        store[f"{case}.gradient.{name}"] = value
    for name, value in others.items():
        store[f"{case}.{name}"] = torch.as_tensor(value)


def mlp(sizes, scale=1.0):
    parameters = {}
    for i, (n, m) in enumerate(zip(sizes, sizes[1:])):
        parameters[f"{i}.weight"] = draw(n, m, scale=scale / math.sqrt(n))
        parameters[f"{i}.bias"] = draw(m, scale=0.1)
    return parameters


def apply(parameters, x, activation=torch.tanh):
    layers = len(parameters) // 2
    for i in range(layers):
        x = x @ parameters[f"{i}.weight"] + parameters[f"{i}.bias"]
        x = activation(x) if i + 1 < layers else x
    return x


def make_transformer():
    """A decoder block with fused operations; the loss plus the squared norm of its gradient."""
    d, heads, words, B, T = 8, 2, 5, 2, 4
    p = {"words": draw(words, d), "norm1.gain": draw(d), "norm1.bias": draw(d)}
    for name in ["W_Q", "W_K", "W_V", "W_O"]:
        p[name] = draw(d, d, scale=d**-0.5)
    p |= {"norm2.gain": draw(d), "up.weight": draw(d, 16, scale=d**-0.5), "up.bias": draw(16),
          "down.weight": draw(16, d, scale=0.25), "down.bias": draw(d), "out": draw(d, words, scale=d**-0.5)}
    ids = torch.tensor([[0, 3, 1, 4], [2, 2, 0, 1]])
    labels = torch.tensor([[3, 1, 4, 0], [2, -1, 1, 3]])
    x = F.embedding(ids, p["words"])
    h = F.layer_norm(x, (d,), p["norm1.gain"], p["norm1.bias"])
    q, k, v = ((h @ p[w]).view(B, T, heads, d // heads).transpose(1, 2) for w in ["W_Q", "W_K", "W_V"])
    scores = q @ k.transpose(-2, -1) / math.sqrt(d // heads)
    scores = scores.masked_fill(torch.ones(T, T).triu(1).bool(), -math.inf)
    a = (scores.softmax(-1) @ v).transpose(1, 2).reshape(B, T, d)
    x = x + a @ p["W_O"]
    h = x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt() * p["norm2.gain"]
    x = x + F.gelu(h @ p["up.weight"] + p["up.bias"]) @ p["down.weight"] + p["down.bias"]
    loss = F.cross_entropy((x @ p["out"]).view(-1, words), labels.view(-1), ignore_index=-1, label_smoothing=0.1)
    first = grad(loss, list(p.values()), create_graph=True)
    total = loss + 0.1 * sum(g.square().sum() for g in first)
    keep("transformer", p, grad(total, list(p.values())), loss=loss, total=total)


def make_penalty():
    """The gradient penalty of a critic (Gulrajani et al. 2017, arXiv:1704.00028)."""
    p, x = mlp([3, 16, 16, 1]), draw(8, 3)
    y = apply(p, x, lambda h: F.leaky_relu(h, 0.2) * torch.tanh(h))
    (slope,) = grad(y.sum(), [x], create_graph=True)
    loss = y.mean() + 10 * ((slope.norm(dim=1) - 1) ** 2).mean()
    keep("penalty", p, grad(loss, list(p.values())), x=x, loss=loss)


def make_maml():
    """Two inner steps of gradient descent on sin(x + shift), and the loss after them (Finn et al. 2017, arXiv:1703.03400)."""
    p = mlp([1, 12, 12, 1])
    x, query = 5 * torch.rand(10, 1, generator=generator), 5 * torch.rand(10, 1, generator=generator)
    results = {}
    for order in ["exact", "first"]:
        fast = p
        for _ in range(2):
            inner = (apply(fast, x) - torch.sin(x + 1)).square().mean()
            slopes = grad(inner, list(fast.values()), create_graph=order == "exact")
            fast = {name: value - 0.1 * g for (name, value), g in zip(fast.items(), slopes)}
        loss = (apply(fast, query) - torch.sin(query + 1)).square().mean()
        results[order] = loss, grad(loss, list(p.values()))
    keep("maml", p, results["exact"][1], x=x, query=query, loss=results["exact"][0])
    keep("maml.first", p, results["first"][1])


def make_pinn():
    """u'' = -sin(x) on [0, pi], u = 0 at both ends."""
    p, x = mlp([1, 16, 16, 1]), torch.linspace(0, math.pi, 9).view(-1, 1).requires_grad_()
    u = apply(p, x)
    (du,) = grad(u.sum(), [x], create_graph=True)
    (ddu,) = grad(du.sum(), [x], create_graph=True)
    loss = (ddu + torch.sin(x)).square().mean() + u[0].square().sum() + u[-1].square().sum()
    keep("pinn", p, grad(loss, list(p.values())), loss=loss, du=du, ddu=ddu)


def make_functions():
    p, x, y, v = mlp([2, 4, 1]), draw(6, 2), draw(6, 1), None
    v = {name: draw(*value.shape) for name, value in p.items()}
    loss = (apply(p, x) - y).square().mean()
    first = grad(loss, list(p.values()), create_graph=True)
    Hv = grad(sum((g * v[name]).sum() for g, name in zip(first, p)), list(p.values()))
    keep("hvp", p, x=x, y=y)
    for name, value in zip(p, Hv):
        store[f"hvp.v.{name}"], store[f"hvp.Hv.{name}"] = v[name], value

    # two steps of Newton's method with five of conjugate gradients each, damped
    w, damping = [value.detach().clone() for value in p.values()], 2
    names, dot = list(p), lambda a, b: sum((s * t).sum() for s, t in zip(a, b))
    objective = lambda: (apply(dict(zip(names, w)), x) - y).square().mean()
    for _ in range(2):
        w = [value.detach().requires_grad_() for value in w]
        first = grad(objective(), w, create_graph=True)
        d, r = [torch.zeros_like(value) for value in w], [-g.detach() for g in first]
        direction = list(r)
        for _ in range(5):
            Hp = torch.autograd.grad(dot(first, direction), w, retain_graph=True)
            Hp = [h + damping * q for h, q in zip(Hp, direction)]
            rr = dot(r, r)
            step = rr / dot(direction, Hp)
            d = [a + step * q for a, q in zip(d, direction)]
            r = [a - step * h for a, h in zip(r, Hp)]
            direction = [a + dot(r, r) / rr * q for a, q in zip(r, direction)]
        w = [value.detach() + change for value, change in zip(w, d)]
    for name, value in zip(names, w):
        store[f"hvp.newton.{name}"] = value

    W, x, v, w = draw(3, 4), draw(2, 3), draw(2, 3), draw(2, 4)
    f = lambda t: torch.softmax(t @ W, -1).cumsum(-1).log()
    s = lambda t: f(t).square().sum() + torch.logsumexp(t.flatten(), 0) ** 3
    keep("functions", {}, W=W, x=x, v=v, w=w, jvp=torch.func.jvp(f, (x,), (v,))[1], vjp=torch.func.vjp(f, x)[1](w)[0],
         jacobian=torch.func.jacrev(f)(x), hessian=torch.func.hessian(s)(x))

    x = torch.linspace(-2, 2, 9).requires_grad_()
    y = torch.tanh(x) ** 3 * torch.exp(torch.sin(x)) / (2 + x * x)
    for order in range(5):
        store[f"orders.{order}"] = y
        if order < 4:
            (y,) = grad(y.sum(), [x], create_graph=True)


make_transformer()
make_penalty()
make_maml()
make_pinn()
make_functions()
path = pathlib.Path(__file__).parent / "second_derivatives.safetensors"
save_file({key: value.detach().clone().contiguous() for key, value in store.items()}, path)
