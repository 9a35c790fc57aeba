"""Convolutions, norms of channels, recurrence, and functions of order and position."""

import heedml
import numpy
import pytest


def test_layers_of_images_and_sequences():
    scope = heedml.Scope(seed=1)
    conv = heedml.Conv2d(scope / "conv", 1, 4, 3, padding=1)
    norm = heedml.BatchNorm(scope / "norm", 4)
    head = heedml.Linear(scope / "head", 4 * 4 * 4, 2)
    adam = heedml.Adam(scope.parameters, lr=0.01)
    rng = numpy.random.default_rng(0)
    x = rng.normal(size=(64, 1, 8, 8)).astype("float32")
    labels = (x[:, 0, :, :4].mean((1, 2)) > x[:, 0, :, 4:].mean((1, 2))).astype("int32")  # the brighter half

    def logits(phase):
        h = norm(conv(heedml.tensor(x)), phase)
        return head(heedml.max_pool2d(h.relu(), 2).reshape(64, -1))

    for _ in range(60):
        with heedml.Recording():
            adam.step(heedml.cross_entropy(logits("train"), labels).backward())
    assert (logits("train").numpy().argmax(1) == labels).mean() > 0.95
    assert norm.running_mean.numpy().any() and "conv.weight" in scope.parameters
    assert heedml.ConvTranspose2d(scope / "up", 4, 3, 2, stride=2)(heedml.zeros((1, 4, 5, 6))).shape == (1, 3, 10, 12)
    assert heedml.avg_pool2d(heedml.ones((1, 1, 4, 6)), (2, 3)).numpy().tolist() == [[[[1, 1], [1, 1]]]]

    lstm, gru = heedml.LSTM(scope / "lstm", 3, 5, layers=2), heedml.GRU(scope / "gru", 3, 5)
    steps = heedml.tensor(rng.normal(size=(2, 6, 3)).astype("float32"))
    whole, (h, c) = lstm(steps)
    first, state = lstm(steps[:, :4])
    rest, (last, _) = lstm(steps[:, 4:], state)
    numpy.testing.assert_allclose(heedml.concat([first, rest], 1).numpy(), whole.numpy(), rtol=1e-5, atol=1e-6)
    numpy.testing.assert_allclose(last[1].numpy(), h[1].numpy(), rtol=1e-5, atol=1e-6)
    assert len(h) == len(c) == 2 and not lstm(steps, lengths=[6, 2])[0].numpy()[1, 2:].any()
    assert gru(steps)[0].shape == (2, 6, 5)

    both = heedml.GRU(scope / "both", 3, 5, layers=2, bidirectional=True)
    output, last = both(steps, lengths=[6, 2])
    assert output.shape == (2, 6, 10) and len(last) == 4 and not output.numpy()[1, 2:].any()
    numpy.testing.assert_allclose(both(steps[1:, :2])[0].numpy()[0], output.numpy()[1, :2], rtol=1e-5, atol=1e-6)
    assert repr(both) == "heedml.GRU(3, 5, layers=2, bidirectional=True)" and repr(lstm) == "heedml.LSTM(3, 5, layers=2)"
    cell, gated = heedml.LSTMCell(scope / "cell", 3, 5), heedml.GRUCell(scope / "gated", 3, 5)
    state, h = cell(steps[:, 0]), gated(steps[:, 0])
    assert cell(steps[:, 1], state)[1].shape == gated(steps[:, 1], h).shape == (2, 5)
    assert repr(cell) == "heedml.LSTMCell(3, 5)" and "both.1_reverse.hidden.weight" in scope.parameters

    with pytest.raises(TypeError):
        heedml.Conv2d(scope / "a", 1, 1, 3, strid=2)
    with pytest.raises(heedml.Error, match="phase: expected 'train' or 'evaluate', got 'test'"):
        norm(heedml.zeros((2, 4)), "test")


