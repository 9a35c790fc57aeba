"""Functions of Python that the library calls: hooks and operations of one's own."""

import gc

import heedml
import numpy
import pytest


def test_exceptions_in_callbacks_pass_through():
    def fails(*_):
        raise ZeroDivisionError("mine")

    w = heedml.variable([1.0])
    for operation in (heedml.custom_operation(fails, fails), heedml.custom_operation(lambda x: x * 1, fails)):
        with pytest.raises(ZeroDivisionError, match="mine"), heedml.Recording():
            operation(w).sum().backward()
    layer = heedml.Linear(heedml.Scope(seed=1) / "a", 1, 1)
    with pytest.raises(ZeroDivisionError), heedml.Hook(fails):
        layer(heedml.ones((1, 1)))
    for gives in ("text", 3, [1, None], None):
        with pytest.raises(heedml.Error), heedml.Recording():
            heedml.custom_operation(lambda x: x * 1, lambda *_: gives)(w).sum().backward()
    assert layer(heedml.ones((1, 1))).shape == (1, 1)


def test_a_hook_sees_and_replaces_values():
    scope = heedml.Scope(seed=1)
    attention = heedml.MultiHeadAttention(scope / "a", d_model=8, heads=2)
    seen = {}
    with heedml.Hook(lambda name, value: seen.update({name: value.shape})):
        attention(heedml.ones((1, 3, 8)))
    assert seen["a.weights"] == (1, 2, 3, 3)
    with heedml.Hook(lambda name, value: value * 0 if name == "a.heads" else None):
        zeroed = attention(heedml.ones((1, 3, 8))).output
    assert numpy.array_equal(zeroed[0, 0].numpy(), attention.W_O.bias.numpy())
    with heedml.Hook(lambda name, value: value * 0, only="a.heads"):
        assert numpy.array_equal(attention(heedml.ones((1, 3, 8))).output.numpy(), zeroed.numpy())
    with pytest.raises(heedml.Error, match=r"Hook: no layer showed 'a.head' \(did you mean 'a.heads'\?\); there were a.K, a.Q, "):
        with heedml.Hook(lambda name, value: value * 0, only=["a.heads", "a.head"]):
            attention(heedml.ones((1, 3, 8)))
    with pytest.raises(ZeroDivisionError), heedml.Hook(lambda name, value: None, only="nothing"):
        attention(heedml.ones((1, 3, 8)))
        raise ZeroDivisionError


def test_an_object_that_keeps_its_hook_is_freed():
    class Cache:
        def __init__(self):
            self.values = heedml.ones((1000, 1000))
            self.hook = heedml.Hook(self.keep)

        def keep(self, name, value):
            return None

    Cache()
    gc.collect()
    before = heedml.memory_in_use()
    for _ in range(3):
        with Cache().hook:
            pass
    gc.collect()
    assert heedml.memory_in_use() <= before
