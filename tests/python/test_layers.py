"""Dropout, buffers, initial values, copies and adapters of layers in plain Python."""

import copy

import heedml
import numpy
import pytest


def block(scope, d=8):
    return heedml.TransformerBlock(scope, attention={"d_model": d, "heads": 2}, mlp={"width": 16})


class ChannelNorm:
    """A batch norm of one's own, with running statistics."""

    def __init__(self, scope, channels):
        self.gain = scope.parameter("gain", channels, init="ones")
        self.mean, self.variance = scope.buffer("mean", channels), scope.buffer("variance", channels, 1.0)

    def __call__(self, x, phase):
        mean, variance = (x.mean(0), x.var(0)) if phase == "train" else (self.mean, self.variance)
        if phase == "train":
            self.mean.copy_from(0.9 * self.mean + 0.1 * mean.detach())
            self.variance.copy_from(0.9 * self.variance + 0.1 * x.detach().var(0, correction=1))
        return (x - mean) / (variance + 1e-5).sqrt() * self.gain


def test_dropout_of_blocks_is_that_of_the_composition():
    layer, x = block(heedml.Scope(seed=1) / "block"), heedml.Random(2).normal((3, 5, 8))
    values = {}
    with heedml.Hook(lambda name, value: values.__setitem__(name, value)):
        layer(x)
    random, again = heedml.Random(3), heedml.Random(3)
    y = layer(x, dropout=0.5, random=random).output
    attended = x + heedml.dropout(values["block.attention.output"], 0.5, again)
    norm = heedml.Norm(heedml.Scope(seed=1), 8)
    mlp = heedml.Mlp(heedml.Scope(seed=1) / "block" / "mlp", 8, width=16)
    assert numpy.allclose(y.numpy(), (attended + heedml.dropout(mlp(norm(attended)), 0.5, again)).numpy(), atol=1e-6)
    assert random.state() == again.state() != heedml.Random(3).state()
    assert (layer(x, dropout=0.5, random=random).output.numpy() != y.numpy()).any()
    assert (layer(x, dropout=0.0).output.numpy() == layer(x).output.numpy()).all()
    with pytest.raises(heedml.Error, match="p is 0.5, but no random numbers were given"):
        layer(x, dropout=0.5)


def test_dropout_of_attention_weights():
    layer = heedml.MultiHeadAttention(heedml.Scope(seed=1), d_model=8, heads=2)
    x = heedml.Random(2).normal((1, 64, 8))
    dropped = layer(x, weights=True, attention_dropout=0.25, random=heedml.Random(3)).weights
    kept = layer(x, weights=True).weights
    share = (dropped.numpy() == 0).mean()
    assert 0.2 < share < 0.3
    assert numpy.allclose(numpy.where(dropped.numpy() == 0, 0, kept.numpy() / 0.75), dropped.numpy(), atol=1e-6)
    both = block(heedml.Scope(seed=1))
    assert (both(x, attention_dropout=0.25, random=heedml.Random(3)).output.numpy() != both(x).output.numpy()).any()


def test_a_model_trains_with_dropout_of_every_kind():
    model = heedml.Model(heedml.language_model(heedml.gpt2(1, 2, 8, max_length=8)), 10)
    batch = heedml.Batch([[1, 2, 3, 4]], targets=[[2, 3, 4, 5]])
    plain = model.loss(batch).item()
    assert model.loss(batch, 0.5, seed=2).item() == model.loss(batch, 0.5, random=heedml.Random(2)).item() != plain
    assert model.loss(batch, seed=1, embedding_dropout=0.5).item() != plain != model.loss(batch, seed=1, attention_dropout=0.5).item()
    logits = model.logits(batch, dropout=0.5, random=heedml.Random(2))
    assert heedml.cross_entropy(logits, [[2, 3, 4, 5]]).item() == pytest.approx(model.loss(batch, 0.5, seed=2).item(), rel=1e-6)


