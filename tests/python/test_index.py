"""Elements of tensors by an index, read and written, as in NumPy."""

import operator

import heedml
import numpy
import pytest


def numbers(*shape):
    return numpy.random.default_rng(1).normal(size=shape).astype(numpy.float32)


KEYS = [0, -1, None, (1, 2), (slice(None), 1), slice(1, None), slice(None, None, 2), slice(None, None, -1), (..., 0), (None, 1),
        (0, None, ..., slice(0, 2)), [1, 0], (slice(None), [2, 0, 2]), (slice(None), numpy.array([[0, 1], [1, 2]])),
        numpy.array([True, False]), (slice(None), numpy.array([True, False, True])), (), slice(5, 9), numpy.int64(1),
        numpy.arange(24).reshape(2, 3, 4) % 2 == 0, (slice(None), slice(None), slice(3, 0, -2)), [True, False], [-1, 0],
        ([0, 1, 1], [2, 0, -1]), ([0, 1], slice(None), [1, 3]), (slice(None), [0, 2], [3, 1]), ([[0], [1]], [0, 2]), ([0, 1], [1, 2], [3, 3]),
        (0, [0, 2], [1, 1]), ([1], None, [0]), (numpy.array([True, True]), [0, 2]), ([0, 1], numpy.arange(12).reshape(3, 4) % 6 == 0),
        (..., [0, 2], [1, 1]), ([], []), (numpy.zeros((2, 0), int), [0])]


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_index_selects_what_numpy_selects(key):
    array = numbers(2, 3, 4)
    assert numpy.array_equal(heedml.tensor(array)[key].numpy(), array[key])


@pytest.mark.parametrize("key", [2, (0, 3), (0, 0, 0, 0), (..., ...), numpy.array([True]), [3], ([0, 1], [0, 1, 2]), ([0], [3]), 1.5, "a", 10**30, {}],
                         ids=repr)
def test_a_wrong_index_raises(key):
    with pytest.raises((IndexError, heedml.Error)):
        heedml.tensor(numbers(2, 3, 4))[key]


def test_a_loop_over_rows_ends():
    assert [row.tolist() for row in heedml.tensor([[1, 2], [3, 4]])] == [[1, 2], [3, 4]]
    assert len(heedml.tensor([[1, 2], [3, 4], [5, 6]])) == 3
    with pytest.raises(TypeError):
        len(heedml.tensor(1))


def test_gradients_reach_what_two_arrays_select():
    q, rows, actions = heedml.variable(numbers(3, 2)), [0, 2, 0], [1, 0, 1]
    with heedml.Recording():
        gradient = heedml.sum(q[rows, actions]).backward()[q]
    assert gradient.tolist() == [[0, 2], [0, 0], [1, 0]]


def test_reading_an_index_gives_what_writing_it_takes():
    x = numpy.arange(24, dtype=numpy.float32).reshape(2, 3, 4)
    for key in [(0, slice(None), [1, 2]), ([1, 0], slice(None), 2), (0, None, [1, 2]), (..., [1, 2]), (0, [1, 2]), (slice(None), 1, [0, 3]),
                (0, slice(None), numpy.array([True, False, True, True])), ([[0, 1], [1, 0]], slice(None), 3)]:
        both = heedml.tensor(x)
        numpy.testing.assert_array_equal(both[key].numpy(), x[key])
        both[key] = both[key].detach().clone()
        numpy.testing.assert_array_equal(both.numpy(), x)


def test_in_place_arithmetic_of_a_variable_is_refused():
    v, x = heedml.variable([1.0]), heedml.tensor([1.0])
    x -= 0.1
    assert x.item() == pytest.approx(0.9)
    for change in (operator.iadd, operator.isub, operator.imul, operator.itruediv):
        with pytest.raises(heedml.Error, match="a variable would stay as it is"):
            change(v, 0.1)


@pytest.mark.parametrize("key", [slice(None), ..., (), slice(0, 2), (slice(None), slice(None)), (..., slice(0, 2))])
def test_in_place_arithmetic_of_all_elements_writes_to_the_variable(key):
    v = heedml.variable([[1.0, 2.0], [3.0, 4.0]])
    v[key] -= heedml.ones((2, 2))
    v[key] *= 2
    assert v.is_variable and v.tolist() == [[0, 2], [4, 6]]
    with heedml.Recording():
        assert (v[key] * v).sum().backward()[v].tolist() == [[0, 4], [8, 12]]
        with pytest.raises(heedml.Error):
            v[key] += 1
    assert v.tolist() == [[0, 2], [4, 6]]
