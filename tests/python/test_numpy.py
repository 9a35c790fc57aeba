"""Functions of NumPy on tensors."""

import heedml
import numpy
import pytest


def test_functions_of_numpy_take_tensors_and_lose_no_gradient():
    a, w = numpy.array([1.0, 2.0, 4.0]), heedml.variable([1.0, 2.0, 4.0])
    x = heedml.tensor(a)
    for f in (numpy.exp, numpy.sum, numpy.mean, numpy.argmax, numpy.sort, lambda x: numpy.maximum(x, 2), numpy.add.reduce, numpy.shape,
              lambda x: numpy.concatenate([x, x]), lambda x: numpy.sum(x, axis=0, keepdims=True), lambda x: numpy.clip(x, 2, 3)):
        assert isinstance(f(x), (numpy.ndarray, numpy.generic, tuple)) and numpy.array_equal(f(x), f(a))
    total = numpy.zeros(3)
    total += x
    assert isinstance(total, numpy.ndarray) and total.tolist() == [1, 2, 4]
    for f in (lambda x: a - x, lambda x: a / x, lambda x: a**x, lambda x: numpy.float64(3) * x, lambda x: numpy.float32(3) - x,
              lambda x: numpy.subtract(x, a), lambda x: numpy.int64(2) * x):
        assert isinstance(f(x), heedml.Tensor) and numpy.allclose(f(x), f(a))
    assert (a < x + 1).all() and (a == x).all() and not (a > x).any() and (a[None] @ heedml.tensor(a[:, None])).item() == 21
    with heedml.Recording():
        y = w * 2
        for f, hint in ((numpy.exp, r"numpy.exp: a Recording .* lose its gradient; .*, or heedml.exp\("), (numpy.sum, r"heedml.sum\("),
                        (lambda x: numpy.concatenate([a, x]), "numpy.concatenate: "),
                        (lambda x: numpy.add(a, x, out=numpy.zeros(3)), r"a = a \+ x"), (numpy.linalg.det, "numpy.linalg.det: ")):
            for followed in (w, y):
                with pytest.raises(heedml.Error, match=hint):
                    f(followed)
        assert numpy.shape(y) == (3,) and numpy.ndim(y) == 1 and numpy.size(y) == 3
        assert (a + numpy.subtract(y, a)).sum().backward()[w].tolist() == [2, 2, 2]
