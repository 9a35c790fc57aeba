"""Tensors beside NumPy: the same numbers, shapes and memory."""

import copy
import gc
import math
import operator
import pickle
import threading
import weakref

import heedml
import numpy
import pytest


def numbers(*shape):
    return numpy.random.default_rng(1).normal(size=shape).astype(numpy.float32)


@pytest.mark.parametrize("op", [operator.add, operator.sub, operator.mul, operator.truediv, operator.lt, operator.le,
                                operator.gt, operator.ge, operator.eq, operator.ne])
def test_operators_broadcast_as_in_numpy(op):
    a, b = numbers(2, 3, 4), numbers(3, 1)
    for left, right in ((a, b), (a, 2), (2.5, a), (b, a)):
        expected = op(left, right)
        x, y = (heedml.tensor(v) if isinstance(v, numpy.ndarray) else v for v in (left, right))
        assert numpy.array_equal(numpy.asarray(op(x, y)), expected)
        assert numpy.array_equal(numpy.asarray(op(x, right)), expected)  # an array on the right
        if isinstance(left, numpy.ndarray):
            assert numpy.array_equal(numpy.asarray(op(left, y)), expected)  # and on the left


def test_operators_refuse_other_types():
    for other in ("a", None, object(), {}):
        with pytest.raises((TypeError, heedml.Error)):
            heedml.ones(2) + other
    with pytest.raises(heedml.Error, match="do not broadcast"):
        heedml.ones(2) + heedml.ones(3)


def test_memory_is_shared_with_numpy_and_lives_as_long_as_its_users():
    x = heedml.tensor(numbers(2, 3))
    view = x.numpy()
    view[0, 0] = 7
    assert x[0, 0].item() == 7
    del x
    gc.collect()
    assert view[0, 0] == 7
    array = numbers(4, 5)
    y = heedml.from_numpy(array)
    array[1, 1] = 9
    assert y[1, 1].item() == 9
    alive = weakref.ref(array)
    del array, view
    gc.collect()
    assert y[1, 1].item() == 9
    del y
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("cut", [lambda a: a[::-1], lambda a: a[:, ::-2], lambda a: a.T, lambda a: a[1:3, 1:2],
                                 lambda a: a[:0], lambda a: a[0], lambda a: a[2, 2], lambda a: numpy.broadcast_to(a[0], (3, 5)).copy()[::-1]])
def test_strides_of_every_kind_are_shared(cut):
    array = cut(numbers(4, 5))
    assert numpy.array_equal(heedml.tensor(array).numpy(), array)
    if isinstance(array, numpy.ndarray) and array.flags.writeable and array.ndim:
        x = heedml.from_numpy(array)
        assert numpy.array_equal((x * 2).numpy(), array * 2)
        if array.size:
            array[...] = 3
            assert (x == 3).all()


def test_from_numpy_refuses_what_it_cannot_share():
    readonly = numbers(3)
    readonly.flags.writeable = False
    for given in (readonly, numpy.arange(3), numpy.array(["a"]), [1, 2], None, numbers(3).astype(">f4"), numbers(3).astype(complex)):
        with pytest.raises((heedml.Error, TypeError)):
            heedml.from_numpy(given)
    masked = numpy.ma.masked_array(numbers(3), [0, 1, 0])
    for share in (heedml.from_numpy, heedml.from_dlpack):
        with pytest.raises(heedml.Error, match=f"^{share.__name__}: expected numbers, got a MaskedArray, whose mask would be lost"):
            share(masked)
        with pytest.raises(heedml.Error, match=f"^{share.__name__}: the numbers have the byte order of other processors \\(>f4\\)"):
            share(numbers(3).astype(">f4"))


