"""A tape of arrays: what step 1 does for numbers, with the gradients of steps 2 to 6. Step 10 in Python computes with it.

    W = Tensor(np.ones((3, 2)))
    loss = cross_entropy(Tensor(x) @ W, targets)
    backward(loss)[W]      the gradient of the loss by W, an array of W's shape

Each function computes its result, and says how the gradients of its inputs follow from that of the result, dy.
"""

import itertools
import math

import numpy as np

from given.layers import softmax

count = itertools.count()


class Tensor:
    """An array on the tape: its values, the tensors from which it was computed, and the function from dy to a gradient for each of these."""

    def __init__(self, values, inputs=(), gradients=None):
        self.values, self.inputs, self.gradients, self.number = values, inputs, gradients, next(count)

    @property
    def shape(self):
        return self.values.shape

    def item(self):
        """Returns the number in a tensor of one element."""
        return float(self.values)

    def __add__(self, other):
        return Tensor(self.values + other.values, (self, other), lambda dy: (summed_to(dy, self.shape), summed_to(dy, other.shape)))

    def __matmul__(self, W):
        """Returns x W for x (..., n), a row per token, and W (n, m)."""

        def gradients(dy):
            x_rows, dy_rows = self.values.reshape(-1, self.shape[-1]), dy.reshape(-1, dy.shape[-1])
            return dy @ W.values.T, x_rows.T @ dy_rows

        return Tensor(self.values @ W.values, (self, W), gradients)


def backward(loss):
    """Returns the gradient of a loss by each tensor that it was computed from: a dict from tensors to arrays."""
    tape, new = {loss}, [loss]
    while new:
        inputs = set(new.pop().inputs) - tape
        tape |= inputs
        new += inputs
    gradients = {loss: np.ones_like(loss.values)}
    for y in sorted(tape, key=lambda tensor: -tensor.number):  # the last first, as in step 1
        if y.inputs:
            for x, dx in zip(y.inputs, y.gradients(gradients[y])):
                gradients[x] = gradients[x] + dx if x in gradients else dx
    return gradients


def summed_to(dy, shape):
    """Sums a gradient over the axes along which an input of this shape was repeated (step 2)."""
    dy = dy.sum(axis=tuple(range(dy.ndim - len(shape))))
    return dy.sum(axis=tuple(i for i, size in enumerate(shape) if size == 1), keepdims=True)


def rows(table, ids):
    """Returns the rows of a table (n, d) with these indices: (..., d)."""

    def gradients(dy):
        dx = np.zeros_like(table.values)
        np.add.at(dx, ids, dy)  # a row that is read twice gets both gradients
        return (dx,)

    return Tensor(table.values[ids], (table,), gradients)


# NumPy has no erf. This table has the shares of a standard normal distribution below each x from -8 to 8 in steps of 1/4096.
BELOW = np.array([0.5 + 0.5 * math.erf((i / 4096 - 8) / math.sqrt(2)) for i in range(16 * 4096 + 1)])


def gelu(x):
    """Returns x times the share of a standard normal distribution that lies below x (step 8): interpolated, the error is below 1e-8."""
    values = x.values
    at = np.clip((values + 8) * 4096, 0, 16 * 4096 - 1)
    i = at.astype(int)
    low = BELOW[i]
    below = (low + (at - i) * (BELOW[i + 1] - low)).astype(values.dtype)
    slope = below + values * np.exp(-0.5 * values**2) / math.sqrt(2 * math.pi)
    return Tensor(values * below, (x,), lambda dy: (dy * slope,))


def layer_norm(x, gain, bias, eps=1e-5):
    """Returns the layer norm of each token (step 8)."""
    centred = x.values - x.values.mean(axis=-1, keepdims=True)
    deviation = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + eps)
    normal = centred / deviation

    def gradients(dy):
        dn = dy * gain.values
        dx = (dn - dn.mean(axis=-1, keepdims=True) - normal * (dn * normal).mean(axis=-1, keepdims=True)) / deviation
        return dx, summed_to(dy * normal, gain.shape), summed_to(dy, bias.shape)

    return Tensor(normal * gain.values + bias.values, (x, gain, bias), gradients)


def attention(Q, K, V, heads, visible):
    """Returns the attention of several heads (steps 6 and 7): Q, K, V (B, T, heads d_k) -> (B, T, heads d_k)."""

    def split(x):
        return x.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2)

    def joined(x):
        return x.swapaxes(1, 2).reshape(Q.shape)

    q, k, v = split(Q.values), split(K.values), split(V.values)
    scale = 1 / math.sqrt(q.shape[-1])
    scores = q @ k.swapaxes(-1, -2) * scale
    weights = softmax(scores if visible is None else np.where(visible, scores, -np.inf))

    def gradients(dy):
        dy = split(dy)
        dw = dy @ v.swapaxes(-1, -2)
        ds = weights * (dw - (dw * weights).sum(axis=-1, keepdims=True)) * scale  # step 4
        return joined(ds @ k), joined(ds.swapaxes(-1, -2) @ q), joined(weights.swapaxes(-1, -2) @ dy)

    return Tensor(joined(weights @ v), (Q, K, V), gradients)


def cross_entropy(logits, targets):
    """Returns the mean of -log softmax(logits)[target] (step 5): logits (..., C), targets (...)."""
    p, target = softmax(logits.values), targets[..., None]

    def gradients(dy):
        dx = p.copy()
        np.put_along_axis(dx, target, np.take_along_axis(p, target, -1) - 1, -1)
        return (dy * dx / targets.size,)

    return Tensor(-np.log(np.take_along_axis(p, target, -1)).mean(), (logits,), gradients)