def test_dropout_in_a_checkpoint_draws_the_same_numbers_again():
    def gradients(run):
        scope = heedml.Scope(seed=1)
        layer, x, random = block(scope), heedml.Random(2).normal((2, 4, 8)), heedml.Random(3)
        with heedml.Recording():
            loss = run(lambda h, r: layer(h, dropout=0.3, random=r), x, random).square().sum()
            return [gradient.numpy() for gradient in loss.backward().by_name().values()]

    whole, again = gradients(lambda f, *given: f(*given).output), gradients(heedml.checkpoint)
    assert len(whole) > 8 and all((a == b).all() for a, b in zip(whole, again))


def test_buffers_are_saved_and_loaded_and_not_trained(tmp_path):
    torch = pytest.importorskip("torch")
    scope = heedml.Scope(seed=1)
    norm, theirs = ChannelNorm(scope / "norm", 3), torch.nn.BatchNorm1d(3)
    adam = heedml.Adam(scope.parameters, lr=0.1)
    for step in range(3):
        x = heedml.Random(step).normal((6, 3)) + 2
        with heedml.Recording():
            adam.step((norm(x, "train") ** 3).sum().backward())
        theirs(torch.tensor(x.numpy()))
    assert numpy.allclose(norm.mean.numpy(), theirs.running_mean.numpy(), rtol=1e-5)
    assert numpy.allclose(norm.variance.numpy(), theirs.running_var.numpy(), rtol=1e-5)
    assert scope.parameters.size == 3 and list(scope.parameters.buffers()) == ["norm.mean", "norm.variance"]
    assert list(adam.state()) == ["steps", "norm.gain.m", "norm.gain.v"] or "norm.mean.m" not in adam.state()
    scope.parameters.unfreeze()
    assert norm.mean.is_frozen and not norm.gain.is_frozen
    heedml.save_tensors(tmp_path / "norm.safetensors", scope.parameters)
    other = heedml.Scope(seed=2)
    loaded = ChannelNorm(other / "norm", 3)
    other.parameters.load(heedml.load_tensors(tmp_path / "norm.safetensors"))
    assert (loaded(x, "evaluate").numpy() == norm(x, "evaluate").numpy()).all()


def test_initial_values():
    scope, inits = heedml.Scope(seed=1), heedml.Init
    n, m = 400, 300
    for init, deviation in ((None, (2 / (n + m)) ** 0.5), ("kaiming", (2 / n) ** 0.5), (inits.kaiming_normal(1.0), n ** -0.5),
                            (inits.xavier_normal(2.0), 2 * (2 / (n + m)) ** 0.5), (inits.xavier_uniform(), (2 / (n + m)) ** 0.5),
                            (0.02, 0.02), (inits.constant(3.0), 0)):
        layer = heedml.Linear(scope / f"a{len(scope.parameters)}", n, m, init=init, bias_init="ones")
        assert layer.weight.std().item() == pytest.approx(deviation, rel=0.02, abs=1e-6) and (layer.bias.numpy() == 1).all()
    conv = heedml.Conv2d(scope / "conv", 8, 4, 3, init=inits.orthogonal(2.0), bias_init=0.5)
    rows = conv.weight.reshape((4, -1)).numpy()
    assert numpy.allclose(rows @ rows.T, 4 * numpy.eye(4), atol=1e-5) and conv.bias.numpy().any()
    up = heedml.ConvTranspose2d(scope / "up", 4, 8, 2, init="zeros")
    assert not up.weight.numpy().any()
    assert abs(scope.parameter("W", (50, 70), "kaiming").numpy()).max() <= (6 / 50) ** 0.5
    for make in (lambda: heedml.Linear(scope / "x", 2, 2, init="glorot"), lambda: scope.parameter("y", (2, 2), "glorot")):
        with pytest.raises(heedml.Error, match="expected the init 'zeros', 'ones', 'xavier', 'kaiming', 'orthogonal', .* got glorot"):
            make()