@pytest.mark.parametrize("kind", [heedml.LSTM, heedml.GRU, heedml.RNN])
def test_recurrent_layers_drop_outputs_between_layers(kind):
    random, steps = heedml.Random(3), heedml.Random(1).normal((2, 6, 3))
    one, two = kind(heedml.Scope(), 3, 5), kind(heedml.Scope(), 3, 5, layers=2)
    assert numpy.array_equal(one(steps)[0].numpy(), one(steps, dropout=0.5, random=random)[0].numpy())
    first, second = (two(steps, dropout=0.5, random=random)[0].numpy() for _ in range(2))
    assert (first != second).any() and (first != two(steps)[0].numpy()).any()
    assert numpy.array_equal(first, two(steps, dropout=0.5, random=heedml.Random(3))[0].numpy())
    with pytest.raises(heedml.Error, match="p is 0.5, but no random numbers were given"):
        two(steps, dropout=0.5)


def test_plain_recurrence_equals_its_formula():
    scope, steps = heedml.Scope(seed=1), heedml.Random(1).normal((2, 6, 3))
    for nonlinearity, f in (("tanh", numpy.tanh), ("relu", lambda x: numpy.maximum(x, 0))):
        rnn = heedml.RNN(scope / nonlinearity, 3, 5, nonlinearity=nonlinearity)
        W, b, U = (scope.parameters[f"{nonlinearity}.0.{name}"].numpy() for name in ("input.weight", "input.bias", "hidden.weight"))
        h = numpy.zeros((2, 5))
        for t in range(6):
            h = f(steps.numpy()[:, t] @ W + b + h @ U)
        output, state = rnn(steps)
        assert numpy.allclose(output.numpy()[:, -1], h, atol=1e-6) and numpy.allclose(state[0].numpy(), h, atol=1e-6)
    both = heedml.RNN(scope / "both", 3, 5, layers=2, bidirectional=True)
    assert both(steps, lengths=[6, 2])[0].shape == (2, 6, 10) and repr(both) == "heedml.RNN(3, 5, layers=2, bidirectional=True)"
    for make in (heedml.RNN, heedml.RNNCell):
        with pytest.raises(heedml.Error, match=f"{make.__name__}: nonlinearity: .*'?tanh'?.*relu"):
            make(scope / "other", 3, 5, nonlinearity="gelu")


@pytest.mark.parametrize("kind", [heedml.LSTMCell, heedml.GRUCell, heedml.RNNCell])
def test_a_cell_in_a_loop_is_the_layer_and_learns(kind):
    scope, other, is_lstm = heedml.Scope(seed=2), heedml.Scope(), kind is heedml.LSTMCell
    cell, layer = kind(scope / "cell", 1, 8), getattr(heedml, kind.__name__.removesuffix("Cell"))(other, 1, 8)
    head = heedml.Linear(scope / "head", 8, 1)
    names = [name.removeprefix("cell.") for name in scope.parameters if name.startswith("cell.")]
    bits = numpy.random.default_rng(1).integers(0, 2, (64, 6, 1)).astype("float32")
    odd = heedml.tensor(bits.sum((1, 2))[:, None] % 2)

    def last(x):
        state = None
        for t in range(x.shape[1]):
            state = cell(x[:, t]) if state is None else cell(x[:, t], state)
        return state[0] if is_lstm else state

    x = heedml.tensor(bits)
    for name in names:
        other.parameters[f"0.{name}"].copy_from(scope.parameters[f"cell.{name}"])
    numpy.testing.assert_allclose(last(x).numpy(), layer(x)[0][:, -1].numpy(), rtol=1e-5, atol=1e-6)
    adam = heedml.Adam(scope.parameters, lr=0.02)
    for _ in range(400):
        with heedml.Recording():
            loss = heedml.mse_loss(head(last(x)), odd)
            gradients = loss.backward()
        adam.step(gradients)
    assert loss.item() < 0.05  # 0.25 without the bits before the last


