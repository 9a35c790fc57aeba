"""Texts that a model, a block or an attention layer reads in parts, with a KeyValueCache."""

import copy

import heedml
import numpy
import pytest


def block(scope, d=8):
    return heedml.TransformerBlock(scope, attention={"d_model": d, "heads": 2}, mlp={"width": 16})


def test_a_cache_gives_the_outputs_of_whole_texts():
    scope, x = heedml.Scope(seed=1), heedml.Random(2).normal((2, 5, 8))
    for layer in (block(scope / "block"), heedml.MultiHeadAttention(scope / "attention", d_model=8, heads=2)):
        cache, parts = heedml.KeyValueCache(), []
        for t in range(5):
            parts.append(layer.append(x[:, t:t + 1], cache).numpy())
        whole = layer(x, mask=heedml.Mask.causal()).output.numpy()
        assert numpy.allclose(numpy.concatenate(parts, 1), whole, atol=1e-6)
    model = heedml.Model(heedml.language_model(heedml.gpt2(2, 2, 8, max_length=8)), 10)
    cache = heedml.KeyValueCache()
    model.append([[1, 2]], cache)
    other = copy.copy(cache)
    assert numpy.allclose(model.append([[3]], cache).numpy(), model.logits(heedml.Batch([[1, 2, 3]])).numpy()[:, -1], atol=1e-6)
    assert numpy.allclose(model.append([[4]], other).numpy(), model.logits(heedml.Batch([[1, 2, 4]])).numpy()[:, -1], atol=1e-6)
    both = heedml.KeyValueCache()
    model.append([[1, 2], [3, 4]], both)
    both.select([1, 1, 0])
    whole = model.logits(heedml.Batch([[3, 4, 5], [3, 4, 6], [1, 2, 7]])).numpy()[:, -1]
    assert numpy.allclose(model.append([[5], [6], [7]], both).numpy(), whole, atol=1e-6)
    with pytest.raises(heedml.Error, match="outside"):
        both.select([3])
    other.truncate(1)
    assert (cache.length, other.length, repr(other)) == (3, 1, "heedml.KeyValueCache(1 token)")


def test_a_cache_is_of_the_model_that_filled_it_until_it_is_empty():
    one, other = (heedml.Model(heedml.language_model(heedml.gpt2(2, 2, 8, max_length=8)), 10, seed=seed) for seed in (1, 2))
    cache = heedml.KeyValueCache()
    first = one.append([[1, 2]], cache).numpy()
    with pytest.raises(heedml.Error, match=r"it holds keys and values of another layer or model; give each its own, or truncate\(0\)"):
        other.append([[3]], cache)
    assert cache.length == 2 and (one.append([[3]], copy.copy(cache)).numpy() == one.append([[3]], cache).numpy()).all()
    cache.truncate(0)
    other.append([[1], [2], [3]], cache)
    cache.truncate(0)
    layer = block(heedml.Scope(seed=1))
    layer.append(heedml.zeros((2, 1, 8)), cache)
    cache.truncate(0)
    assert (one.append([[1, 2]], cache).numpy() == first).all()
    with heedml.Recording():
        with pytest.raises(heedml.Error, match="these keys and values are recorded; append within a NoRecording, or pass whole texts"):
            one.append([[3]], cache)
        with heedml.NoRecording():
            one.append([[3]], cache)
    assert cache.length == 3


def test_a_cache_is_as_before_when_an_append_fails():
    layer, cache = block(heedml.Scope(seed=1)), heedml.KeyValueCache()
    model = heedml.Model(heedml.language_model(heedml.gpt2(2, 2, 8, max_length=8)), 10)
    model.append([[1, 2]], cache)
    larger = heedml.Model(heedml.language_model(heedml.gpt2(3, 2, 8, max_length=8)), 10)

    def raised(name, value):
        raise ZeroDivisionError

    def again(name, value):
        model.append([[1]], cache)

    for call, message in [(lambda: model.append([[1] * 7], cache), "expected at most max_length 8 tokens, got 7 after 2"),
                          (lambda: model.append([1], cache), r"Transformer.append: expected tokens \(B, T\)"),
                          (lambda: larger.append([[1]], cache), "expected a cache of 3 layers, got one of 2"),
                          (lambda: layer.append(heedml.zeros((1, 1, 8)), cache), "is of a model with 2 layers"),
                          (lambda: cache.truncate(-1), "^KeyValueCache.truncate: expected a length of at least 0, got -1$")]:
        with pytest.raises(heedml.Error, match=message):
            call()
    with pytest.raises(ZeroDivisionError), heedml.Hook(raised):
        model.append([[1]], cache)
    with pytest.raises(heedml.Error, match="another call appends to it now"), heedml.Hook(again):
        model.append([[1]], cache)
    own = heedml.KeyValueCache()
    with pytest.raises(ZeroDivisionError), heedml.Hook(lambda name, value: raised(name, value) if name == "mlp.out.output" else None):
        layer.append(heedml.zeros((1, 1, 8)), own)
    assert (cache.length, own.length) == (2, 0)