def test_assign_writes_new_values():
    scope = heedml.Scope(seed=1)
    layer = heedml.Linear(scope / "fc", 3, 3)
    heedml.assign(layer.weight, numpy.eye(3, dtype="float32"))
    heedml.assign(layer.bias, [1.0, 2.0, 3.0])
    assert layer(heedml.ones((1, 3))).tolist() == [[2, 3, 4]]
    random = heedml.Random(1)
    heedml.assign(layer.weight, heedml.Init.orthogonal(), random)
    assert numpy.allclose((layer.weight @ layer.weight.T).numpy(), numpy.eye(3), atol=1e-6)
    assert scope.parameters["fc.weight"].numpy().tolist() == layer.weight.tolist()
    for init in ("xavier", heedml.Init.normal(1.0)):
        with pytest.raises(heedml.Error, match="an init that draws numbers needs random="):
            heedml.assign(layer.weight, init)
    with pytest.raises(heedml.Error, match=r"a number is a standard deviation and needs random=, .*; Init.constant"):
        heedml.assign(layer.weight, 0.01)
    for init, expected in ((heedml.Init.zeros(), 0), (heedml.Init.constant(0.5), 0.5), ("zeros", 0), ("ones", 1)):
        heedml.assign(layer.weight, init)
        assert (layer.weight.numpy() == expected).all()
    for init in ("xavier", "kaiming", "orthogonal", 0.01, heedml.Init.xavier_uniform()):  # as Scope.parameter() takes it
        heedml.assign(layer.weight, init, random)
        drawn = layer.weight.numpy().copy()
        heedml.assign(layer.weight, init, heedml.Random(9))
        assert drawn.any() and (drawn != layer.weight.numpy()).any()
    heedml.assign(layer.weight, 0.01, random)
    assert 0 < layer.weight.numpy().std() < 0.03
    cube = scope.parameter("cube", (2, 3, 3), "zeros")
    heedml.assign(cube, "xavier", random)
    assert 0.8 < abs(cube.numpy()).max() <= 1  # the bound is that of the last two axes
    with pytest.raises(heedml.Error, match="assign: expected the init 'zeros', .* got glorot"):
        heedml.assign(layer.weight, "glorot", random)
    with pytest.raises(heedml.Error, match=r"parameter 'fc.weight': expected a value of shape \(3, 3\)"):
        heedml.assign(layer.weight, [1.0])


def test_parameters_load_swaps_values_that_are_other_parameters():
    scope = heedml.Scope(seed=1)
    one, other = heedml.Linear(scope / "a", 2, 2), heedml.Linear(scope / "b", 2, 2)
    p, a, b = scope.parameters, one.weight.numpy().copy(), other.weight.numpy().copy()
    p.load(dict(p.items()) | {"a.weight": p["b.weight"], "b.weight": p["a.weight"]})
    assert (one.weight == b).all() and (other.weight == a).all()


def test_a_part_of_the_parameters_is_loaded_with_the_others():
    parameters = heedml.Scope(seed=1).parameters
    heedml.Linear(heedml.Scope(parameters) / "fc", 2, 2)
    part = {"fc.bias": numpy.array([1.0, 2.0], "float32")}
    with pytest.raises(heedml.Error, match=r"missing: fc.weight \(2, 2\)\nTo load a part, .*: p.load\(dict\(p.items\(\)\) \| part\)"):
        parameters.load(part)
    parameters.load(dict(parameters.items()) | part)
    assert parameters["fc.bias"].tolist() == [1, 2] and parameters["fc.weight"].numpy().any()
    for other in ({"fc.bia": part["fc.bias"]}, {"fc.bias": numpy.ones(3)}, {}):  # no part
        with pytest.raises(heedml.Error, match="missing: fc.weight") as error:
            parameters.load(other)
        assert "To load a part" not in str(error.value)


class Net:
    def __init__(self, scope):
        self.scope = scope
        self.words = heedml.Embedding(scope / "words", 9, 8)
        self.blocks = [block(scope / i) for i in range(2)]
        self.lstm = heedml.LSTM(scope / "lstm", 8, 4, bidirectional=True)
        self.norm = heedml.BatchNorm(scope / "norm", 8)
        self.out = heedml.Linear(scope / "out", 8, 3)
        self.scale = scope.parameter("scale", (), init="ones")

    def __call__(self, ids, phase="evaluate"):
        x = self.words(ids)
        for each in self.blocks:
            x = each(x).output
        return self.out(self.norm(self.lstm(x)[0][:, -1], phase)) * self.scale


