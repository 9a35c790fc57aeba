"""Numbers, lists and arrays of integers take the dtype of the tensor or of the array of floats beside them."""

import heedml
import numpy
import pytest

WIDE = numpy.array([1 / 3, -2.0])


def test_numbers_beside_an_array_of_float64():
    mask = numpy.array([True, False])
    for other in (0, 0.0, numpy.float64(0), numpy.float32(0), [0, 0], numpy.array([0, 0]), numpy.array(0.0, "float32")):
        for result in (heedml.where(mask, WIDE, other), heedml.maximum(WIDE, other), heedml.maximum(other, WIDE)):
            assert result.dtype == "float64" and result.tolist() == [1 / 3, 0]
        assert heedml.where(~mask, other, WIDE).tolist() == [1 / 3, 0]
    for other in ([2.0], numpy.array([2])):
        assert heedml.concat([WIDE, other]).tolist() == heedml.concat([other, WIDE]).tolist()[1:] + [2] == [1 / 3, -2, 2]
    assert heedml.stack([[0, 0], WIDE]).dtype == "float64"
    assert heedml.concat([[1], WIDE, heedml.ones(1)]).dtype == "float32"  # a tensor decides
    assert heedml.maximum([1.0, 2.0], 0).dtype == heedml.where(mask, 1.0, 2.0).dtype == "float32"
    for call in (lambda: heedml.maximum(WIDE, WIDE.astype("float32")), lambda: heedml.stack([WIDE, WIDE.astype("float32")])):
        with pytest.raises(heedml.Error, match="must have one dtype|expected float64"):
            call()


def test_numbers_beside_a_tensor_in_an_operation_of_ones_own():
    scaled = heedml.custom_operation(lambda x, factor: x * factor, lambda dy, y, x, factor: (dy * factor, None), name="scaled")
    x = heedml.variable(heedml.tensor(WIDE))
    for factor in (2, 2.0, [2, 2], numpy.array([2, 2])):
        with heedml.Recording():
            y = scaled(x, factor)
            assert y.dtype == "float64" and heedml.backward(y.sum())[x].tolist() == [2, 2]
    assert scaled(WIDE, 2).dtype == scaled(2, WIDE).dtype == "float64"
