"""Prints PyTorch's figures for examples_test.cpp: python tests/examples/golden.py"""
import math

import torch

torch.set_printoptions(precision=4, sci_mode=False, linewidth=100)


def show(name, x):
    print(name)
    for row in x.reshape(-1, x.shape[-1]).tolist():
        print("  " + ", ".join(f"{value:.4f}" for value in row) + ",")


X = torch.tensor([[0.43, 0.15, 0.89], [0.55, 0.87, 0.66], [0.57, 0.85, 0.64],
                  [0.22, 0.58, 0.33], [0.77, 0.25, 0.10], [0.05, 0.80, 0.55]])
weights = torch.softmax(X @ X.T, dim=-1)
show("journey: weights", weights)
show("journey: contexts", weights @ X)

# Every linear layer holds the next numbers of sin(1), sin(2), ..., as a matrix (in, out) and then a bias (out).
d_model, n = 4, 0
projected = []
x = torch.tensor([math.cos(i) for i in range(1, 21)]).reshape(1, 5, d_model)
for name in ("W_q", "W_k", "W_v"):
    layer = torch.nn.Linear(d_model, d_model)
    values = torch.tensor([math.sin(n + i) for i in range(1, 21)])
    n += 20
    with torch.no_grad():
        layer.weight.copy_(values[:16].reshape(4, 4).T)
        layer.bias.copy_(values[16:])
        projected.append(layer(x))
Q, K, V = projected
weights = torch.softmax(Q @ K.transpose(-2, -1) / math.sqrt(d_model), dim=-1)
show("self_attention: weights", weights)
show("self_attention: output", weights @ V)


def waves(count, first):
    return torch.tensor([math.sin(first + i) for i in range(count)])


def own_loop():
    x = waves(1000, 1).reshape(500, 2)
    y = (x.square().sum(1) < 0.8).long()
    model = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
    with torch.no_grad():
        for i, p in enumerate(model.parameters()):
            values = 0.5 * waves(p.numel(), 2000 + 1000 * i)
            p.copy_(values.reshape(p.T.shape).T if p.dim() == 2 else values)
    weights = [p for p in model.parameters() if p.dim() == 2]
    biases = [p for p in model.parameters() if p.dim() == 1]
    optimizer = torch.optim.AdamW([{"params": weights, "weight_decay": 0.01}, {"params": biases, "weight_decay": 0.0}], lr=0.02)
    average = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.95))
    steps = 300
    for step in range(steps):
        rate = 0.02 * (step + 1) / 21 if step < 20 else 0.02 * min((steps - step) / 30, 1)
        for group in optimizer.param_groups:
            group["lr"] = rate
        begin = step * 50 % 400
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x[begin:begin + 50]), y[begin:begin + 50]).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1)
        optimizer.step()
        average.update_parameters(model)
    for name, net in [("last", model), ("average", average)]:
        print(f"own_loop: {name} {torch.nn.functional.cross_entropy(net(x[400:]), y[400:]).item():.6f}")


class Snake(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, a):
        ctx.save_for_backward(x, a)
        return x + (a * x).sin().square() / a

    @staticmethod
    def backward(ctx, dy):
        x, a = ctx.saved_tensors
        slope = (2 * a * x).sin()
        return dy * (1 + slope), (dy * (x * slope - (a * x).sin().square() / a) / a).sum()


def custom_operation():
    values = torch.tensor([math.sin(i + 1) for i in range(8)], dtype=torch.float64)
    into, out = torch.nn.Linear(1, 8).double(), torch.nn.Linear(8, 1).double()
    a = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    with torch.no_grad():
        into.weight.copy_(2 * values.reshape(8, 1))
        out.weight.copy_(0.5 * values.reshape(1, 8))
        into.bias.zero_()
        out.bias.zero_()
    x = torch.arange(-1, 1, 0.05, dtype=torch.float64).reshape(-1, 1)
    optimizer = torch.optim.Adam([*into.parameters(), *out.parameters(), a], lr=0.01)
    for step in range(301):
        optimizer.zero_grad()
        loss = (out(Snake.apply(into(x), a)) - (6 * x).sin()).square().mean()
        if step % 100 == 0:
            print(f"custom_operation: {step} {loss.item():.8f} {a.item():.6f}")
        loss.backward()
        optimizer.step()