def test_a_deep_copy_of_a_network_has_parameters_of_its_own():
    scope = heedml.Scope(seed=1)
    net, ids = Net(scope), numpy.array([[1, 2, 3], [4, 5, 6]])
    scope.parameters.freeze("words")
    other = copy.deepcopy(net)
    before = net(ids).numpy()
    assert (other(ids).numpy() == before).all() and list(other.scope.parameters) == list(scope.parameters)
    assert other.words.weight.is_frozen and list(other.scope.parameters.buffers()) == list(scope.parameters.buffers())
    for name, value in other.scope.parameters.items():
        assert not numpy.shares_memory(value.detach().numpy(), scope.parameters[name].detach().numpy())
    adam = heedml.Adam(other.scope.parameters, lr=0.1)
    with heedml.Recording():
        adam.step(other(ids, "train").square().sum().backward())
    assert (net(ids).numpy() == before).all() and (other(ids).numpy() != before).any()
    assert other.scale.item() != net.scale.item() == 1
    made = heedml.Linear(other.scope / "new", 3, 2), heedml.Linear(scope / "new", 3, 2)
    assert made[0].weight.tolist() == made[1].weight.tolist() and "new.weight" in other.scope.parameters


def test_deep_copies_of_layers_parameters_and_models():
    scope = heedml.Scope(seed=1)
    layer = heedml.Conv2d(scope / "conv", 2, 3, 3)
    alone = copy.deepcopy(layer)
    assert repr(alone) == repr(layer) and alone.weight.name == "conv.weight" and alone.weight.is_variable
    pair, parameters = copy.deepcopy(([layer, layer], scope.parameters))
    assert pair[0] is pair[1]
    parameters.load({name: value * 0 for name, value in scope.parameters.items()})
    assert not pair[0].weight.numpy().any() and layer.weight.numpy().any() and alone.weight.numpy().any()
    tied = heedml.MultiHeadAttention(scope / "tied", d_model=4, tie="Q_is_K")
    both = copy.deepcopy(tied)
    both.W_Q.weight.copy_from(both.W_Q.weight * 0)
    assert not both.W_K.weight.numpy().any() and tied.W_K.weight.numpy().any()
    model = heedml.Model(heedml.language_model(heedml.gpt2(1, 2, 8, max_length=8)), list("abc"), split="characters")
    model.adapt("W_Q", rank=2)
    other = copy.deepcopy(model)
    batch = model.batch(["abc", "ab"])
    other.parameters["encoder.0.attention.W_Q.lora_B"].copy_from(heedml.ones((2, 8)))
    assert other.vocabulary == model.vocabulary and (other.logits(batch).numpy() != model.logits(batch).numpy()).any()
    frozen = lambda m: [name for name, value in m.parameters.items() if value.is_frozen]
    assert frozen(other) == frozen(model) and len(frozen(model)) > 5
    assert other.generate("ab", 3, temperature=0).text


def test_a_head_of_your_own_stays_trainable_beside_adapters(tmp_path):
    model = heedml.Model(heedml.language_model(heedml.gpt2(1, 2, 8, max_length=8)), list("abc"), split="characters")
    head = heedml.Linear(heedml.Scope(model.parameters, seed=2) / "own", 8, 2)
    model.adapt(["W_Q"], rank=2)
    assert [name for name, value in model.parameters.items() if not value.is_frozen] == [
        "own.weight", "own.bias", "encoder.0.attention.W_Q.lora_A", "encoder.0.attention.W_Q.lora_B"]
    before, adam = head.weight.numpy().copy(), heedml.Adam(model.parameters, lr=0.1)
    with heedml.Recording():
        adam.step(head(model.states(model.batch(["abc"]))).square().mean().backward())
    assert (head.weight.numpy() != before).all()
    with pytest.raises(heedml.Error, match=r"own.weight, own.bias are not part of the network; save them with save_tensors\(path, model.p"):
        model.save(tmp_path / "model.safetensors")
    heedml.save_tensors(tmp_path / "all.safetensors", model.parameters)
    model.merge()
    assert "own.weight" in model.parameters and (model.parameters["own.weight"].numpy() == head.weight.numpy()).all()


