"""Axes, counts and steps of another type or out of range are errors."""

import heedml
import numpy
import pytest

X = heedml.tensor([[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]])


def test_a_flag_is_no_axis():
    for name, arguments, axis in (("topk", (2, False), "axis"), ("sort", (True,), "axis"), ("argmax", (True,), "axis"), ("argmin", (True,), "axis"),
                                  ("softmax", (True,), "axis"), ("log_softmax", (True,), "axis"), ("cumsum", (True,), "axis"),
                                  ("squeeze", (True,), "axis"), ("unsqueeze", (True,), "axis"), ("unbind", (True,), "axis"),
                                  ("split", (1, True), "axis"), ("roll", (1, True), "axis"), ("transpose", (True, False), "axis_a")):
        for call in (getattr(X, name), lambda *given: getattr(heedml, name)(X, *given)):
            with pytest.raises(TypeError, match=f"^{name}: {axis}: expected .*int.*, got bool"):
                call(*arguments)
    for name in ("concat", "stack"):
        with pytest.raises(TypeError, match=f"^{name}: axis: expected int, got bool"):
            getattr(heedml, name)([X, X], True)
    with pytest.raises(TypeError, match="axis: expected int, got bool"):
        heedml.cross_entropy(X, [0, 1], axis=True)
    for name in ("sum", "mean", "max", "min", "norm", "prod", "logsumexp", "var", "std", "flip", "permute", "reshape"):
        with pytest.raises(heedml.Error, match=f"^{name}: expected a whole number, got True; flags have a name, as in keepdim=True$"):
            getattr(X, name)(True)
    assert X.topk(2, largest=False)[0].tolist() == [[1, 2], [4, 5]] and X.sort(numpy.int64(0))[0].tolist() == [[3, 1, 2], [6, 5, 4]]
    assert X.sum(numpy.int64(1)).tolist() == [6, 15] and X.softmax(axis=numpy.int32(-1)).shape == (2, 3)


def test_flip_and_permute_need_axes():
    for name in ("flip", "permute"):
        for call in (getattr(X, name), lambda axes: getattr(heedml, name)(X, axes)):
            with pytest.raises((heedml.Error, TypeError), match=f"^{name}: .*expected .*, got NoneType"):
                call(None)
    assert X.flip(1).tolist() == X.flip([1]).tolist() == [[2, 1, 3], [4, 5, 6]] and X.permute(1, 0).shape == X.permute((1, 0)).shape == (3, 2)


def test_batches_and_rates_begin_at_step_0():
    random = heedml.Random(1)
    for arguments, text in (((10, 4, -1), "expected a step from 0 to 2305843009213693950, got -1"),
                            ((10, 0, 0), "expected a batch of at least one example, got 0"),
                            ((10, -4, 0), "expected a batch of at least one example, got -4")):
        with pytest.raises(heedml.Error, match=f"^batch_order: {text}$"):
            heedml.batch_order(*arguments, random)
    for kind in ("constant", "linear", "cosine", "step", "warmup_stable_decay", "one_cycle"):
        with pytest.raises(heedml.Error, match="^learning_rate: expected a step of at least 0, got -5$"):
            heedml.Schedule(kind, lr=1.0, steps=10)(-5)


def test_whole_numbers_beyond_32_bits_are_named():
    random = heedml.Random(1)
    for name in ("integers", "permutation"):
        with pytest.raises(heedml.Error, match=f"^{name}: expected .* up to 2\\^31 - 1, got 2147483653$"):
            getattr(random, name)(2**31 + 5)
    with pytest.raises(TypeError) as raised:
        heedml.batch_order([1], 2, 3, random)
    assert "surrogate" not in str(raised.value)


def test_accuracy_of_nan_is_an_error():
    with pytest.raises(heedml.Error, match=r"^accuracy: expected logits that are numbers, got NaN in row 0 of logits \(4, 3\)$"):
        heedml.accuracy(heedml.full((4, 3), numpy.nan), [0, 0, 0, 0])
