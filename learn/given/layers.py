"""What steps 6 to 10 in Python start from: functions of NumPy arrays that step 4 and heed have."""

import math

import numpy as np


def softmax(x, axis=-1):
    """Softmax along an axis. Where everything is -infinity, the result is 0."""
    largest = x.max(axis=axis, keepdims=True)
    y = np.exp(x - np.where(np.isneginf(largest), 0, largest))
    total = y.sum(axis=axis, keepdims=True)
    return y / np.where(total == 0, 1, total)


def gelu(x):
    """x times the share of a standard normal distribution that lies below x."""
    return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))