def test_deep_copies_share_constants_and_continue_generators():
    class Holder:
        def __init__(self, scope):
            self.random, self.mask, self.rotary = heedml.Random(2), heedml.Mask.causal(), heedml.RotaryEmbedding(8, 2)
            self.schedule, self.init, self.layer = heedml.Schedule(lr=0.1), heedml.Init.zeros(), heedml.Linear(scope / "a", 2, 2)

    net = Holder(heedml.Scope(seed=1))
    net.random.normal(3)
    other = copy.deepcopy(net)
    assert other.random.normal(4).tolist() == net.random.normal(4).tolist()
    assert other.random is not net.random and other.layer is not net.layer
    for name in ("mask", "rotary", "schedule", "init"):
        assert getattr(other, name) is getattr(net, name)


def test_a_copy_of_a_layer_that_a_recording_follows_is_refused():
    with heedml.Recording():
        v = heedml.variable(numpy.ones((3, 4), "float32"))
        layer = heedml.Linear(heedml.Scope({"a.weight": v * 2, "a.bias": heedml.zeros(4)}) / "a", 3, 4)
        with pytest.raises(heedml.Error, match=r"copy: .* follows the layer's parameter \(3, 4\), and a copy would lose its gradient"):
            copy.deepcopy(layer)
    assert copy.deepcopy(layer).weight.tolist() == layer.weight.tolist()


def test_messages_on_copies_have_the_right_article():
    scope = heedml.Scope(seed=1)
    lstm = heedml.LSTM(scope / "lstm", 2, 3)
    for value, expected in ((lstm, "an LSTM cannot"), (heedml.Adam(scope.parameters), "an Optimizer cannot"), (scope, "a Scope cannot"),
                            (heedml.GRU(scope / "gru", 2, 3), "a GRU cannot")):
        with pytest.raises(TypeError, match=f"^{expected}"):
            copy.copy(value)


def test_layers_in_a_scope_of_given_tensors_differentiate_through_them():
    scope, x = heedml.Scope(seed=1), heedml.Random(2).normal((5, 2))
    inner = heedml.Linear(scope / "fc", 2, 1)
    with heedml.Recording():
        slopes = inner(x).square().mean().backward(record=True)
        fast = {name: value - 0.1 * slopes[value] for name, value in scope.parameters.items()}
        gradients = heedml.Linear(heedml.Scope(fast) / "fc", 2, 1)(x).square().mean().backward()
    torch = pytest.importorskip("torch")
    W, b = (torch.tensor(inner.weight.detach().numpy(), requires_grad=True), torch.zeros(1, requires_grad=True))
    loss = lambda w, c: (torch.tensor(x.numpy()) @ w + c).square().mean()
    dW, db = torch.autograd.grad(loss(W, b), (W, b), create_graph=True)
    expected = torch.autograd.grad(loss(W - 0.1 * dW, b - 0.1 * db), W)[0]
    assert numpy.allclose(gradients[inner.weight].numpy(), expected.numpy(), rtol=1e-4)
    with pytest.raises(heedml.Error, match="parameter 'fd.weight': not among the given tensors"):
        heedml.Linear(heedml.Scope(fast) / "fd", 2, 1)


def test_adapters_of_an_own_network():
    scope, x = heedml.Scope(seed=1), heedml.Random(2).normal((2, 3, 8))
    layer = block(scope / "block")
    before = layer(x).output.numpy()
    heedml.adapt(scope, ["W_Q", "W_V"], rank=2, alpha=4)
    assert (layer(x).output.numpy() == before).all()
    trained = [name for name, value in scope.parameters.items() if not value.is_frozen]
    assert trained == [f"block.attention.{name}.lora_{part}" for name in ("W_Q", "W_V") for part in "AB"]
    other = copy.deepcopy(layer)
    adam = heedml.Adam(scope.parameters, lr=0.1)
    for _ in range(2):
        with heedml.Recording():
            adam.step(layer(x).output.square().sum().backward())
    after = layer(x).output.numpy()
    assert (after != before).any() and (other(x).output.numpy() == before).all()
    weights, twin, store = copy.deepcopy(([layer.attention.W_Q.weight], layer, scope.parameters))
    assert (twin(x).output.numpy() == after).all() and weights[0].name == "block.attention.W_Q.weight"
    heedml.merge(store)
    assert list(store) == [name for name in scope.parameters if "lora" not in name]
    assert numpy.allclose(twin(x).output.numpy(), after, atol=1e-5) and (layer(x).output.numpy() == after).all()
    twin.attention.W_Q.weight.copy_from(store["block.attention.W_Q.weight"] * 0)
    assert not weights[0].numpy().any()
    heedml.merge(scope.parameters)
    assert not any("lora" in name for name in scope.parameters) and numpy.allclose(layer(x).output.numpy(), after, atol=1e-5)


