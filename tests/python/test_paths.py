"""Paths as str, bytes and pathlib.Path, wherever one is taken."""

import os
import pathlib

import heedml
import pytest

STEPS = {"data": {"sentences": 40, "held_out": 8}, "model": {"d_model": 8, "heads": 2}, "train": {"steps": 2}}


@pytest.mark.parametrize("path_of", [str, os.fsencode, pathlib.Path])
def test_every_kind_of_path_is_taken(tmp_path, path_of):
    def place(name):
        return path_of(str(tmp_path / name))

    model = heedml.Model(heedml.language_model(heedml.gpt2(1, 2, 8, max_length=8)), list("abc"), split="characters")
    model.save(place("model.safetensors"))
    assert heedml.load(place("model.safetensors")).path == str(tmp_path / "model.safetensors")
    assert heedml.Model(path=place("model.safetensors")).layers == 1
    heedml.save_tensors(place("tensors.safetensors"), {"a": heedml.ones(2)})
    assert heedml.load_tensors(place("tensors.safetensors"))["a"].shape == (2,)
    heedml.Log(place("log")).write(0, {"loss": 1})
    assert heedml.curves(place("log")).loss["steps"] == [0]
    assert heedml.inspect("curves", place("log"))
    run = heedml.train(STEPS, out=place("run"), quiet=True)
    assert run.path == str(tmp_path / "run") and heedml.train(resume=place("run"), quiet=True).path == run.path
    assert len(heedml.Experiment(place("run/config.yaml")).batch(0)) > 0
    assert run.evaluate(place("run/held_out.jsonl")).json
    model.adapt("W_Q", base=place("base"))
    row = '{"clean": "%s", "corrupted": "abb", "answer": "a", "wrong": "b"}\n'
    heedml.Pairs(row % "aab" + row % "bab").save(place("pairs.jsonl"))
    assert model.restored(place("pairs.jsonl")).json
    run.page().save(place("page.html"))
    assert (tmp_path / "page.html").exists()


def test_a_path_that_is_not_text_is_refused(tmp_path):
    for path in (b"/tmp/\xff", "/tmp/\udcff"):
        for take in (heedml.load, heedml.load_tensors, heedml.curves, lambda path: heedml.train(path, quiet=True)):
            with pytest.raises(heedml.Error, match=r"^expected a path in UTF-8, got b'/tmp/\\xff'; rename the file$"):
                take(path)
    model = heedml.Model(heedml.language_model(heedml.gpt2(1, 2, 8, max_length=8)), list("abc"), split="characters")
    with pytest.raises(heedml.Error, match="^expected a path in UTF-8"):
        model.save(os.fsencode(tmp_path) + b"/\xff.safetensors")
    for take in (heedml.Log, heedml.load, model.save):
        with pytest.raises(heedml.Error, match="^a path cannot contain NUL"):
            take(f"{tmp_path}/a\0b")
    with pytest.raises(heedml.Error, match="^Log: expected the path of a directory, got an empty text$"):
        heedml.Log("")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(TypeError, match="expected str, bytes or os.PathLike object, not int"):
        heedml.load(5)