def test_tensor_copies_numbers_of_every_type():
    for dtype in ("int8", "uint16", "int64", "float16", "float32", "bool", ">f4"):
        array = numpy.array([[0, 1], [1, 0]], dtype)
        x = heedml.tensor(array)
        assert x.dtype == "float32" and numpy.array_equal(x.numpy(), array.astype("float32"))
    assert heedml.tensor(numpy.ones(2)).dtype == "float64" and heedml.tensor([1.0]).dtype == "float32"
    assert heedml.tensor([1], dtype=numpy.float64).dtype == "float64" and heedml.tensor(3).shape == ()
    assert heedml.tensor([]).shape == (0,) and heedml.zeros((2, 0)).numpy().shape == (2, 0)
    for given in ("a", [[1], [1, 2]], object(), {"a": 1}, numpy.array([1j])):
        with pytest.raises(heedml.Error):
            heedml.tensor(given)
    with pytest.raises(heedml.Error, match="float32"):
        heedml.tensor([1], dtype="int32")


def test_elements_that_share_memory_are_read_only():
    x = heedml.ones((2, 1)).broadcast_to((2, 3))
    assert x.numpy().tolist() == [[1, 1, 1], [1, 1, 1]]
    assert not x.numpy().flags.writeable and not numpy.from_dlpack(x).flags.writeable
    with pytest.raises(heedml.Error, match="share memory, as in broadcast_to"):
        x[0, 0] = 3
    assert x.clone().numpy().flags.writeable


def test_a_recorded_tensor_is_read_only():
    w = heedml.variable([1.0, 2.0])
    with heedml.Recording():
        y = w * 2
        for x in (w, y):
            for convert in (lambda x: x.numpy(), numpy.asarray, numpy.linalg.norm, lambda x: numpy.where(x > 0, x, 0)):
                with pytest.raises(heedml.Error, match=r"would lose its gradient; write x.detach\(\).numpy\(\)"):
                    convert(x)
            assert not x.detach().numpy().flags.writeable
        with pytest.raises(heedml.Error, match=r"recorded and cannot be written. For a new tensor that keeps the gradient, .*x.scatter"):
            y[0] = 1
        with pytest.raises(heedml.Error, match=r"write it before or after the Recording. Within it, x.masked_fill"):
            w[0] = 1
        with pytest.raises(heedml.Error, match=r"masked_fill\(\), where\(\), scatter\(\) and index_add\(\) return a new tensor"):
            y.copy_from([1.0, 2.0])
        new = heedml.where([True, False], 5.0, y.scatter([0], y[1:], 0)).masked_fill([True, False], -1e6).index_add([1], w[:1])
        assert new.sum().backward()[w].tolist() == [1, 2]
    assert w.numpy().flags.writeable and not y.numpy().flags.writeable


def test_checkpoint_draws_the_same_numbers_again():
    x, random = heedml.variable(numpy.ones((8, 8))), heedml.Random(3)
    with heedml.Recording():
        y = heedml.checkpoint(lambda x, random: heedml.dropout(x, 0.5, random), x, random)
        assert y.sum().backward()[x].tolist() == y.tolist() == heedml.dropout(x, 0.5, heedml.Random(3)).tolist()
    assert random.uniform().item() != heedml.Random(3).uniform().item()  # the generator has moved on


def test_checkpoint_loses_no_gradient_to_numpy():
    x = heedml.variable(numpy.ones(3))
    for function in (lambda x: heedml.tensor(numpy.exp(x)), lambda x: heedml.tensor(x.numpy()) * 2, lambda x: x * float(x[0])):
        with pytest.raises(heedml.Error), heedml.Recording():
            heedml.checkpoint(function, x).sum().backward()


def test_whole_numbers_are_never_rounded():
    for value, dtype in ((2**24 + 1, None), (2**53 + 1, None), (2**53 + 1, "float64"), (2**64 - 1, "float64")):
        with pytest.raises(heedml.Error, match="does not hold whole numbers above"):
            heedml.tensor(numpy.array([value]), dtype)
    assert heedml.tensor(numpy.array([2**53, -2**53, 2**60]), "float64").tolist() == [2**53, -2**53, 2**60]


def test_a_recorded_tensor_is_not_shared_for_writing():
    w = heedml.variable([1.0, 2.0])
    with heedml.Recording():
        for x in (w, w * w):
            with pytest.raises(heedml.Error, match="another library could write its memory"):
                x.__dlpack__()
        assert numpy.from_dlpack((w * 2).detach().clone()).tolist() == [2, 4]
    assert numpy.from_dlpack(w).tolist() == [1, 2]


