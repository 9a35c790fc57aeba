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
