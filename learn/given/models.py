"""The layers of step 10 in Python, and its optimiser. They compute on the tape of given/tape.py."""

import numpy as np

from given.tape import Tensor, attention, gelu, layer_norm, rows


class Layer:
    """Has the parameters whose names begin with `name`: weight and bias of "output" are "output.weight" and "output.bias"."""

    def __init__(self, parameters, name):
        self.p = {key[len(name) + 1:]: value for key, value in parameters.items() if key.startswith(name + ".")}


class Linear(Layer):
    def __call__(self, x):
        y = x @ self.p["weight"]
        return y + self.p["bias"] if "bias" in self.p else y


class Embedding(Layer):
    def __call__(self, ids):
        return rows(self.p["weight"], ids)


class Positions(Layer):
    """Adds a vector for each position."""

    def __call__(self, x):
        return x + rows(self.p["weight"], np.arange(x.shape[1]))


class Norm(Layer):
    def __call__(self, x):
        return layer_norm(x, self.p["gain"], self.p["bias"])


class Block(Layer):
    """A block, as in step 8. visible (T, T): true where query i may attend to key j; without it, every key is visible."""

    def __init__(self, parameters, name, heads):
        super().__init__(parameters, name)
        self.heads = heads
        self.first_norm, self.second_norm = Norm(self.p, "attention_norm"), Norm(self.p, "mlp.norm")
        self.W_Q, self.W_K, self.W_V, self.W_O = (Linear(self.p, "attention.W_" + which) for which in "QKVO")
        self.into, self.out = Linear(self.p, "mlp.in"), Linear(self.p, "mlp.out")

    def __call__(self, x, visible=None):
        y = self.first_norm(x)
        x = x + self.W_O(attention(self.W_Q(y), self.W_K(y), self.W_V(y), self.heads, visible))
        return x + self.out(gelu(self.into(self.second_norm(x))))


class CharacterModel:
    """The layers of a small language model of characters. Step 10 puts them together:

        embedding  -> positions -> blocks -> norm -> output
        (B, T) ids -> (B, T, d) -> ...            -> (B, T, characters)
    """

    def __init__(self, parameters, heads):
        self.parameters = {name: Tensor(values) for name, values in parameters.items()}
        self.embedding = Embedding(self.parameters, "embedding")
        self.positions = Positions(self.parameters, "positions")
        self.blocks = [Block(self.parameters, f"blocks.{i}", heads) for i in range(2)]
        self.norm = Norm(self.parameters, "norm")
        self.output = Linear(self.parameters, "output")


def causal_mask(T):
    """Returns the causal mask (T, T), as in step 6: true where j <= i."""
    return np.tri(T, dtype=bool)


class AdamW:
    """The optimiser of step 9, for all parameters of a model."""

    def __init__(self, parameters, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.0):
        self.parameters = list(parameters.values())
        self.constants = beta1, beta2, eps, weight_decay
        self.m = [np.zeros_like(p.values) for p in self.parameters]
        self.v = [np.zeros_like(p.values) for p in self.parameters]
        self.t = 0

    def step(self, gradients, lr):
        """Changes the parameters by their gradients, which backward() has returned."""
        beta1, beta2, eps, weight_decay = self.constants
        self.t += 1
        for p, m, v in zip(self.parameters, self.m, self.v):
            m += (1 - beta1) * (gradients[p] - m)
            v += (1 - beta2) * (gradients[p]**2 - v)
            m_hat, v_hat = m / (1 - beta1**self.t), v / (1 - beta2**self.t)
            p.values = p.values - lr * (weight_decay * p.values + m_hat / (np.sqrt(v_hat) + eps))
