"""The solution of step 6: self-attention, of NumPy arrays.

    a @ b   x.T   softmax(x)   x / 2.0       as in the formulas
    x.shape[-1]                              the number of columns
    np.where(booleans, x, value)             x where the booleans are true, else `value`
"""

import numpy as np

from given.layers import softmax


def simple_attention(X):
    """Attention with nothing to learn: each word is compared with each word by the dot product. X (T, d) has one word per row.

        scores = X X^T      weights = softmax(scores), of each row      output = weights X

    Returns (output, weights). weights (T, T): row = query, column = key; each row adds up to 1.
    """
    # begin simple_attention
    weights = softmax(X @ X.T)
    return weights @ X, weights
    # end simple_attention


def attention(Q, K, V, visible):
    """Attention of queries Q (T, d_k) to keys K (T, d_k) with values V (T, d_v). visible (T, T) is true where query i may attend to key j.
    d_k is the number of columns of Q.

        scores  = Q K^T / sqrt(d_k)
        scores  = -infinity where visible is false
        weights = softmax(scores), of each row
        output  = weights V

    Returns (output, weights).
    """
    # begin attention
    scores = Q @ K.T / np.sqrt(Q.shape[-1])
    weights = softmax(np.where(visible, scores, -np.inf))
    return weights @ V, weights
    # end attention


def causal_mask(T):
    """Returns the causal mask (T, T): visible_ij = j <= i. A language model must not see the words that it is to predict."""
    # begin causal_mask
    return np.array([[j <= i for j in range(T)] for i in range(T)])
    # end causal_mask


def self_attention(X, W_Q, W_K, W_V, visible):
    """Self-attention of X (T, d): queries, keys and values are three views of the same words. W_Q, W_K (d, d_k), W_V (d, d_v).

        Q = X W_Q      K = X W_K      V = X W_V      attention(Q, K, V)

    Returns (output, weights).
    """
    # begin self_attention
    return attention(X @ W_Q, X @ W_K, X @ W_V, visible)
    # end self_attention
