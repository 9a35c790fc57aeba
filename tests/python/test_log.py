"""Logs of loops of one's own, curves, pictures of recordings, and messages in Python's words."""

import subprocess
import sys

import heedml
import numpy
import pytest


def test_a_log_is_read_as_curves(tmp_path):
    scope = heedml.Scope(seed=1)
    layer, x = heedml.Linear(scope / "out", 2, 1), heedml.ones((3, 2))
    sgd = heedml.SGD(scope.parameters, lr=0.1)
    log = heedml.Log(tmp_path / "mine")
    for step in range(4):
        with heedml.Recording():
            loss = (layer(x) ** 2).mean()
            gradients = loss.backward()
        log.write(step, {"loss": loss, "rate/lr": 0.1})
        log.write_gradients(step, scope.parameters, gradients)
        log.write_updates(step, scope.parameters, lambda: sgd.step(gradients))
    curves = heedml.curves(log.path)
    assert curves.loss["steps"] == [0, 1, 2, 3] and sgd.steps == 4 and curves.json == heedml.inspect("curves", log.path, "--json")
    assert set(curves.data) >= {"loss", "rate/lr", "norm/out.weight", "gradient/out.bias", "update/out.weight"}
    assert list(heedml.curves(log.path, only="loss").data) == ["loss"] and curves.rows()[2]["rate/lr"] == 0.1
    path = log.path
    with pytest.raises(heedml.Error, match="mine: another Log writes to this directory; end it first"):
        heedml.Log(path, resume=2)
    del log
    more = heedml.Log(path, resume=2)
    more.write(2, {"loss": float("nan")})
    assert heedml.curves(path).loss["steps"] == [0, 1, 2] and str(heedml.Log(path).path).endswith("mine-2")
    assert heedml.curves(path).rows()[2]["loss"] != heedml.curves(path).rows()[2]["loss"]
    with pytest.raises(ZeroDivisionError):
        more.write_updates(3, scope.parameters, lambda: 1 / 0)
    for wrong in (lambda: more.write(1, {"loss": 1}), lambda: more.write(4, {"a": heedml.ones(2)}), lambda: more.write(4, {"step": 1}),
                  lambda: heedml.Log("/proc/none"), lambda: heedml.curves(tmp_path / "none")):
        with pytest.raises(heedml.Error):
            wrong()


def test_a_log_resumes_at_its_step_and_names_wrong_values(tmp_path):
    log = heedml.Log(tmp_path / "mine")
    for step in range(3):
        log.write(step, {"loss": 1.0})
    del log
    log = heedml.Log(tmp_path / "mine", resume=2)
    with pytest.raises(heedml.Error, match="Log: expected a step from 2 on, got 1"):
        log.write(1, {"loss": 9.0})
    log.write(2, {"loss": numpy.float32(3), "big": 10**400})
    assert [row["loss"] for row in heedml.curves(log.path).rows()] == [1, 1, 3]
    for value, found in ("s", "'s'"), (None, "NoneType"), (heedml.ones(3), "Tensor"), ("1", "'1'"):
        with pytest.raises(heedml.Error, match=f"^Log.write: 'rate': expected a number, got {found}$"):
            log.write(3, {"loss": 1.0, "rate": value})
    with pytest.raises(heedml.Error, match="^Log.write: step: expected a whole number, got 1.5$"):
        log.write(1.5, {"loss": 1.0})


def test_a_log_is_free_again_when_its_process_is_killed(tmp_path):
    code = "import heedml, sys, time; log = heedml.Log(sys.argv[1], resume=0); print('open', flush=True); time.sleep(100)"
    with subprocess.Popen([sys.executable, "-c", code, tmp_path / "mine"], stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"open\n"
        with pytest.raises(heedml.Error, match="another Log writes to this directory"):
            heedml.Log(tmp_path / "mine", resume=0)
        other.kill()
        other.wait()
        heedml.Log(tmp_path / "mine", resume=0).write(0, {"loss": 1})


def test_a_log_is_drawn(tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    log = heedml.Log(tmp_path / "mine")
    log.write(0, {"loss": 2}), log.write(5, {"loss": 1})
    assert heedml.curves(log.path).plot().lines[0].get_ydata().tolist() == [2, 1]


def test_a_recording_is_drawn():
    layer = heedml.Linear(heedml.Scope() / "out", 2, 1)
    with heedml.Recording():
        text = heedml.draw(layer(heedml.ones((3, 2))).sum())
    assert text.startswith("digraph") and "out.weight" in text
    with pytest.raises(heedml.Error):
        heedml.draw(heedml.ones(2))


def test_messages_have_the_names_of_python():
    scope, v = heedml.Scope(), heedml.variable([1.0])
    used, unused = heedml.Linear(scope / "used", 1, 1), heedml.Linear(scope / "unused", 1, 1)
    adam = heedml.Adam(scope.parameters)
    with heedml.Recording():
        gradients = used(v).sum().backward()
    with pytest.raises(heedml.Error, match="no gradient for unused.weight.*missing_gradient='leave_unchanged' skips"):
        adam.step(gradients)
    heedml.Adam(scope.parameters, missing_gradient="leave_unchanged").step(gradients)
    with heedml.Recording(), pytest.raises(heedml.Error, match=r"call that backward\(loss, record=True\)"):
        first = (v * v).sum().backward()
        (first[v] * v).sum().backward()
    with pytest.raises(heedml.Error, match=r"convert one with to\('float64'\)|convert one with to\('float32'\)"):
        heedml.ones((2, 2)) @ heedml.ones((2, 2), "float64")
    with pytest.raises(heedml.Error, match=r"^Mask\.window: "):
        heedml.Mask.window(-1, 0)
    with pytest.raises(heedml.Error, match=r"^Random\.integers: "):
        heedml.Random(1).integers(0)
    with pytest.raises(heedml.Error, match=r"^Random\.choice: .*weights"):
        heedml.Random(1).choice([-1, 2])
    with pytest.raises(heedml.Error, match=r"^Random: sizes must not be negative"):
        heedml.Random(1).choice([1], -3)
    assert unused.bias is not None and str(heedml.Error("a::b {.x = 1}")) == "a::b {.x = 1}"


def test_messages_of_models_have_the_names_of_arguments(tmp_path):
    config = heedml.word_answerer(heedml.bert(1, 2, 8, max_length=16))
    model = heedml.Model(config, ["the", "dog", "slept", "it"])
    model.queries = ["it"]
    with pytest.raises(heedml.Error, match="choose one with query="):
        model.attention("the dog slept")
    with pytest.raises(heedml.Error, match="^attention: sentence: expected a str or the ids of one text, got list$"):
        model.attention(["the dog"])
    with pytest.raises(heedml.Error, match="^pairs:1: unknown key 'right'"):
        model.circuit([{"clean": "the dog", "corrupted": "dog the", "right": "dog", "wrong": "the"}])
    (tmp_path / "run").mkdir()
    (tmp_path / "run/file").write_text("mine")
    with pytest.raises(heedml.Error, match=r"already exists.*choose another out="):
        heedml.train({"data": {"task": "coreference"}, "train": {"steps": 1}}, out=tmp_path / "run", quiet=True)
    language = heedml.Model(heedml.language_model(heedml.gpt2(1, 2, 8, max_length=8)), 4)
    with pytest.raises(heedml.Error, match="learns from windows of a text, got a batch without targets"):
        language.loss(heedml.Batch([[0, 1]]))
