"""One variable in several places, and parameters that are left out for some steps."""

import heedml
import numpy
import pytest


def test_a_variable_has_one_name_in_a_store():
    scope = heedml.Scope(seed=1)
    words = heedml.Embedding(scope / "tok", 6, 4)
    with pytest.raises(heedml.Error, match=r"'head.weight' is the variable 'tok.weight'.*x @ embedding.weight.T"):
        scope.parameters.add("head.weight", words.weight)
    other = heedml.Parameters()
    other.add("shared", words.weight)
    with heedml.Recording():
        gradients = heedml.cross_entropy(words([1, 2]) @ words.weight.T, [2, 3]).backward()
    assert "tok.weight" in gradients and words.weight.name == "tok.weight"
    before = words.weight.numpy().copy()
    heedml.SGD(other, lr=0.1).step(gradients)
    numpy.testing.assert_allclose(words.weight.numpy(), before - 0.1 * gradients["tok.weight"].numpy(), rtol=1e-6)


def test_a_layer_refuses_a_transposed_weight_that_would_lose_its_gradient():
    scope = heedml.Scope(seed=1)
    words = heedml.Embedding(scope / "tok", 6, 4)
    with pytest.raises(heedml.Error, match=r"got a view of 'tok.weight'.*as in x @ embedding.weight.T"):
        heedml.Linear(heedml.Scope({"weight": words.weight.T}), 4, 6, bias=False)
    with heedml.Recording():
        head = heedml.Linear(heedml.Scope({"weight": words.weight.T}), 4, 6, bias=False)
        tied = heedml.cross_entropy(head(words([1, 2])), [2, 3]).backward()
        called = heedml.cross_entropy(words([1, 2]) @ words.weight.T, [2, 3]).backward()
    numpy.testing.assert_allclose(tied["tok.weight"].numpy(), called["tok.weight"].numpy(), rtol=1e-6)


@pytest.mark.parametrize("missing", ["error", "leave_unchanged"])
def test_a_layer_that_was_frozen_is_updated_as_in_pytorch(missing):
    torch = pytest.importorskip("torch")
    x, labels, scope = numpy.random.default_rng(0).normal(size=(8, 3)).astype("float32"), [0, 1] * 4, heedml.Scope(seed=1)
    a, b = heedml.Linear(scope / "a", 3, 4), heedml.Linear(scope / "b", 4, 2)
    ours = heedml.AdamW(scope.parameters, weight_decay=0, missing_gradient=missing)
    theirs = [torch.tensor(value.numpy().copy(), requires_grad=True) for value in scope.parameters.values()]
    adamw = torch.optim.AdamW(theirs, weight_decay=0)

    def step():
        with heedml.Recording():
            gradients = heedml.cross_entropy(b(a(heedml.tensor(x))), labels).backward()
        ours.step(gradients)
        adamw.zero_grad()
        y = (torch.tensor(x) @ theirs[0] + theirs[1]) @ theirs[2] + theirs[3]
        torch.nn.functional.cross_entropy(y, torch.tensor(labels)).backward()
        adamw.step()

    step()
    scope.parameters.freeze("a")
    for value in theirs[:2]:
        value.requires_grad_(False)
    for _ in range(200):
        step()
    scope.parameters.unfreeze("a")
    for value in theirs[:2]:
        value.requires_grad_(True)
    for _ in range(3):
        step()
    for name, theirs_value in zip(scope.parameters, theirs):
        numpy.testing.assert_allclose(scope.parameters[name].numpy(), theirs_value.detach().numpy(), atol=2e-5, err_msg=name)
    assert ours.state()["a.weight.steps"].item() == 4


def test_parameters_are_not_loaded_while_an_average_is_shown():
    scope = heedml.Scope(seed=1)
    heedml.Linear(scope / "a", 2, 2)
    average = heedml.WeightAverage(scope.parameters)
    average.add()
    values = {name: value.numpy() * 2 for name, value in scope.parameters.items()}
    with average.shown(), pytest.raises(heedml.Error, match="the parameters hold a WeightAverage"):
        scope.parameters.load(values)
    scope.parameters.load(values)
