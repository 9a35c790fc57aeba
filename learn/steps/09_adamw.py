"""Step 9: AdamW, the optimiser that trains transformers (Loshchilov & Hutter 2019, arXiv:1711.05101)."""

import numpy as np


class Moments:
    """What AdamW remembers between steps, of each parameter."""

    def __init__(self, size):
        self.m = np.zeros(size)  # running mean of the gradient
        self.v = np.zeros(size)  # running mean of its square
        self.t = 0  # steps so far


def adamw_step(p, g, moments, lr=0.001, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01):
    """Returns the parameters p after a step with their gradients g, and updates the moments.

        t = t + 1
        p = p - lr weight_decay p
        m = beta1 m + (1 - beta1) g
        v = beta2 v + (1 - beta2) g^2
        m_hat = m / (1 - beta1^t)        v_hat = v / (1 - beta2^t)
        p = p - lr m_hat / (sqrt(v_hat) + eps)
    """
    raise NotImplementedError("adamw_step")  # your code here
