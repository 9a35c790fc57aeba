"""Configurations as dicts."""

import json

import heedml
import numpy
import pytest

CONFIG = {"name": "x", "data": {"task": "text", "context": 8, "tokens": "characters"}, "model": {"d_model": 8, "layers": 1, "heads": 2},
          "train": {"steps": 2, "batch_size": 4, "evaluate_every": 2}}


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("the cat sat on the mat. the dog sat on the rug. " * 20)
    return path


def configuration(text, **changes):
    return {**CONFIG, "data": {**CONFIG["data"], "train": str(text)}, **changes}


def bits(model):
    return {name: value.numpy().tobytes() for name, value in model.parameters.items()}


def test_a_dict_continues_a_pretrained_model_as_a_file_does(text, tmp_path):
    writer = heedml.Model(heedml.language_model(heedml.gpt2(1, 2, 8, max_length=8)), sorted(set(text.read_text())), split="characters")
    writer.export_hugging_face(tmp_path / "gpt2")
    (tmp_path / "gpt2" / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "added_tokens": [], "normalizer": None, "post_processor": None, "decoder": {"type": "Fuse"},
        "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "."}, "behavior": "Isolated", "invert": False},
        "model": {"type": "WordLevel", "unk_token": " ", "vocab": {word: i for i, word in enumerate(writer.vocabulary)}}}))
    config = {"name": "x", "data": {"task": "text", "train": str(text), "context": 8}, "model": {"from": str(tmp_path / "gpt2")},
              "train": CONFIG["train"]}
    file = tmp_path / "config.yaml"
    file.write_text(json.dumps(config))
    of_dict, of_file = (heedml.train(each, out=tmp_path / name, quiet=True) for each, name in ((config, "dict"), (file, "file")))
    assert bits(of_dict) == bits(of_file)
    without = {key: value for key, value in config.items() if key != "model"}
    assert bits(heedml.train(without, set={"model.from": tmp_path / "gpt2"}, out=tmp_path / "set", quiet=True)) == bits(of_file)
    assert heedml.Experiment(config).steps == 2


def test_a_dict_may_hold_numbers_of_numpy_and_paths(text, tmp_path):
    plain = configuration(text, seed=3, optim={"lr": 0.5}, model={**CONFIG["model"], "last_residual": True})
    given = {**plain, "seed": numpy.int64(3), "optim": {"lr": numpy.float32(0.5)}, "data": {**plain["data"], "train": text},
             "model": {**plain["model"], "last_residual": numpy.bool_(True)}}
    runs = [heedml.train(config, out=tmp_path / name, quiet=True, set=given_set)
            for config, name, given_set in ((plain, "a", {"train.steps": 1}), (given, "b", {"train.steps": numpy.array(1)}))]
    assert bits(runs[0]) == bits(runs[1])
    assert heedml.Experiment({**plain, "name": "\U0001f642"}).steps == 2
    for wrong, message in (({"optim": {"lr": object()}}, "optim.lr: expected a number, a str, a path, a list or a dict, got object"),
                           ({"probes": [{"text": 3j}]}, "probes 0.text: expected a number, .*, got complex"),
                           ({None: 1}, "a key of the dict: expected a str, got NoneType"),
                           ({"optim": {1: 2}}, "a key of optim: expected a str, got int")):
        for call in (heedml.train, heedml.Experiment):
            with pytest.raises(heedml.Error, match=f"^{message}$"):
                call({**plain, **wrong})
    with pytest.raises(heedml.Error, match="^train.steps: expected a number, "):
        heedml.train(plain, set={"train.steps": object()})
