"""Step 2: a product of tensors whose shapes broadcast, and its gradients.

Tensors are NumPy arrays of float64. NumPy broadcasts, too: here you write what it does. x.shape has the sizes, x.ravel() the numbers row by
row. From here on, dx means d loss / dx, in the shape of x; dy, the gradient of the result, is given to you.
"""

import itertools

import numpy as np


def broadcast_shape(a, b):
    """Returns the shape, a list, that the shapes a and b broadcast to.

    Align both shapes at their last axes; an axis that one of them does not have counts as size 1. Per axis:

        the sizes are equal  -> this size
        one size is 1        -> the other size
        otherwise            -> raise ValueError

    [4, 3] with [3] -> [4, 3];  [4, 1] with [3] -> [4, 3];  [4, 3] with [4] -> an error
    """
    raise NotImplementedError("broadcast_shape")  # your code here


def offset(x, index):
    """Returns where the element of x lies in x.ravel() that stands at `index` of a result that x broadcasts to.

    The last axis of x belongs to the last of `index`. Along an axis of size 1, x repeats its only element: position 0.

        offset = (i_1 * size_2 + i_2) * size_3 + i_3 ...
    """
    raise NotImplementedError("offset")  # your code here


def indices(shape):
    """Returns the indices of all elements of a shape, row by row. This one is written."""
    return itertools.product(*(range(size) for size in shape))


def multiply(a, b):
    """y = a b, element by element, with broadcasting."""
    raise NotImplementedError("multiply")  # your code here


def sum_to(dy, shape):
    """Returns the gradient of a tensor of `shape`, which was broadcast to the shape of dy. Every copy of an element contributes:

        dx = sum of dy over the axes along which x was repeated
    """
    raise NotImplementedError("sum_to")  # your code here


def multiply_backward(dy, a, b):
    """Returns the gradients (da, db) of y = a b:  da = sum_to(dy b, shape of a),  db = sum_to(dy a, shape of b)."""
    raise NotImplementedError("multiply_backward")  # your code here
