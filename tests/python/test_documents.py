"""The page for users of PyTorch: its programs run, and its pairs of expressions are equal where torch is installed."""

import pathlib
import re

import heedml
import numpy
import pytest

PAGE = (pathlib.Path(__file__).resolve().parents[2] / "docs/explanation/from-pytorch-python.md").read_text(encoding="utf-8")
ROWS = [re.findall(r"`((?:[^`])+)`", row)[:2] for row in re.findall(r"^\| `.*$", PAGE, re.MULTILINE)]
DRAWN = numpy.random.default_rng(1)
ARRAYS = {"x": DRAWN.normal(size=(3, 4)), "y": DRAWN.normal(size=(3, 4)), "q": DRAWN.normal(size=(2, 3, 4)),
          "images": DRAWN.normal(size=(2, 3, 4, 4)), "maps": DRAWN.normal(size=(2, 4, 4, 4)), "mask": DRAWN.random((3, 4)) > 0.5,
          "labels": numpy.array([2, 0, 3]), "ids": numpy.array([2, 0, 2]), "places": DRAWN.integers(0, 3, (3, 4))}


def of_heedml(code):
    names = {name: heedml.tensor(value, "float32") if value.dtype == float else value for name, value in ARRAYS.items()}
    value = eval(code, {**vars(heedml), **names, "numpy": numpy, "scope": heedml.Scope(seed=1)})
    value = names["x"] if value is None else value  # of copy_from()
    return value.numpy() if isinstance(value, heedml.Tensor) else numpy.asarray(value)


@pytest.mark.parametrize("theirs, ours", [row for row in ROWS if "item()" not in row[0]])
def test_rows(theirs, ours):
    got = of_heedml(ours)
    assert got.size > 0
    torch = pytest.importorskip("torch")
    names = {name: torch.tensor(value, dtype=torch.float32 if value.dtype == float else None) for name, value in ARRAYS.items()}
    expected = eval(theirs, {"torch": torch, "F": torch.nn.functional, **names})
    expected = numpy.asarray(expected.detach() if isinstance(expected, torch.Tensor) else expected)
    assert got.shape == expected.shape and numpy.allclose(got, expected, rtol=1e-5, atol=1e-6)


def test_programs(tmp_path, monkeypatch, capsys):
    assert len(ROWS) > 60
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL):
        exec(block, names)
    loss, accuracy = map(float, capsys.readouterr().out.split())
    assert loss < 0.6 and accuracy > 0.8 and names["best_accuracy"] > 0.8
    before = {name: value.clone() for name, value in names["scope"].parameters.items()}
    number = names["random"].uniform().item()
    for value in names["scope"].parameters.values():
        value.copy_from(0 * value)
    names["load"]("checkpoint")
    assert all((names["scope"].parameters[name].numpy() == value.numpy()).all() for name, value in before.items())
    assert names["random"].uniform().item() == number
    matrices = [heedml.tensor(DRAWN.normal(size=size)) for size in ((3, 3), (3, 2))]
    assert heedml.check_gradients(names["solve"], matrices).passed
    assert numpy.allclose(matrices[0].numpy() @ names["solve"](*matrices).numpy(), matrices[1].numpy())


def test_ties_get_the_gradients_that_the_page_says():
    x, ties = heedml.tensor([0.0, 1.0, 0.5]), heedml.tensor([[1.0, 3.0], [3.0, 3.0]])
    assert heedml.grad(lambda x: x.clamp(0, 1).sum())(x).tolist() == [1, 1, 1]
    assert heedml.grad(lambda x: heedml.minimum(x, 1).sum())(x).tolist() == [1, 0.5, 1]
    for largest in (lambda x: x.max(), lambda x: x.max((0, 1)), lambda x: -(-x).min()):
        assert heedml.grad(largest)(ties).tolist() == [[0, 1], [0, 0]]
    torch = pytest.importorskip("torch")
    for largest in (torch.Tensor.max, lambda x: x.amax((0, 1))):
        theirs = torch.tensor(ties.numpy().copy(), requires_grad=True)
        largest(theirs).backward()
        assert numpy.allclose(theirs.grad, [[0, 1 / 3], [1 / 3, 1 / 3]])
