"""The solution of step 2: a product of tensors whose shapes broadcast, and its gradients.

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
    # begin broadcast_shape
    shape = []
    for m, n in itertools.zip_longest(reversed(a), reversed(b), fillvalue=1):  # counted from the last axis
        if m != n and m != 1 and n != 1:
            raise ValueError("these shapes do not broadcast")
        shape.insert(0, n if m == 1 else m)
    return shape
    # end broadcast_shape


def offset(x, index):
    """Returns where the element of x lies in x.ravel() that stands at `index` of a result that x broadcasts to.

    The last axis of x belongs to the last of `index`. Along an axis of size 1, x repeats its only element: position 0.

        offset = (i_1 * size_2 + i_2) * size_3 + i_3 ...
    """
    # begin offset
    at = 0
    for axis, size in enumerate(x.shape):
        i = index[len(index) - len(x.shape) + axis]
        at = at * size + (0 if size == 1 else i)
    return at
    # end offset


def indices(shape):
    """Returns the indices of all elements of a shape, row by row. This one is written."""
    return itertools.product(*(range(size) for size in shape))


def multiply(a, b):
    """y = a b, element by element, with broadcasting."""
    # begin multiply
    shape = broadcast_shape(a.shape, b.shape)
    values = [a.ravel()[offset(a, index)] * b.ravel()[offset(b, index)] for index in indices(shape)]
    return np.array(values).reshape(shape)
    # end multiply


def sum_to(dy, shape):
    """Returns the gradient of a tensor of `shape`, which was broadcast to the shape of dy. Every copy of an element contributes:

        dx = sum of dy over the axes along which x was repeated
    """
    # begin sum_to
    dx = np.zeros(shape)
    for index, g in zip(indices(dy.shape), dy.ravel()):
        dx.ravel()[offset(dx, index)] += g
    return dx
    # end sum_to


def multiply_backward(dy, a, b):
    """Returns the gradients (da, db) of y = a b:  da = sum_to(dy b, shape of a),  db = sum_to(dy a, shape of b)."""
    # begin multiply_backward
    return sum_to(multiply(dy, b), a.shape), sum_to(multiply(dy, a), b.shape)
    # end multiply_backward