def test_recorded_tensors_are_not_taken_for_numbers():
    w = heedml.variable([1.0, 2.0])
    with heedml.Recording():
        x = heedml.zeros(2)
        for value in (w[0], w[0] * 2):
            with pytest.raises(heedml.Error, match=r"stack\(\)"):
                x[0] = value
        for use in (lambda: w * [w[0], w[1]], lambda: heedml.tensor([[w[0] * 1]]), lambda: heedml.tensor(w * 2),
                    lambda: heedml.maximum(w, (w[1], w[0]))):
            with pytest.raises(heedml.Error, match="recorded tensor among numbers"):
                use()
        x[0] = w.detach()[1]
        for use in (lambda: float(w[0]), lambda: math.exp(w[0] * 2), lambda: heedml.tensor([float(w[0]), 3])):
            with pytest.raises(heedml.Error, match=r"write x.item\(\)"):
                use()
        for use in (lambda: heedml.clamp(x, 0, w[1]), lambda: heedml.masked_fill(x, [True, False], w[0]),
                    lambda: heedml.pad(x, 0, 1, 1, w[0]), lambda: heedml.full(2, w[0])):
            with pytest.raises((heedml.Error, TypeError)):
                use()
        assert x.tolist() == [2, 0] and heedml.tensor([w[0].item(), 3]).tolist() == [1, 3]
        both = heedml.stack([w[0], w[1]]) * w
        assert both.sum().backward()[w].tolist() == [2, 4]


def test_gradients_by_name_lose_none():
    scope = heedml.Scope()
    a, b, w = heedml.variable([1.0]), heedml.variable([2.0]), scope.parameter("w", 1, init="ones")
    with heedml.Recording():
        assert {name: g.tolist() for name, g in (a * w).sum().backward().by_name().items()} == {"": [1], "w": [1]}
        gradients = (a * b).sum().backward()
        assert sorted(g.tolist() for _, g in gradients.items()) == [[1], [2]]
        with pytest.raises(heedml.Error, match="two variables have one name"):
            gradients.by_name()


def test_reading_numbers_is_no_write():
    w, x = heedml.variable(heedml.ones(3)), heedml.tensor([1.0, 2.0, 3.0])
    with heedml.Recording():
        loss = (w * x).exp().sum()
        for read in (lambda: x.tolist(), lambda: x.numpy().std(), lambda: numpy.asarray(x), lambda: w.detach().numpy()):
            read()
        with heedml.NoRecording():
            assert not x.numpy().flags.writeable
        assert numpy.allclose(loss.backward()[w].numpy(), x.numpy() * numpy.exp(x.numpy()))
    assert x.numpy().flags.writeable


def test_writes_are_seen_by_backward():
    w = heedml.variable([1.0, 2.0])
    with heedml.Recording():
        c = heedml.ones(2)
        loss = (w * c).sum()
        c[0] = 5
        with pytest.raises(heedml.Error, match="written|changed"):
            loss.backward()


def test_pickle_and_copies():
    w = heedml.variable(numbers(2, 3))
    for other in (pickle.loads(pickle.dumps(w)), copy.deepcopy(w)):
        assert other.is_variable and numpy.array_equal(other.numpy(), w.numpy())
        other[0, 0] = 99
        assert w[0, 0].item() != 99
    shared = copy.copy(w)
    shared[0, 0] = 98
    assert w[0, 0].item() == 98
    for other in (heedml.Parameters(), heedml.Recording(), heedml.Mask()):
        with pytest.raises(TypeError):
            pickle.dumps(other)


def test_values_and_texts():
    assert float(heedml.tensor(2.5)) == 2.5 and int(heedml.tensor(3)) == 3 and bool(heedml.tensor(0)) is False
    for convert in (float, int, bool):
        with pytest.raises(heedml.Error):
            convert(heedml.ones(2))
    assert repr(heedml.tensor([1, 2])) == "heedml.Tensor([1. 2.], shape=(2))"
    assert "undefined" not in repr(heedml.zeros(0))


