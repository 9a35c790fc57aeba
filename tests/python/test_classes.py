"""Classifiers of texts, on small random models with the words of a sentence."""

import pathlib

import heedml
import numpy
import pytest

CLASSES = ["bad", "fair", "good"]
TEXTS = ["the dog was tired", "it was too tired", "the street", "tired"]


@pytest.fixture
def model() -> heedml.Model:
    words = ["the", "dog", "was", "tired", "it", "too", "street"]
    return heedml.Model(heedml.text_classifier(heedml.bert(2, 2, 16, max_length=8), CLASSES), words, seed=3)


def language_model() -> heedml.Model:
    return heedml.Model(heedml.language_model(heedml.gpt2(1, 2, 8, max_length=8)), ["a", "b", "c"], seed=1)


def test_classify_gives_the_softmax_of_the_logits(model: heedml.Model) -> None:
    found = model.classify(TEXTS, batch_size=3)
    assert [one.text for one in found] == TEXTS
    for one in found:
        logits = model.logits(model.batch([one.text])).numpy()[0].astype(numpy.float64)
        expected = numpy.exp(logits) / numpy.exp(logits).sum()
        assert list(one.probabilities) == CLASSES
        numpy.testing.assert_allclose(list(one.probabilities.values()), expected, rtol=1e-5)
        assert one.label == CLASSES[int(expected.argmax())] and one.probability == max(one.probabilities.values())
    assert model.classify(TEXTS[0]).label == found[0].label
    assert model.classify([]) == []


def test_a_classifier_learns_and_is_saved(model: heedml.Model, tmp_path: pathlib.Path) -> None:
    labels: list[str | int] = ["good", 0, "fair", "bad"]
    batch = model.batch(TEXTS, classes=labels)
    assert batch.answer is not None and batch.answer.tolist() == [2, 0, 1, 0]
    adam = heedml.Adam(model.parameters, lr=0.01)
    for _ in range(60):
        with heedml.Recording():
            gradients = model.loss(batch).backward()
        adam.step(gradients)
    assert [one.label for one in model.classify(TEXTS)] == ["good", "bad", "fair", "bad"]
    model.save(tmp_path / "model.safetensors")
    texts = tmp_path / "texts.jsonl"
    texts.write_text('{"text": "the dog was tired", "label": "good"}\n{"text": "tired", "label": 1}\n')
    read = heedml.load(tmp_path / "model.safetensors")
    assert read.classify(TEXTS) == model.classify(TEXTS)
    assert '"share":0.5' in heedml.inspect("evaluate", tmp_path / "model.safetensors", texts, "--json").replace(" ", "")
    assert "predicts good" in heedml.inspect(tmp_path / "model.safetensors", "--sentence", "the dog was tired")


def test_with_classes_leaves_the_model_and_draws_a_head() -> None:
    language = language_model()
    made = language.with_classes(["x", "y"], seed=2)
    assert language.config["kind"] == "language_model" and made.config["classes"] == ["x", "y"]
    words = "words.weight"
    assert (made.parameters[words].numpy() == language.parameters[words].numpy()).all()
    with heedml.Recording():
        gradients = made.loss(heedml.Batch([[0, 1, 2]], answer=[1])).backward()
    heedml.SGD(made.parameters, lr=1).step(gradients)
    assert (made.parameters[words].numpy() != language.parameters[words].numpy()).any()  # copies
    other = language.with_classes(["x", "y"], seed=3)
    assert (other.parameters["classifier.weight"].numpy() != made.parameters["classifier.weight"].numpy()).any()


def test_mistakes_are_named(model: heedml.Model) -> None:
    language = language_model()
    for run, text in [
        (lambda: language.classify("a"), "the model does not tell the class of a text"),
        (lambda: model.with_classes(["a", "a"]), "two classes of different names, got a, a"),
        (lambda: model.batch(["tired"], classes=["great"]), "one of the classes bad, fair, good, or a number from 0 to 2, got 'great'"),
        (lambda: model.batch(["tired"], classes=[3]), "or a number from 0 to 2, got 3"),
        (lambda: model.batch(["tired"], classes=[]), "the classes of 1 texts, got 0"),
        (lambda: language.batch(["a"], classes=[0]), "classes are for a model that tells the class of a text"),
        (lambda: model.loss(model.batch(["tired"])), "learns from texts with their classes"),
        (lambda: model.trace("the dog", "dog"), "it cannot be asked at 'dog'"),
    ]:
        with pytest.raises(heedml.Error) as raised:
            run()
        assert text in str(raised.value)
