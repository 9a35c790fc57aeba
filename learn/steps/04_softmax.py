"""Step 4: softmax of each row, and its gradient."""

import numpy as np


def softmax(x):
    """Softmax of each row: y_ij = e^x_ij / sum over k of e^x_ik.  (n, m) -> (n, m)

    e^1000 is infinite, so subtract the largest element of the row first; the quotient stays the same:

        m_i  = max over k of x_ik
        y_ij = e^(x_ij - m_i) / sum over k of e^(x_ik - m_i)

    An element of -infinity gets 0. A row that is -infinity throughout gets 0 everywhere: a query that may attend to no key.
    """
    raise NotImplementedError("softmax")  # your code here


def softmax_backward(dy, y):
    """Returns the gradient of x from that of y = softmax(x). Each element of a row of x changes every element of that row of y:

        dy_k/dx_j = y_k (1 - y_j) if k == j, else -y_k y_j
        dx_ij     = y_ij (dy_ij - sum over k of dy_ik y_ik)
    """
    raise NotImplementedError("softmax_backward")  # your code here