def actor_critic():
    layers = {"in": torch.nn.Linear(4, 32).double(), "policy": torch.nn.Linear(32, 2).double(), "value": torch.nn.Linear(32, 1).double()}
    number = 0
    for layer in layers.values():
        values = torch.tensor([0.4 * math.sin(number + i + 1) for i in range(layer.weight.numel())], dtype=torch.float64)
        number += layer.weight.numel()
        with torch.no_grad():
            layer.weight.copy_(values.reshape(layer.weight.T.shape).T)
            layer.bias.zero_()
    parameters = [p for layer in layers.values() for p in layer.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=0.01)
    seed = 1

    def uniform():
        nonlocal seed
        seed = (seed * 1103515245 + 12345) % 2147483648
        return seed / 2147483648

    total = 0
    for episode in range(1, 201):
        s = [0.1 * uniform() - 0.05 for _ in range(4)]
        states, actions, stands = [], [], True
        while stands and len(actions) < 200:
            with torch.no_grad():
                p = torch.softmax(layers["policy"](torch.tanh(layers["in"](torch.tensor([s], dtype=torch.float64)))), -1)
            states.append(list(s))
            actions.append(int(uniform() >= p[0, 0].item()))
            x, v, angle, w = s
            force = 10 if actions[-1] else -10
            pull = (force + 0.05 * w * w * math.sin(angle)) / 1.1
            turn = (9.8 * math.sin(angle) - math.cos(angle) * pull) / (0.5 * (4 / 3 - 0.1 * math.cos(angle) ** 2 / 1.1))
            push = pull - 0.05 * turn * math.cos(angle) / 1.1
            s = [x + 0.02 * v, v + 0.02 * push, angle + 0.02 * w, w + 0.02 * turn]
            stands = abs(s[0]) < 2.4 and abs(s[2]) < 0.2094
        returns, after = [], 0
        for _ in actions:
            after = 1 + 0.99 * after
            returns.insert(0, after)
        hidden = torch.tanh(layers["in"](torch.tensor(states, dtype=torch.float64)))
        target = torch.tensor(returns, dtype=torch.float64) / 20
        value = layers["value"](hidden)[:, 0]
        logs = torch.log_softmax(layers["policy"](hidden), -1)
        chosen = logs[torch.arange(len(actions)), torch.tensor(actions)]
        entropy = -(logs.exp() * logs).sum(1)
        loss = (-chosen * (target - value).detach() + 0.5 * (value - target).square() - 0.01 * entropy).mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1)
        optimizer.step()
        total += len(actions)
        if episode % 20 == 0:
            print(f"actor_critic: {episode} {total / 20:.2f}")
            total = 0


def cholesky():
    x = torch.arange(60, dtype=torch.float64) / 10
    y = (2 * x).sin() + 0.2 * (37 * x * x).sin()
    length, height, noise = (torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in (0.0, 0.0, -1.0))

    def covariance(a, b):
        return (2 * height - 0.5 * (a[:, None] - b).square() / (2 * length).exp()).exp()

    def factor():
        return torch.linalg.cholesky(covariance(x, x) + (2 * noise).exp() * torch.eye(60, dtype=torch.float64))

    optimizer = torch.optim.Adam([length, height, noise], lr=0.05)
    for step in range(201):
        optimizer.zero_grad()
        process = torch.distributions.MultivariateNormal(torch.zeros_like(x), scale_tril=factor())
        loss = -process.log_prob(y) / 60
        if step % 100 == 0:
            print(f"cholesky: {step} {loss.item():.8f}")
        loss.backward()
        optimizer.step()
    print("cholesky: " + " ".join(f"{value.exp().item():.6f}" for value in (length, height, noise)))
    points = torch.tensor([1.05, 3.05, 8.0], dtype=torch.float64)
    across = covariance(x, points)
    mean = across.T @ torch.cholesky_solve(y[:, None], factor())
    variance = covariance(points, points) - across.T @ torch.cholesky_solve(across, factor())
    print("cholesky:", *(f"{value:.6f}" for value in [*mean[:, 0].tolist(), *variance.diagonal().sqrt().tolist()]))


own_loop()
custom_operation()
cholesky()
actor_critic()
