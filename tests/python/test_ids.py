"""Ids of tokens, and methods that take them in place of a text."""

import heedml
import numpy
import pytest

TEXT = "a cat, a dog"


@pytest.fixture(scope="module")
def model():
    return heedml.Model(heedml.language_model(heedml.gpt2(2, 2, 8, max_length=8)), ["a", " cat", ",", " a", " dog"])


def test_ids_of_a_text_and_back(model):
    assert model.ids(TEXT) == [0, 1, 2, 3, 4] and model.tokens(TEXT) == [model.vocabulary[i] for i in model.ids(TEXT)]
    assert model.text(model.ids(TEXT)) == model.text(numpy.array([[0, 1, 2, 3, 4]])) == TEXT and model.ids(TEXT, template=False) == model.ids(TEXT)
    assert heedml.Model(heedml.language_model(heedml.gpt2(1, 1, 4, max_length=4)), ["<0xC3>", "a"], split="bytes").text([0]) == "\ufffd"
    with pytest.raises(heedml.Error, match="^not among the 5 words that the model knows: ' bird'"):
        model.ids("a bird")
    for wrong, message in ((TEXT, "text: ids: expected the ids of one text, got a str"), ([0.5], "text: ids: expected a str or the ids of one text"),
                           ([-1], "text: ids: id: expected a whole number at least 0"), ([5], "vocabulary: no word has number 5; expected 0 to 4")):
        with pytest.raises(heedml.Error, match=f"^{message}"):
            model.text(wrong)


def test_ids_take_the_place_of_a_text(model):
    ids = model.ids(TEXT)
    for given in (ids, tuple(ids), numpy.array(ids), numpy.array([ids], "uint8")):
        trace = model.trace(given)
        assert trace.tokens == model.tokens(TEXT) and (trace["logits"] == model.trace(TEXT)["logits"]).all()
        assert model.attention(given).json == model.attention(TEXT).json
        several = numpy.ndim(given) == 2   # rows are texts
        assert model.generate(given, 4, seed=3) == ([model.generate(TEXT, 4, seed=3)] if several else model.generate(TEXT, 4, seed=3))
    assert model.trace(ids, ",").query == 2 == model.trace(TEXT, ",").query
    assert model.attention(ids, ",").json == model.attention(TEXT, ",").json
    assert model.generate([ids, "a"], 3) == model.generate([TEXT, "a"], 3) and model.generate([[0], [1]], 2)[1].prompt == " cat"
    unread = heedml.Model(heedml.language_model(heedml.gpt2(1, 2, 8, max_length=8)), 20)   # texts do not spell <0>
    assert unread.trace([0, 19]).tokens == ["<0>", "<19>"] and unread.attention([0, 19]).json and unread.generate([7], 2).prompt == "<7>"


def test_explanations_take_ids(model):
    ids, pair = model.ids(TEXT), model.ids("a cat, a cat")
    for given in (tuple(ids), numpy.array([ids])):
        assert model.why(given).json == model.why(TEXT).json and model.why_answer(given).json == model.why_answer(TEXT).json
        assert model.causes(given).json == model.causes(TEXT).json
    assert model.why(ids, ",").json == model.why(TEXT, ",").json
    if model.trace(pair)["logits"].argmax() != model.trace(ids)["logits"].argmax():
        assert model.causes(ids, pair=pair).json == model.causes(TEXT, pair=pair).json == model.causes(TEXT, pair="a cat, a cat").json
    by_id = [{"clean": [0, i, j, 4], "corrupted": numpy.array([0, i, j, 1]), "answer": 4, "wrong": [1]} for i in (1, 2, 3, 4) for j in (1, 3)]
    written = [{"clean": model.text(row["clean"]), "corrupted": model.text(row["corrupted"]), "answer": "dog", "wrong": "cat"} for row in by_id]
    assert model.restored(by_id).json == model.restored(written).json and model.circuit(by_id).json == model.circuit(written).json
    unread = heedml.Model(heedml.language_model(heedml.gpt2(1, 2, 8, max_length=8)), 20)
    assert unread.causes([0, 19]).json and unread.why([0, 19]).json and unread.restored([{"clean": [i, 19], "corrupted": [i, 7], "answer": 1, "wrong": 2} for i in (0, 3)]).json
    before = model.causes(ids).json
    with heedml.intervene(model, heedml.ablate(heedml.Place.attention_output(0))):
        assert model.causes(ids).json == model.causes(TEXT).json != before
    for call, message in ((lambda: model.causes(ids, limit=3), "causes: limit and by and step are for a text"), (lambda: model.why(ids, step=3), "why: step is for a text"),
                          (lambda: model.why([0.5]), "why: sentence: expected a str or the ids"), (lambda: model.causes(ids, pair=3), "causes: pair: expected a str or the ids"),
                          (lambda: model.circuit([{"clean": [9], "corrupted": [1], "answer": 1, "wrong": 2}]), "pairs:1: clean: expected ids from 0 to 4, got 9")):
        with pytest.raises(heedml.Error, match=f"^{message}"):
            call()


def test_wrong_ids_are_named(model):
    for wrong, found in ((3, "int"), ([], "list"), ([[1, 2], [3, 4]], "list"), ([0.5], "list"), (None, "NoneType"), (b"a", "b'a'"),
                         ([[1], [2, 3]], "list"), ({1: 2}, "dict")):
        with pytest.raises(heedml.Error, match=f"^trace: text: expected a str or the ids of one text, got {found}$"):
            model.trace(wrong)
    with pytest.raises(heedml.Error, match="^trace: query: expected a str, got int$"):
        model.trace([0, 1], 1)
    with pytest.raises(heedml.Error, match="^no token is 'x'; the tokens: a  cat$"):
        model.trace([0, 1], "x")
    with pytest.raises(heedml.Error, match="^attention: words and step are for a text"):
        model.attention([0, 1], words=True)