def test_threads_compute_at_the_same_time():
    x, results, errors = heedml.Random(1).normal((200, 200)), [None] * 4, []
    expected = (x @ x).numpy()

    def work(i):
        try:
            for _ in range(20):
                with heedml.Recording():
                    w = heedml.variable(x.clone())
                    y = w @ x
                    y.sum().backward()
                results[i] = y.numpy()
        except Exception as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not errors and all(numpy.array_equal(result, expected) for result in results)


def test_dlpack_with_torch():
    torch = pytest.importorskip("torch")
    x = heedml.tensor(numbers(2, 3))
    shared = torch.from_dlpack(x)
    shared[0, 0] = 5
    assert x[0, 0].item() == 5
    back = heedml.from_dlpack(shared.T)
    assert back.shape == (3, 2) and back[0, 0].item() == 5
    shared[1, 2] = 6
    assert back[2, 1].item() == 6
    del x, shared
    gc.collect()
    assert back[2, 1].item() == 6
    assert numpy.allclose((torch.ones(300, 300) @ torch.ones(300, 300)).numpy(), (heedml.ones((300, 300)) @ heedml.ones((300, 300))).numpy())
    with pytest.raises(heedml.Error):
        heedml.from_dlpack(torch.ones(2, dtype=torch.int64))


def test_operators_take_arrays_and_numbers_on_both_sides():
    x, a = heedml.tensor([[1.0, 2.0], [3.0, 4.0]]), numpy.array([[0.0, 1.0], [1.0, 0.0]], "float32")
    assert (x @ a).tolist() == [[2, 1], [4, 3]] and (a @ x).tolist() == [[3, 4], [1, 2]] and isinstance(a @ x, heedml.Tensor)
    assert (2 ** x).tolist() == [[2, 4], [8, 16]] and (x ** x).tolist() == [[1, 4], [27, 256]]
    assert heedml.grad(lambda v: 2 ** v)(heedml.tensor(3.0)).item() == pytest.approx(8 * numpy.log(2))
    for product in (lambda: x @ 2, lambda: 2 @ x):
        with pytest.raises(heedml.Error, match="matmul: expected two tensors"):
            product()
    wide = x.to("float64")
    assert heedml.where(a > 0, wide, 0.5).dtype == heedml.maximum(0, wide).dtype == "float64"
    assert heedml.where(a > 0, x, -1).tolist() == [[-1, 2], [3, -1]] and heedml.minimum(x, a).tolist() == a.tolist()
    assert x.permute(1, 0).tolist() == x.permute((1, 0)).tolist() == x.T.tolist() and x.permute(-1, 0).shape == (2, 2)
    assert f"{heedml.tensor(0.125):.2f} {x.sum():5.1f}" == "0.12  10.0" and f"{x}" == str(x)
    with pytest.raises(heedml.Error, match="sizes stand in a tuple"):
        heedml.zeros(2, 3)
    with pytest.raises(IndexError, match="3 indices for a tensor of shape"):
        x[0, 0, 0]


def test_tensors_of_whole_numbers_are_ids():
    table, ids = heedml.tensor([[1.0], [2.0], [3.0]]), heedml.tensor([2, 0])
    assert heedml.embedding(table, ids).tolist() == table[ids].tolist() == [[3], [1]]
    assert heedml.cross_entropy(heedml.zeros((2, 4)), ids).item() == pytest.approx(numpy.log(4))
    with pytest.raises(heedml.Error, match="expected integers of 32 bits, got 0.5"):
        heedml.embedding(table, heedml.tensor([0.5]))


def test_draws_by_weight():
    random = heedml.Random(1)
    drawn = random.choice([1, 0, 3], (4000,))
    assert drawn.dtype == numpy.int32 and set(drawn.tolist()) == {0, 2} and 0.72 < (drawn == 2).mean() < 0.78
    assert random.choice(heedml.tensor([0.0, 1.0])).item() == 1
    with pytest.raises(heedml.Error, match="weights"):
        random.choice([-1, 2])
    logits = heedml.tensor([0.0, 3.0, 2.0])
    assert {heedml.sample(logits, random, top_k=2) for _ in range(100)} == {1, 2} and heedml.sample(logits, random, temperature=0) == 1


