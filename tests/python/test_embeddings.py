"""Embeddings of texts by the files that sentence-transformers writes beside a model."""

import json

import heedml
import numpy
import pytest

TEXTS = ["the cat sat", "a dog", "the cat sat on the mat"]


@pytest.fixture
def saved(tmp_path):
    config = heedml.masked_language_model(heedml.bert(2, 2, 8, max_length=32))
    model = heedml.Model(config, list("abcdefghijklmnopqrstuvwxyz ."), split="characters", seed=3)
    model.save(tmp_path / "model.safetensors")

    def write(pooling=None, modules=("Pooling", "Normalize"), texts=None, prompts=None):
        kinds = ["Transformer", *modules]
        files = {"modules.json": [{"idx": i, "path": f"{i}_{kind}" if i else "", "type": f"{'' if '.' in kind else 'sentence_transformers.models.'}{kind}"}
                                  for i, kind in enumerate(kinds)],
                 "sentence_bert_config.json": texts or {}, "config_sentence_transformers.json": prompts or {}}
        (tmp_path / "1_Pooling").mkdir(exist_ok=True)
        for name, value in files.items():
            (tmp_path / name).write_text(json.dumps(value))
        (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode": "mean"} if pooling is None else pooling))
        return heedml.load(tmp_path / "model.safetensors")

    return write


def states_of(model, text):
    return model.states(model.batch([text])).numpy()[0]


POOLED = {"mean": lambda s: s.mean(0), "cls": lambda s: s[0], "lasttoken": lambda s: s[-1], "max": lambda s: s.max(0),
          "mean_sqrt_len_tokens": lambda s: s.sum(0) / numpy.sqrt(len(s)),
          "weightedmean": lambda s: (s * numpy.arange(1, len(s) + 1)[:, None]).sum(0) / numpy.arange(1, len(s) + 1).sum()}


@pytest.mark.parametrize("pooling", POOLED)
def test_the_pooling_is_that_of_the_files(saved, pooling):
    model = saved({"pooling_mode": pooling}, modules=["Pooling"])
    expected = numpy.array([POOLED[pooling](states_of(model, text)) for text in TEXTS])
    assert numpy.allclose(model.encode(TEXTS), expected, atol=1e-6)
    lengths = numpy.linalg.norm(expected, axis=1, keepdims=True)
    assert numpy.allclose(model.encode(TEXTS, normalize=True), expected / lengths, atol=1e-6)
    assert numpy.allclose(saved({"pooling_mode": pooling}).encode(TEXTS), expected / lengths, atol=1e-6)
    assert numpy.allclose(saved({"pooling_mode": "cls"}).encode(TEXTS, pooling=pooling), expected / lengths, atol=1e-6)


def test_older_files_name_the_pooling_by_keys(saved):
    model = saved({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, modules=["Pooling"])
    assert numpy.allclose(model.encode("a dog"), states_of(model, "a dog")[0], atol=1e-6)


def test_a_prompt_and_lower_case_are_applied(saved):
    model = saved({"pooling_mode": "mean"}, texts={"do_lower_case": True}, prompts={"prompts": {"query": "the "}, "default_prompt_name": "query"})
    assert (model.encode("CAT") == model.encode("the cat", pooling="mean")).all()


def test_long_texts_are_cut_when_asked(saved):
    model = saved({"pooling_mode": "mean"}, texts={"max_seq_length": 6})
    with pytest.raises(heedml.Error, match=r"^encode: text 2 has 22 tokens, more than the 6 that the model's files name. "
                                           r"max_length=6 cuts it"):
        model.encode(TEXTS)
    assert numpy.allclose(model.encode(TEXTS, max_length=6), model.encode(["the ca", "a dog", "the ca"]), atol=1e-6)
    assert numpy.allclose(model.encode("the cat " * 30, max_length=6), model.encode("the ca"), atol=1e-6)  # longer than the model reads


def test_embeddings_are_as_short_as_the_files_say(saved):
    model = saved({"pooling_mode": "mean"}, prompts={"truncate_dim": 3})
    short, whole = model.encode(TEXTS), model.encode(TEXTS, pooling="mean")  # sentence-transformers cuts what its Normalize made
    assert numpy.allclose(short, whole[:, :3], atol=1e-6) and (numpy.linalg.norm(short, axis=1) < 1).all()
    assert numpy.allclose(model.encode(TEXTS, normalize=True), short / numpy.linalg.norm(short, axis=1, keepdims=True), atol=1e-6)


def test_files_that_ask_for_more_are_refused(saved):
    for wrong, message in [({"modules": ["Pooling", "Dense"]}, "has a module 'sentence_transformers.models.Dense', which heed does not compute"),
                           ({"modules": ["my.own.Pooling"]}, "has a module 'my.own.Pooling'"), ({"modules": ["Normalize"]}, "expected the modules"),
                           ({"pooling": {}}, "1_Pooling/config.json: it names no pooling"),
                           ({"pooling": {"pooling_mode": "mean"}, "texts": {"max_seq_length": "x"}}, "max_seq_length: expected a whole number"),
                           ({"pooling": {"pooling_mode": "mean"}, "prompts": {"default_prompt_name": "query"}}, "default_prompt_name: expected one"),
                           ({"pooling": {"pooling_mode": "mean"}, "texts": {"processing_kwargs": {"text": {"max_length": 4}}}},
                            "processing_kwargs: heed does not read texts so"),
                           ({"pooling": {"pooling_mode": "mean"}, "texts": {"modality_config": {"text": {"method": "forward"}, "message": {"format": "flat"}}}},
                            "modality_config: heed does not read texts so"),
                           ({"pooling": {"pooling_mode": ["cls", "mean"]}}, r"1_Pooling/config.json: expected a pooling from mean, cls.*got \['cls', 'mean'\]"),
                           ({"pooling": {"pooling_mode": "mean", "include_prompt": False}, "prompts": {"prompts": {"query": "x"}, "default_prompt_name": "query"}},
                            "include_prompt false")]:
        model = saved(**wrong)
        with pytest.raises(heedml.Error, match=message):
            model.encode("a dog")
        assert model.encode("a dog", pooling="mean").shape == (8,)
    with pytest.raises(heedml.Error, match="^encode: expected a pooling from mean, cls, .*, got 'median'$"):
        model.encode("a dog", pooling="median")
    with pytest.raises(heedml.Error, match="^encode: max_length: expected a whole number at least 1"):
        model.encode("a dog", max_length=0)


def test_damaged_files_are_named(saved, tmp_path):
    model = saved()
    for text, message in [("{", "modules.json: Expecting"), ("{}", "modules.json: expected a JSON list")]:
        (tmp_path / "modules.json").write_text(text)
        with pytest.raises(heedml.Error, match=message):
            model.encode("a dog")
