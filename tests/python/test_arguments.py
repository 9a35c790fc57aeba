"""Arguments of models that messages name, and arithmetic of gradients."""

import copy

import heedml
import numpy
import pytest


def test_generate_and_encode_name_the_wrong_argument():
    model = heedml.Model(heedml.language_model(heedml.gpt2(1, 2, 8, max_length=8)), list("abc"), split="characters")
    for name, value, found in (("seed", -1, "-1"), ("seed", 2**64, str(2**64)), ("stop", None, "NoneType"), ("temperature", "1", "'1'"),
                               ("tokens", 2.5, "2.5"), ("top_k", 0.5, "0.5"), ("top_p", None, "NoneType"), ("prompt", 3, "int")):
        with pytest.raises(heedml.Error, match=f"^generate: {name}: expected .*, got {found}$"):
            model.generate(**{"prompt": "a", "tokens": 2, name: value})
    with pytest.raises(heedml.Error, match=f"^generate: seed: expected a whole number from 0 to {2**64 - 2}, got {2**64 - 1}$"):
        model.generate(["a", "b"], 2, seed=2**64 - 1)
    half = r"character 1 is '\\ud800', half of a surrogate pair, which UTF-8 does not have; text.encode\('utf-8', 'replace'\).decode\(\) replaces it"
    for call, where in ((lambda: model.generate("a\ud800", 2), "generate: prompt"), (lambda: model.encode(["a", "a\ud800"]), "encode: text 1")):
        with pytest.raises(heedml.Error, match=f"^{where}: {half}$"):
            call()
    with pytest.raises(TypeError, match="or a text holds half of a surrogate pair"):
        model.tokens("a\ud800")
    for name, call in (("Scope", lambda seed: heedml.Scope(seed=seed)), ("Random", heedml.Random),
                       ("Model", lambda seed: heedml.Model(model.config, 3, seed=seed))):
        for seed in (-1, 2**64):
            with pytest.raises(heedml.Error, match=f"^{name}: seed: expected a whole number at least 0, below 2\\^64, got {seed}$"):
                call(seed)
    assert len(model.generate("a", numpy.int64(2), temperature=numpy.float32(1), seed=2**64 - 1).text) > 0
    for texts, text in ((None, "expected a str or several, got NoneType"), (b"x", "expected a str or several, got bytes"),
                        ([1], "text 0: expected a str, got int"), (["a", None], "text 1: expected a str, got NoneType")):
        with pytest.raises(heedml.Error, match=f"^encode: {text}$"):
            model.encode(texts)


def test_gradients_are_subtracted_summed_and_copied():
    layer = heedml.Linear(heedml.Scope(seed=1) / "a", 2, 2)

    def gradients(factor):
        with heedml.Recording():
            return (layer(heedml.ones((1, 2))) * factor).sum().backward()

    one, three = gradients(1.0), gradients(3.0)
    for result, expected in ((three - one, 2), (one - three, -2), (-one, -1), (sum([one, three]), 4), (numpy.float32(2) * one, 2),
                             (copy.deepcopy(three), 3)):
        assert type(result) is heedml.Gradients and (result[layer.weight].numpy() == expected).all()
        result[layer.weight].copy_from(heedml.zeros((2, 2)))
    assert (one["a.weight"].numpy() == 1).all() and (three["a.weight"].numpy() == 3).all()
    with pytest.raises(TypeError):
        1 + one


def test_messages_name_an_index():
    gradients = heedml.Gradients()
    with pytest.raises(TypeError, match=r"^Gradients\[\]: variable: .*Usage: Gradients\[variable\] or Gradients\[name\]$"):
        gradients[0]
    with pytest.raises(TypeError, match=r"^Gradients\[\]: gradient: .*Usage: Gradients\[variable\] = gradient$"):
        gradients[heedml.variable([1.0])] = None


def test_steps_and_pairs_count_as_python_does():
    model = heedml.Model(heedml.language_model(heedml.gpt2(2, 2, 8, max_length=8)), ["a", " cat"])
    with pytest.raises(heedml.Error, match="^steps: layer: expected a whole number from 0 to 1, got 5$"):
        model.steps("a cat", layer=5)
    with pytest.raises(heedml.Error, match="^steps: head: expected a whole number from 0 to 1, got -1$"):
        model.steps("a cat", head=-1)
    for method in (model.restored, model.circuit):
        with pytest.raises(heedml.Error, match=r"^pairs: expected those of Model.pairs\(\), a file or a list of dicts, got int$"):
            method(5)
        with pytest.raises(heedml.Error, match="^pair 0: expected a dict, got str$"):
            method(["a"])