def test_losses_take_what_their_targets_are():
    x, one_hot = numbers(4, 3), numpy.eye(3, dtype=numpy.float32)[[0, 2, 1, 1]]
    labels = heedml.cross_entropy(heedml.tensor(x), [0, 2, 1, 1])
    assert heedml.cross_entropy(heedml.tensor(x), one_hot).item() == pytest.approx(labels.item(), rel=1e-6)
    assert heedml.cross_entropy(heedml.tensor(x), one_hot.astype(float)).dtype == "float32"
    assert heedml.mse_loss(heedml.tensor(x), x).item() == heedml.mse_loss(heedml.tensor([1.0]), [1]).item() == 0
    s = 1 / (1 + numpy.exp(-x))
    weighted = -(5 * one_hot * numpy.log(s) + (1 - one_hot) * numpy.log(1 - s)).mean()
    loss = heedml.bce_with_logits(heedml.tensor(x), one_hot, positive_weight=heedml.tensor(5.0))
    assert loss.item() == pytest.approx(weighted, rel=1e-5)
    assert heedml.bce_with_logits(heedml.tensor(x), one_hot, positive_weight=numpy.array(5.0)).item() == loss.item()
    assert heedml.cross_entropy(heedml.tensor(x), [0, 2, 1, 1], class_weights=[1, 1, 1]).item() == labels.item()
    with pytest.raises(heedml.Error, match=r"index by arrays: shapes \(2\) and \(3\) do not broadcast"):
        heedml.tensor(x)[[0, 1], [0, 1, 2]]
    with pytest.raises(heedml.Error, match=r"tensor: float32 does not hold whole numbers above 2\^24 exactly"):
        heedml.tensor(numpy.array([2**24 + 1]))
    assert heedml.tensor(numpy.array([2**24 + 1]), dtype="float64").item() == 2**24 + 1 and heedml.tensor([2**24]).item() == 2**24
    assert numpy.array_equal(heedml.clamp(heedml.tensor(x), high=0).numpy(), numpy.minimum(x, 0))
    assert numpy.array_equal(heedml.tensor(x).clamp(0).numpy(), numpy.maximum(x, 0))


def test_numbers_keep_their_precision_and_masks_are_not_lost():
    third = 1 / 3
    for data in [numpy.array([third], ">f8"), numpy.array([third], numpy.longdouble), memoryview(numpy.array([third]))]:
        assert heedml.tensor(data).dtype == "float64" and heedml.tensor(data).item() == third
    assert heedml.tensor(numpy.array([third], ">f4")).dtype == "float32" and heedml.tensor([third]).dtype == "float32"
    masked = numpy.ma.masked_array([1.0, 99.0], [0, 1])
    for use in (heedml.tensor, heedml.variable, lambda m: heedml.zeros(2) + m):
        with pytest.raises(heedml.Error, match="mask would be lost"):
            use(masked)
    with pytest.raises(heedml.Error, match=r"^\[\]=: expected numbers, got a MaskedArray, whose mask would be lost"):
        heedml.zeros(2)[:] = masked


def test_what_a_recording_follows_is_not_copied_to_a_constant():
    v = heedml.variable([3.0])
    assert copy.deepcopy(v).numpy().tolist() == [3]
    with heedml.Recording():
        y = v * v
        for use in (copy.deepcopy, pickle.dumps, lambda t: int(t[0])):
            with pytest.raises(heedml.Error, match="Recording follows this tensor"):
                use(y)
    assert pickle.loads(pickle.dumps(y.detach())).item() == 9


def test_formats_and_states():
    assert f"{heedml.tensor([1.25]):.1f}" == "1.2" and f"{heedml.tensor(2.0):>6.2f}" == "  2.00"
    with pytest.raises(heedml.Error, match="expected one element"):
        f"{heedml.tensor([1.0, 2.0]):.2f}"
    random = heedml.Random(7)
    random.normal((3,))
    again = heedml.Random.restored(random.state())
    assert repr(again) == repr(random) and again.normal((2,)).numpy().tolist() == random.normal((2,)).numpy().tolist()
