"""Step 7: several heads side by side, mixed by W_O."""

import numpy as np

from given.layers import softmax


def split_heads(x, heads):
    """Cuts the d features of each token into `heads` groups of d / heads neighbours: (B, T, d) -> (B, heads, T, d / heads).

    Head h gets the features h d_k, ..., (h + 1) d_k - 1. x.reshape(B, T, heads, d_k) keeps the order of the numbers, where
    B, T, d = x.shape; x.swapaxes(a, b) swaps two axes:

        (B, T, d) --reshape--> (B, T, heads, d_k) --transpose(1, 2)--> (B, heads, T, d_k)
    """
    raise NotImplementedError("split_heads")  # your code here


def join_heads(x):
    """The way back: (B, heads, T, d_k) -> (B, T, heads d_k). The features of a token lie side by side again, head after head.

        (B, heads, T, d_k) --transpose(1, 2)--> (B, T, heads, d_k) --reshape--> (B, T, heads d_k)
    """
    raise NotImplementedError("join_heads")  # your code here


def multi_head(x, W_Q, W_K, W_V, W_O, heads):
    """Multi-head attention of x (B, T, d), every key visible. W_Q, W_K, W_V, W_O (d, d).

        Q, K, V = split_heads(x W_Q), split_heads(x W_K), split_heads(x W_V)
        head_h  = softmax(Q_h K_h^T / sqrt(d_k)) V_h,  where d_k = d / heads
        output  = join_heads(head_1, head_2, ...) W_O

    a @ b and softmax() treat leading axes as a batch: (B, heads, T, d_k) @ (B, heads, d_k, T) -> (B, heads, T, T). x.swapaxes(-1, -2)
    transposes the last two.
    """
    raise NotImplementedError("multi_head")  # your code here
