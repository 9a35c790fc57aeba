"""The solution of step 5: the loss of a classifier, and its gradient."""

import numpy as np


def cross_entropy(x, labels):
    """The mean over the rows of -ln softmax(x)[label]: how surprised the model is by the right answer. x (n, C), one label per row.

        loss = mean over i of (ln(sum over k of e^x_ik) - x_i,label)

    As in step 4, e^1000 is infinite. With m_i = max over k of x_ik:

        ln(sum over k of e^x_ik) = m_i + ln(sum over k of e^(x_ik - m_i))
    """
    # begin cross_entropy
    loss = 0.0
    for i in range(x.shape[0]):
        largest = max(x[i, k] for k in range(x.shape[1]))
        total = sum(np.exp(x[i, k] - largest) for k in range(x.shape[1]))
        loss += largest + np.log(total) - x[i, labels[i]]
    return loss / x.shape[0]
    # end cross_entropy


def cross_entropy_backward(x, labels):
    """Returns the gradient of x, for a gradient of 1 at the loss:

        dx_ij = (softmax(x)_ij - [j is the label of row i]) / n        where [ ] is 1 or 0

    What the model expects, less what is right, per row. Each row of dx adds up to 0.
    """
    # begin cross_entropy_backward
    dx = np.zeros(x.shape)
    for i in range(x.shape[0]):
        largest = max(x[i, k] for k in range(x.shape[1]))
        total = sum(np.exp(x[i, k] - largest) for k in range(x.shape[1]))
        for j in range(x.shape[1]):
            right = 1 if j == labels[i] else 0
            dx[i, j] = (np.exp(x[i, j] - largest) / total - right) / x.shape[0]
    return dx
    # end cross_entropy_backward
