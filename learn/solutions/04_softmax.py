"""The solution of step 4: softmax of each row, and its gradient."""

import numpy as np


def softmax(x):
    """Softmax of each row: y_ij = e^x_ij / sum over k of e^x_ik.  (n, m) -> (n, m)

    e^1000 is infinite, so subtract the largest element of the row first; the quotient stays the same:

        m_i  = max over k of x_ik
        y_ij = e^(x_ij - m_i) / sum over k of e^(x_ik - m_i)

    An element of -infinity gets 0. A row that is -infinity throughout gets 0 everywhere: a query that may attend to no key.
    """
    # begin softmax
    y = np.zeros(x.shape)
    for i in range(x.shape[0]):
        largest = max(x[i, j] for j in range(x.shape[1]))
        if largest == -np.inf:
            continue
        for j in range(x.shape[1]):
            y[i, j] = np.exp(x[i, j] - largest)
        total = sum(y[i, j] for j in range(x.shape[1]))
        for j in range(x.shape[1]):
            y[i, j] /= total
    return y
    # end softmax


def softmax_backward(dy, y):
    """Returns the gradient of x from that of y = softmax(x). Each element of a row of x changes every element of that row of y:

        dy_k/dx_j = y_k (1 - y_j) if k == j, else -y_k y_j
        dx_ij     = y_ij (dy_ij - sum over k of dy_ik y_ik)
    """
    # begin softmax_backward
    dx = np.zeros(y.shape)
    for i in range(y.shape[0]):
        total = sum(dy[i, k] * y[i, k] for k in range(y.shape[1]))
        for j in range(y.shape[1]):
            dx[i, j] = y[i, j] * (dy[i, j] - total)
    return dx
    # end softmax_backward
