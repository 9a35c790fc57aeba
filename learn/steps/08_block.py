"""Step 8: a transformer block. Layer norm, an MLP, and two residuals around them."""

import numpy as np

from given.layers import gelu


def layer_norm(x, gain, bias, eps=1e-5):
    """Layer norm of each token: x (..., d), gain and bias (d).

        mean     = mean of the d features of a token
        variance = mean of (x - mean)^2              (divided by d, not by d - 1)
        y        = (x - mean) / sqrt(variance + eps) * gain + bias

    x.mean(axis=-1, keepdims=True) is the mean over the last axis, which stays with size 1, so that it broadcasts.
    """
    raise NotImplementedError("layer_norm")  # your code here


def mlp(x, W_1, b_1, W_2, b_2):
    """The MLP of each token: x (..., d), W_1 (d, 4 d), b_1 (4 d), W_2 (4 d, d), b_2 (d).

        y = gelu(x W_1 + b_1) W_2 + b_2
    """
    raise NotImplementedError("mlp")  # your code here


def block(x, attention, mlp, first_norm, second_norm):
    """A block with norms before its parts ("pre-norm"), which are functions from (B, T, d) to (B, T, d).

    The state x of each token runs through; each part reads a normalised copy and adds to the state.

        x = x + attention(first_norm(x))
        x = x + mlp(second_norm(x))
    """
    raise NotImplementedError("block")  # your code here