def test_products_with_the_second_derivatives_of_a_loss():
    scope, x, y = heedml.Scope(seed=1, dtype="float64"), heedml.tensor(numpy.ones((4, 2))), heedml.tensor(numpy.zeros((4, 1)))
    net = heedml.Linear(scope / "fc", 2, 1)
    loss = lambda: heedml.mse_loss(heedml.tanh(net(x)), y)
    v = [heedml.tensor(numpy.full(p.shape, 0.5)) for p in scope.parameters.values()]
    found = heedml.hvp(loss, scope.parameters, v)
    torch = pytest.importorskip("torch")
    W, b = (torch.tensor(p.detach().numpy(), requires_grad=True) for p in scope.parameters.values())
    expected = torch.autograd.functional.hvp(lambda W, b: torch.tanh(torch.ones(4, 2, dtype=torch.float64) @ W + b).square().mean(), (W, b),
                                             tuple(torch.tensor(each.numpy()) for each in v))[1]
    for ours, theirs in zip(found, expected):
        assert numpy.allclose(ours.numpy(), theirs.detach().numpy())
    assert [h.tolist() for h in heedml.hvp(loss, list(scope.parameters.values()), v)] == [h.tolist() for h in found]
    assert heedml.hvp(lambda z: (z ** 3).sum(), heedml.tensor([1.0, 2.0]), heedml.tensor([1.0, 0.0])).tolist() == [6, 0]


def test_arithmetic_of_gradients():
    a, b = heedml.variable([1.0, 2.0]), heedml.variable([3.0])
    with heedml.Recording():
        first, second = (a * a).sum().backward(), (a.sum() * b).sum().backward()
    total = first + second
    assert total[a].tolist() == [5, 7] and total[b].tolist() == [3] and b not in first and first[a].tolist() == [2, 4]
    assert (total / 2)[a].tolist() == [2.5, 3.5] and (0.5 * total)[b].tolist() == [1.5] == (total * 0.5)[b].tolist()
    total *= 2
    assert total[a].tolist() == [10, 14] and heedml.global_norm(total) == pytest.approx((100 + 196 + 36) ** 0.5)
    mean = sum([first, first, second], heedml.Gradients()) / 3
    assert numpy.allclose(mean[a].numpy(), [7 / 3, 11 / 3])
    with pytest.raises(TypeError):
        first + 1


def test_positions_begin_where_a_text_goes_on():
    positions, x = heedml.LearnedPositions(heedml.Scope(seed=1), 6, 4), heedml.zeros((1, 2, 4))
    assert positions(x, first=3).tolist() == [positions.weight[3:5].tolist()] and positions(x).tolist() == [positions.weight[:2].tolist()]
    assert heedml.sinusoidal_positions(2, 4, first=3).tolist() == heedml.sinusoidal_positions(5, 4)[3:].tolist()
    assert heedml.sinusoidal_positions(2, 4, "float64").dtype == "float64"


def test_one_recurrent_layer_checks_the_dropout_that_it_does_not_use():
    x = heedml.ones((1, 2, 3))
    for kind in (heedml.RNN, heedml.GRU, heedml.LSTM):
        layer = kind(heedml.Scope(seed=1), 3, 4)
        assert (layer(x, dropout=0.5, random=heedml.Random(1))[0].numpy() == layer(x)[0].numpy()).all()
        for wrong in (-0.1, 1.5, float("nan")):
            with pytest.raises(heedml.Error, match=r"dropout: p must lie in \[0, 1\)"):
                layer(x, dropout=wrong, random=heedml.Random(1))
