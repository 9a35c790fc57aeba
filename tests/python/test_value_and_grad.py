"""value_and_grad() and grad() differentiate by argument, as torch.func and JAX do."""

import heedml
import numpy
import pytest


def wide(numbers):
    return heedml.tensor(numpy.array(numbers, "float64"))


def product(a, b):
    return (a * b * b).sum()


def test_one_tensor_in_two_places_has_a_gradient_for_each():
    v = heedml.variable(wide([1, 2]))
    assert heedml.grad(product)(v, v).tolist() == [1, 4]
    assert [g.tolist() for g in heedml.grad(product, argnums=(0, 1))(v, v)] == [[1, 4], [2, 8]]
    assert [g.tolist() for g in heedml.grad(lambda pair: product(*pair))([v, v])] == [[1, 4], [2, 8]]
    with pytest.raises(heedml.Error, match=r"^value_and_grad: argnums names an argument twice: \(0, 0\)$"):
        heedml.grad(product, argnums=(0, 0))
    assert heedml.grad(lambda a: product(a, v))(v).tolist() == [1, 4]
    assert heedml.grad(lambda tree: (tree["w"] * v).sum())({"w": v})["w"].tolist() == [1, 2]
    with heedml.Recording():
        h = v * 1
        for x in (v, h):
            assert [g.tolist() for g in heedml.grad(product, argnums=(0, 1))(x, x)] == [[1, 4], [2, 8]]
            assert heedml.grad(lambda a: product(a, x))(x).tolist() == [1, 4]
        first = heedml.grad(lambda a: product(a, v))(v)  # v^2, which depends on v
        assert heedml.backward(first.sum())[v].tolist() == [2, 4]
    assert heedml.grad(lambda x: heedml.grad(lambda y: (x * y * y).sum())(x).sum())(wide([1, 2])).tolist() == [4, 8]


def test_a_target_network_of_the_same_parameters_is_constant():
    scope = heedml.Scope(dtype="float64")
    w = scope.parameter("w", 2, init="ones")
    state, after, reward = wide([[1, 2], [0, 1]]), wide([[2, 0], [1, 1]]), wide([1, 0])

    def loss(w, target):
        return heedml.mse_loss(state @ w, reward + 0.9 * (after @ target))

    constant = wide([1, 1])
    assert heedml.grad(loss)(w, w).tolist() == pytest.approx(heedml.grad(loss)(constant, wide([1, 1])).tolist(), rel=1e-12)


def test_frozen_arguments_and_buffers_have_gradients():
    scope = heedml.Scope(dtype="float64")
    a, b, buffer = scope.parameter("a", 2, init="ones"), scope.parameter("b", 2, init="ones"), scope.buffer("c", 2, 3.0)
    scope.parameters.freeze("a")
    expected = {"a": [3, 3], "b": [3, 3], "c": [1, 1]}
    for place in ("", "Recording"):
        with heedml.Recording() if place else heedml.NoRecording():
            found = heedml.grad(lambda p: (p["a"] * p["b"] * p["c"]).sum())(dict(scope.parameters.items()))
            assert {name: gradient.tolist() for name, gradient in found.items()} == expected
            assert heedml.grad(lambda x: (x * x).sum())(a).tolist() == [2, 2]
            assert heedml.value_and_grad(lambda x, y: (x * y).sum())(buffer, b)[1].tolist() == [1, 1]
    assert a.is_frozen and buffer.is_frozen and not b.is_frozen and a.name == "a"


def test_a_layer_made_of_the_argument_has_gradients_and_one_made_outside_is_constant():
    scope = heedml.Scope(dtype="float64")
    outside = heedml.Linear(scope / "l", 2, 1)
    x, parameters = wide([[1, 2]]), dict(scope.parameters.items())
    found = heedml.grad(lambda p: heedml.Linear(heedml.Scope(p) / "l", 2, 1)(x).sum())(parameters)
    assert found["l.weight"].tolist() == [[1], [2]] and found["l.bias"].tolist() == [1]
    for place in (heedml.Recording(), heedml.NoRecording()):
        with place, pytest.raises(heedml.Error, match="does not depend on the arguments .*constant, such as the parameters of a layer from outside"):
            heedml.grad(lambda p: outside(x).sum())(parameters)


def test_a_norm_of_a_batch_in_the_function_moves_its_statistics():
    scope = heedml.Scope()
    heedml.BatchNorm(scope / "n", 2)
    x = heedml.tensor([[1.0, 2.0], [3.0, 6.0]])
    parameters = dict(scope.parameters.items())
    found = heedml.grad(lambda p: (heedml.BatchNorm(heedml.Scope(p) / "n", 2)(x, phase="train") ** 2).sum())(parameters)
    assert found["n.running_mean"].tolist() == [0, 0] and scope.parameters["n.running_mean"].tolist() == pytest.approx([0.2, 0.4])


def test_gradients_inside_a_no_recording_are_constants():
    v = heedml.variable(wide([1, 2]))
    with heedml.Recording():
        with heedml.NoRecording():
            (loss, square), slope = heedml.value_and_grad(lambda x: ((x * x * x).sum(), {"square": x * x}), has_aux=True)(v)
            assert slope.tolist() == [3, 12]
            with pytest.raises(heedml.Error, match="scalar"):
                heedml.grad(lambda x: x * x)(v)
        assert not loss.is_recorded and not slope.is_recorded and not square["square"].is_recorded
        assert heedml.backward((slope * v).sum())[v].tolist() == [3, 12]
        assert heedml.grad(lambda x: (x * x).sum())(v).is_recorded  # the NoRecording is restored, and has ended


def test_what_a_function_returns_beside_the_value_is_constant_outside_of_a_recording():
    def loss(w, state):
        moved = 0.5 * state + 0.5 * w
        return (moved * moved).sum(), (moved, {"logits": [w * 2, "text", None]})

    state, w = wide([0, 0]), heedml.variable(wide([1, 2]))
    for _ in range(2):
        (_, (state, rest)), gradient = heedml.value_and_grad(loss, has_aux=True)(w, state)
        assert not state.is_recorded
    assert state.tolist() == [0.75, 1.5] and gradient.tolist() == [0.75, 1.5]
    assert rest["logits"][0].numpy().tolist() == [2, 4] and rest["logits"][1:] == ["text", None]
    with heedml.Recording():
        (_, (moved, _)), _ = heedml.value_and_grad(loss, has_aux=True)(w, state)
        assert heedml.backward(moved.sum())[w].tolist() == [0.5, 0.5]


def test_grad_by_several_tensors_is_one_pass_and_equals_single_ones():
    w = heedml.variable(wide([1, 2]))
    with heedml.Recording():
        h = w * w
        y = (h * h * w).sum()
        both = heedml.grad(y, [h, w])
        assert [g.tolist() for g in both] == [heedml.grad(y, h).tolist(), heedml.grad(y, w).tolist()] == [[2, 16], [5, 80]]
        assert heedml.grad(both[1], (w,))[0].tolist() == [20, 160]
        assert heedml.grad(y, []) == []