def test_functions_of_order_and_position():
    x = heedml.tensor([[1.5, -2.5, 3.0], [4.0, 5.0, -6.0]])
    assert x.flip(1).numpy().tolist() == [[3, -2.5, 1.5], [-6, 5, 4]]
    assert x.roll(1, 1).numpy().tolist() == [[3, 1.5, -2.5], [-6, 4, 5]]
    assert x.round().numpy().tolist() == [[2, -2, 3], [4, 5, -6]]
    assert x.floor().numpy()[0].tolist() == [1, -3, 3] and x.ceil().numpy()[0].tolist() == [2, -2, 3]
    assert x.sign().numpy()[0].tolist() == [1, -1, 1]
    assert heedml.prod(x, 1).numpy().tolist() == [-11.25, -120]
    numpy.testing.assert_allclose(heedml.std(x, 1).numpy(), x.numpy().std(1), rtol=1e-6)
    assert heedml.index_add(heedml.zeros((2, 3)), [1, 1], x).numpy()[1].tolist() == [5.5, 2.5, -3]
    assert heedml.scatter_max(heedml.zeros((1, 2)), [[1, 1]], heedml.tensor([[3.0, 2.0]]), 1).numpy().tolist() == [[0, 3]]
    assert heedml.scatter(heedml.zeros((2, 3)), [[2], [0]], heedml.ones((2, 1)), 1).numpy().tolist() == [[0, 0, 1], [1, 0, 0]]


def test_functions_of_channels_are_the_layers():
    x = heedml.Random(1).normal((2, 6, 8), mean=3.0)
    one, zero = heedml.ones(6), heedml.zeros(6)
    output, mean, variance = heedml.batch_norm(x, one, zero)
    numpy.testing.assert_allclose(mean.numpy(), x.numpy().mean((0, 2)), rtol=1e-5)
    numpy.testing.assert_allclose(variance.numpy(), x.numpy().var((0, 2)), rtol=1e-5)
    scope = heedml.Scope()
    norm, groups = heedml.BatchNorm(scope / "norm", 6), heedml.GroupNorm(scope / "groups", 3, 6)
    assert numpy.array_equal(norm(x, "train").numpy(), output.numpy()) and norm.gain.tolist() == [1] * 6
    assert numpy.array_equal(groups(x).numpy(), heedml.group_norm(x, 3, one, zero).numpy()) and groups.bias.tolist() == [0] * 6
    pairs = x.numpy().reshape(2, 6, 4, 2)
    assert numpy.array_equal(heedml.max_pool1d(x, 2).numpy(), pairs.max(-1))
    numpy.testing.assert_allclose(heedml.avg_pool1d(x, 2).numpy(), pairs.mean(-1), rtol=1e-5)
    weight = heedml.Random(2).normal((6, 4, 2))
    flat = heedml.conv_transpose1d(x, weight, stride=2, output_padding=1)
    deep = heedml.conv_transpose2d(x.unsqueeze(2), weight.unsqueeze(2), stride=(1, 2), output_padding=(0, 1))
    assert flat.shape == (2, 4, 17) and numpy.array_equal(flat.numpy(), deep.squeeze(2).numpy())
    with pytest.raises(heedml.Error, match="use phase='evaluate'"):
        norm(heedml.zeros((1, 6)), "train")


def test_padding_same_keeps_the_size():
    scope = heedml.Scope(seed=1)
    x, image = heedml.Random(1).normal((2, 4, 9)), heedml.Random(2).normal((2, 3, 6, 7))
    weight = heedml.Random(3).normal((5, 4, 3))
    assert (heedml.conv1d(x, weight, padding="same", dilation=2).numpy() == heedml.conv1d(x, weight, padding=2, dilation=2).numpy()).all()
    assert (heedml.conv1d(x, weight, padding="valid", stride=2).numpy() == heedml.conv1d(x, weight, stride=2).numpy()).all()
    assert heedml.Conv2d(scope / "a", 3, 4, (5, 3), padding="same", dilation=(1, 2))(image).shape == (2, 4, 6, 7)
    assert heedml.Conv1d(scope / "b", 4, 4, 7, padding="same")(x).shape == (2, 4, 9)
    with pytest.raises(TypeError, match=r"^max_pool1d: no argument is called ceil_mode; for windows beyond the end of x, pad it first: x.pad"):
        heedml.max_pool1d(x, 2, ceil_mode=True)
    assert heedml.max_pool1d(x.pad(-1, 0, 1, float("-inf")), 2).shape == (2, 4, 5)
