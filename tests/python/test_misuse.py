"""Each public function gets absurd arguments: one exception or a value, never a crash, never a hang."""

import copy
import inspect
import pickle
import re
import subprocess
import sys
import warnings

import heedml
import numpy
import pytest

ABSURD = """
import sys, heedml, numpy, warnings
warnings.simplefilter("ignore")
class Strange:
    def __len__(self): return -1
    def __getitem__(self, key): raise RecursionError("strange")
    def __index__(self): raise OverflowError("strange")
    def __array__(self, *_, **__): raise BufferError("strange")
cyclic = []; cyclic.append(cyclic)
negative = numpy.arange(6, dtype="float32").reshape(2, 3)[::-1, ::-2]
values = [None, True, -1, 2**31, 2**63, 10**40, float("nan"), float("inf"), "", "\\x00\\ud800", b"\\xff", (), cyclic,
          {}, {"a": cyclic}, Strange(), numpy.zeros((0, 3), "float32"), negative, numpy.array(["a", None], object),
          numpy.zeros((1,) * 12, "float32"), heedml.zeros((2, 0)), heedml.ones((2, 3)), lambda *a, **k: 1 / 0,
          heedml.Tensor, numpy.array(numpy.datetime64("now")), numpy.arange(3)]
"""
CALL = ABSURD + """
for name in sys.argv[1:]:
    function = eval(name, {"heedml": heedml, "scope": heedml.Scope()})
    outcomes = set()
    print(name, end=" ", flush=True)
    for value in values:
        for arguments in ((value,), (value, value), (heedml.ones((2, 3)), value), (heedml.ones((2, 3)), value, value),
                          (heedml.Scope(), value, value), (heedml.Scope(), 3, value), (value, value, value, value)):
            try:
                function(*arguments)
                outcomes.add("value")
            except Exception as error:
                assert not isinstance(error, SystemError), error
                assert "std::" not in str(error) and "Unknown exception" not in str(error), (arguments, error)
                outcomes.add(type(error).__name__)
    print("survived", *sorted(outcomes))
"""
SLOW = {"Experiment", "train", "inspect", "Page", "full", "zeros", "ones", "arange", "set_threads"}
SLOW_METHODS = {"normal", "uniform", "permutation"}  # of 2**31 numbers
NAMES = [name for name in dir(heedml) if name[0] != "_" and callable(getattr(heedml, name)) and name not in SLOW
         and not (inspect.isclass(getattr(heedml, name)) and issubclass(getattr(heedml, name), BaseException))]


# What makes an object whose methods are called, by class.
OBJECTS = {
    "Model": "heedml.Model(heedml.language_model(heedml.gpt2(1, 2, 8, max_length=8)), list('abc'), split='characters')",
    "Optimizer": "heedml.Adam(heedml.Linear(scope, 3, 3) and scope.parameters)",
    "Lbfgs": "heedml.Lbfgs(heedml.Linear(scope, 3, 3) and scope.parameters)",
    "WeightAverage": "heedml.WeightAverage(heedml.Linear(scope, 3, 3) and scope.parameters)",
    "Parameters": "heedml.Linear(scope, 3, 3) and scope.parameters", "Scope": "scope", "Random": "heedml.Random(1)",
    "Batch": "heedml.Batch([[0, 1]])", "Schedule": "heedml.Schedule('step', lr=1.0, steps=3)",
    "Linear": "heedml.Linear(scope, 3, 3)", "Embedding": "heedml.Embedding(scope, 3, 3)", "Norm": "heedml.Norm(scope, 3)",
    "LearnedPositions": "heedml.LearnedPositions(scope, 3, 3)", "Mlp": "heedml.Mlp(scope, 3, width=3)",
    "RotaryEmbedding": "heedml.RotaryEmbedding(4, 2)", "MultiHeadAttention": "heedml.MultiHeadAttention(scope, d_model=3)",
    "TransformerBlock": "heedml.TransformerBlock(scope, attention={'d_model': 3}, mlp={'width': 3})",
    "Conv1d": "heedml.Conv1d(scope, 3, 3, 1)", "Conv2d": "heedml.Conv2d(scope, 3, 3, 1)",
    "ConvTranspose2d": "heedml.ConvTranspose2d(scope, 3, 3, 1)", "BatchNorm": "heedml.BatchNorm(scope, 3)",
    "GroupNorm": "heedml.GroupNorm(scope, 3, 3)", "LSTM": "heedml.LSTM(scope, 3, 3)", "GRU": "heedml.GRU(scope, 3, 3)",
    "LSTMCell": "heedml.LSTMCell(scope, 3, 3)", "GRUCell": "heedml.GRUCell(scope, 3, 3)",
    "RNN": "heedml.RNN(scope, 3, 3)", "RNNCell": "heedml.RNNCell(scope, 3, 3)",
    "Log": "heedml.Log('log')", "Loader": "heedml.Loader(int, steps=2)", "Place": "heedml.Place.residual(0)", "Gradients": "heedml.Gradients()",
    "Attention": "heedml.Attention('[]')", "Circuit": "heedml.Circuit('{}')", "Pairs": "heedml.Pairs('{}')",
    "Page": "heedml.Page('id=\"data\">{\"runs\": []}</script>', 9, str)", "Why": "heedml.Why('[]')",
}


def survivors(names, directory=None):
    """Calls all in one process, which prints each name before the calls."""
    return subprocess.run([sys.executable, "-c", CALL, *names], capture_output=True, text=True, timeout=120, errors="replace", cwd=directory)


def test_public_functions_survive_absurd_arguments(tmp_path):
    names = [f"heedml.{name}" for name in NAMES]
    done = survivors(names, tmp_path)
    assert done.returncode == 0, (done.returncode, done.stdout[-300:], done.stderr[-3000:])
    assert done.stdout.count("survived") == len(names) > 100


def test_methods_of_tensors_survive_absurd_arguments():
    skipped = {"__init__", "__new__", "__class__", "__init_subclass__", "__subclasshook__", "__getattribute__", "__setattr__", "__delattr__", "__dir__", "__reduce__", "__reduce_ex__", "__sizeof__", "__format__", "__setstate__"}
    names = [f"heedml.Tensor.{name}" for name in dir(heedml.Tensor) if callable(getattr(heedml.Tensor, name)) and name not in skipped]
    done = survivors(names)
    assert done.returncode == 0, (done.returncode, done.stdout[-300:], done.stderr[-3000:])


def test_names_of_pytorch_that_heedml_lacks_say_what_to_write():
    from heedml import hints
    x = heedml.tensor([1.0])
    assert not hints.OF_MODULE.keys() & {*dir(heedml)} and not hints.OF_TENSOR.keys() & {*dir(x)} and {"sum", "std"} < {*dir(x)}
    for owner, name, expected in ((heedml, "cat", "heedml has no 'cat'; instead: concat"), (x, "view", "a Tensor has no 'view'; instead: reshape(shape)"),
                                  (heedml, "sofmax", "heedml has no 'sofmax'; did you mean softmax?"), (heedml, "_x", "heedml has no '_x'")):
        assert not hasattr(owner, name)
        with pytest.raises(AttributeError, match=f"^{re.escape(expected)}$"):
            getattr(owner, name)


def test_expressions_of_hints_compute_what_the_missing_function_does():
    from heedml import hints
    a, b = numpy.random.default_rng(1).uniform(1, 2, (2, 3, 3)).astype("float32")
    images = numpy.stack([a, b])[None]
    x, y, maps = heedml.variable(heedml.tensor(a)), heedml.tensor(b), heedml.tensor(images)
    names = {**vars(heedml), "numpy": numpy, "x": x, "y": y, "n": 3, "m": 3, "B": 1, "C": 2, "H": 3, "W": 3, "seed": 4, "channels": 2,
             "gain": heedml.ones(2), "bias": heedml.zeros(2)}
    distances = numpy.linalg.norm(a[:, None] - b, axis=-1)
    rows, columns = numpy.meshgrid(a[0], b[0], indexing="ij")
    centred = images - images.mean((2, 3), keepdims=True)
    for name, code, expected, *given in (
            ("atan", "custom_operation(lambda x: tensor(numpy.arctan(x.numpy())), lambda dy, y, x: dy / (1 + x * x))(x)", numpy.arctan(a)),
            ("tan", "sin(x) / cos(x)", numpy.tan(a)), ("log2", "log(x) / numpy.log(2)", numpy.log2(a)),
            ("log10", "log(x) / numpy.log(10)", numpy.log10(a)), ("logaddexp", "logsumexp(stack([x, y]), 0)", numpy.logaddexp(a, b)),
            ("log_sigmoid", "-softplus(-x)", -numpy.log1p(numpy.exp(-a))), ("allclose", "numpy.allclose(x.detach(), y.detach())", False),
            ("isnan", "x != x", numpy.isnan(a)), ("isfinite", "abs(x) < numpy.inf", numpy.isfinite(a)),
            ("trace", "einsum('ii->', x)", numpy.trace(a)), ("diag", "einsum('ii->i', x)", numpy.diag(a)),
            ("diag", "x * one_hot(numpy.arange(n), n, x.dtype)", numpy.diag(a[0]), {"x": x[0]}), ("eye", "one_hot(numpy.arange(n), n)", numpy.eye(3)),
            ("tile", "x.repeat((2, 1))", numpy.tile(a, (2, 1))), ("swapaxes", "x.transpose(0, 1)", a.T),
            ("moveaxis", "x.permute((1, 2, 0))", numpy.moveaxis(images[0], 0, 2), {"x": maps[0]}), ("cdist", "(x[:, None] - y).norm(-1)", distances),
            ("cdist", "((x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T).clamp(1e-12).sqrt()", distances),
            ("meshgrid", "x[:, None].broadcast_to((n, m))", rows, {"x": x[0]}), ("meshgrid", "y.broadcast_to((n, m))", columns, {"y": y[0]}),
            ("upsample", "x[:, :, :, None, :, None].broadcast_to((B, C, H, 2, W, 2)).reshape((B, C, 2 * H, 2 * W))",
             images.repeat(2, 2).repeat(2, 3), {"x": maps}),
            ("instance_norm", "group_norm(x, channels, gain, bias)", centred / numpy.sqrt((centred ** 2).mean((2, 3), keepdims=True) + 1e-5),
             {"x": maps}),
            ("randperm", "random.permutation(n)", heedml.Random(4).permutation(3), {"random": heedml.Random(4)})):
        assert code in hints.OF_MODULE[name]
        with heedml.Recording():
            value = eval(code, {**names, **dict(*given)})
        value = numpy.asarray(value.detach() if isinstance(value, heedml.Tensor) else value)
        assert value.shape == numpy.shape(expected) and numpy.allclose(value, expected, rtol=1e-4), name


def test_classes_and_gradients_say_what_to_write():
    scope, other = heedml.Scope(seed=1), heedml.Scope(seed=2)
    layer, twin, adam = heedml.Linear(scope / "fc", 2, 2), heedml.Linear(other / "fc", 2, 2), heedml.Adam(scope.parameters)
    for call, expected in ((lambda: adam.zero_grad(), "an Optimizer has no 'zero_grad'"), (lambda: layer.parameters(), "a Linear has no 'parameters'"),
                           (lambda: scope.parameters.state_dict(), "Parameters has no 'state_dict'"), (lambda: layer.nothing, "'nothing'")):
        with pytest.raises(AttributeError, match=expected):
            call()
    assert "zero_grad" not in dir(adam) and "step" in dir(adam)
    for copied in (copy.copy, pickle.dumps):
        with pytest.raises(TypeError, match="a Linear cannot be pickled, and a copy would share its memory"):
            copied(layer)
    with heedml.Recording():
        gradients = (layer(heedml.ones(2)) + twin(heedml.ones(2))).sum().backward()
    with pytest.raises(heedml.Error, match="two variables are called 'fc.weight'; index the gradients by the variable"):
        gradients["fc.weight"]
    assert gradients[twin.weight].tolist() == [[1, 1], [1, 1]]
    for group in ({"parameters": "fc.bias", "rate": 0.1}, {"parameters": [layer.bias], "rate": 0.1}, {"parameters": ("fc",), "rate": 0.1}):
        heedml.Adam(scope.parameters, groups=[group])
    with pytest.raises(heedml.Error, match="expected 'parameters' of a group as names"):
        heedml.Adam(scope.parameters, groups=[{"parameters": [layer]}])


CONTEXTS = """
import heedml, numpy
x = heedml.tensor(numpy.random.default_rng(1).normal(size=(64, 64)), "float32")
exact = x @ x
class Opened:
    def __init__(self, kind, *arguments):
        self.context = getattr(heedml, kind)(*arguments)
        self.context.__enter__()
    def close(self):
        self.context.__exit__(None, None, None)
for kind in ("Autocast", "NoRecording", "FiniteCheck"):
    first, second = Opened(kind), Opened(kind)
    first.close(); second.close()
assert ((x @ x).numpy() == exact.numpy()).all()
w = heedml.variable([1.0])
with heedml.Recording():
    assert heedml.is_recording(w)
layer = heedml.Linear(heedml.Scope(seed=1), 2, 2)
seen = []
first, second = Opened("Hook", lambda n, v: seen.append(1)), Opened("Hook", lambda n, v: seen.append(2))
first.close(); layer(heedml.ones(2)); second.close(); layer(heedml.ones(2))
assert seen == [2], seen
def once(name, value):
    hook.__exit__(None, None, None)
    seen.append(3)
hook = heedml.Hook(once); hook.__enter__()
layer(heedml.ones(2)); layer(heedml.ones(2))
assert seen == [2, 3], seen
def nested(name, value):
    with heedml.Autocast():
        pass
    return (x @ x)[:2, 0] * 0 + (0 if ((x @ x).numpy() == exact.numpy()).all() else 1)
with heedml.Hook(nested):
    assert layer(heedml.ones(2)).tolist() == [0, 0]
tape = heedml.Recording(); tape.__enter__()
ends = heedml.custom_operation(lambda x: x * 2, lambda dy, y, x: (tape.__exit__(None, None, None), dy)[1])
for call in (lambda: ends(w).sum().backward(), lambda: heedml.checkpoint(lambda w: (tape.__exit__(), w)[1], w)):
    try:
        call()
        raise SystemExit("no error")
    except heedml.Error as error:
        assert "cannot close" in str(error), error
tape.__exit__(None, None, None)
"""


def test_contexts_that_end_in_any_order_leave_nothing_behind():
    done = subprocess.run([sys.executable, "-c", CONTEXTS], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_labels_of_a_wrong_shape_are_called_labels():
    with pytest.raises(heedml.Error, match="label") as caught:
        heedml.cross_entropy(heedml.ones((2, 3)), numpy.array([[1], [2]]))
    assert "probabilities" not in str(caught.value)
    assert heedml.cross_entropy(heedml.ones((2, 3)), numpy.eye(2, 3, dtype=int)).item() == pytest.approx(numpy.log(3))


def test_wrong_arguments_are_named():
    x, scope = heedml.tensor([[1.0, 2.0]]), heedml.Scope(seed=1)
    usage = "Usage: softmax(x, axis=-1)"
    for call, expected in (
            (lambda: x.sum(dim=1), "sum: no argument is called dim; did you mean axis? Usage: sum(axis=None, keepdim=False)"),
            (lambda: heedml.softmax(x, "1"), f"softmax: axis: expected int, got str. {usage}"),
            (lambda: heedml.softmax(x, 1, 2), f"softmax: expected at most 2 arguments without a name, got 3. {usage}"),
            (lambda: heedml.softmax(x, 1, axis=1), f"softmax: axis is given twice. {usage}"),
            (lambda: heedml.softmax([1.0]), f"softmax: x: expected Tensor, got list (heedml.tensor(value) makes one). {usage}"),
            (lambda: heedml.softmax(axis=0), f"softmax: x is missing. {usage}"),
            (lambda: heedml.Linear(3, 4), "Linear: scope: expected Scope, got int (layers take a scope first: scope = heedml.Scope(seed=1)); "
             "out_features is missing. Usage: Linear(scope, in_features, out_features, bias=True, *, init=None, bias_init=None)"),
            (lambda: heedml.Linear(scope, 3, 4, nonsense=1), "Linear: no argument is called nonsense. "
             "Usage: Linear(scope, in_features, out_features, bias=True, *, init=None, bias_init=None)"),
            (lambda: heedml.Random(1, -1), "Random: a value in the arguments (int, int) is of another type or out of range. Usage: Random(seed, stream=0)")):
        with pytest.raises(TypeError, match=f"^{re.escape(expected)}$"):
            call()
    explained = 0
    for owner in (heedml, heedml.Tensor, heedml.Model, heedml.Parameters):
        for name in {name for name in dir(owner) if name[0] != "_" and callable(getattr(owner, name))}:
            with pytest.raises((TypeError, heedml.Error)) as caught:
                getattr(owner, name)(no_such_argument=object())
            assert "incompatible" not in str(caught.value), name
            explained += "no argument is called no_such_argument" in str(caught.value)
    assert explained > 150


def test_methods_of_models_layers_and_results_survive_absurd_arguments(tmp_path):
    called = {"__call__", "__getitem__", "__contains__", "__truediv__"}
    names = [f"({made}).{name}" for kind, made in OBJECTS.items() for name in dir(getattr(heedml, kind))
             if (name[0] != "_" or name in called) and name not in SLOW_METHODS and callable(getattr(getattr(heedml, kind), name))]
    assert {f"({OBJECTS['Model']}).{name}" for name in ("adapt", "circuit", "pairs", "restored", "why_answer", "merge", "page")} < set(names)
    done = survivors(names, tmp_path)
    assert done.returncode == 0, (done.returncode, done.stdout[-300:], done.stderr[-3000:])
    assert done.stdout.count("survived") == len(names) > 80


def test_a_long_chain_of_shared_memory_is_released():
    torch = pytest.importorskip("torch")
    x = heedml.tensor([1.0, 2.0])
    for _ in range(40_000):
        x = heedml.from_numpy(x.numpy())
        x = heedml.from_dlpack(torch.from_dlpack(x))
    assert x.numpy().tolist() == [1, 2]
    del x


def test_sizes_beyond_memory_are_refused():
    for shape in ((2**40, 2**20), (2**62, 4), 2**62):
        for make in (heedml.zeros, heedml.ones, lambda s: heedml.full(s, 1.0)):
            with pytest.raises(heedml.Error):
                make(shape)
    for shape in (-1, (2, -3), "ab", 1.5, None, [[1]], (1,) * 9):
        with pytest.raises((heedml.Error, TypeError)):
            heedml.zeros(shape)
    with pytest.raises(heedml.Error):
        heedml.arange(0, 1e30)
    with pytest.raises(heedml.Error):
        heedml.arange(0, 1, 0)
    for count in (0, -1, 10**6):
        with pytest.raises(heedml.Error, match="threads"):
            heedml.set_threads(count)


def test_objects_without_their_constructor_are_refused():
    for kind in (heedml.Tensor, heedml.Scope, heedml.Linear, heedml.Parameters, heedml.Optimizer, heedml.Recording):
        made = kind.__new__(kind)
        warnings.simplefilter("ignore")
        with pytest.raises((TypeError, heedml.Error, RuntimeError)):
            made.shape if kind is heedml.Tensor else made()
        with pytest.raises((TypeError, heedml.Error, RuntimeError)):
            len(made)


def test_wrong_ids_have_one_clear_message():
    table = heedml.ones((4, 2))
    for ids in ([4], [-1], [2**40], [1.0], ["a"], numpy.array([2**63], "uint64")):
        with pytest.raises(heedml.Error, match="embedding"):
            heedml.embedding(table, ids)
    assert heedml.embedding(table, []).shape == (0, 2)
    assert heedml.embedding(table, numpy.arange(4, dtype="uint8")[::-2]).shape == (2, 2)


def test_joining_takes_arrays_and_names_what_is_wrong():
    x, array = heedml.ones(2, "float64"), numpy.array([2, 3])
    assert heedml.concat([array, x]).tolist() == [2, 3, 1, 1] and heedml.stack((x, [2.0, 3.0])).dtype == "float64"
    assert heedml.stack([array, array]).dtype == "float32"
    for parts, expected in ((x.sum().item(), "stack: expected a list of tensors, got float"), ("ab", "stack: expected a list of tensors, got str"),
                            ([x, "a"], "stack: expected numbers, got str")):
        with pytest.raises(heedml.Error, match=f"^{expected}"):
            heedml.stack(parts)


def test_one_size_cuts_an_axis_into_parts_of_it():
    x = heedml.arange(5)
    for size, expected in ((2, [2, 2, 1]), (5, [5]), (9, [5]), (numpy.int64(1), [1] * 5), ([2, 3], [2, 3])):
        assert [len(part) for part in x.split(size)] == [len(part) for part in heedml.split(x, size, -1)] == expected
    assert [part.shape for part in heedml.zeros((0, 2)).split(2)] == [(0, 2)]
    for sizes, axis, expected in ((0, 0, "split: the size of the parts must be at least 1, got 0"), ([2, 2], 0, "split: the sizes 2, 2 do not add up"),
                                  (2, 1, "split: axis 1 ")):
        with pytest.raises(heedml.Error, match=f"^{expected}"):
            x.split(sizes, axis)


def test_messages_on_convolutions_and_statistics():
    x, weight, scope = heedml.ones((1, 4, 8)), heedml.ones((5, 4, 3)), heedml.Scope(seed=1)
    assert heedml.Conv1d(scope / "a", 4, 5, (3,)).weight.shape == heedml.Conv1d(scope / "b", 4, 5, 3).weight.shape == (5, 4, 3)
    for call, expected in ((lambda: heedml.Conv1d(scope / "c", 4, 5, (3, 3)), "Conv1d: expected one number as the kernel, got 2"),
                           (lambda: heedml.Conv1d(scope / "c", 4, 5, 2**32 + 3), "Conv1d: the kernel must be below 2^31, got 4294967299"),
                           (lambda: heedml.max_pool1d(x, (3, 2)), "max_pool1d: the kernel must be one number, got 3 and 2"),
                           (lambda: heedml.conv1d(x, weight, padding=10**10), "conv1d: padding must be below 2^31, got 10000000000"),
                           (lambda: heedml.conv1d(x, weight, padding="full"), "conv1d: padding is one number or two, 'same' or 'valid', got 'full'"),
                           (lambda: heedml.conv1d(x, weight, padding="same", stride=2), "conv1d: padding 'same' needs stride 1; give numbers"),
                           (lambda: heedml.conv1d(x, heedml.ones((5, 4, 2)), padding="same"), "same_padding: a kernel of 2 with dilation 1 needs 1 zero at both ends together, which is odd; take an odd kernel, or pad() one end"),
                           (lambda: heedml.conv_transpose1d(x, heedml.ones((4, 5, 3)), padding="same"), "conv_transpose1d: padding is one number or two, got 'same'"),
                           (lambda: x.std(correction=-1), "std: correction must be finite and at least 0, got -1"),
                           (lambda: heedml.accuracy(x[0], [0, 9, 1, 1]), "accuracy: label 9 of row 1 lies outside [0, 8)"),
                           (lambda: heedml.sinusoidal_positions(10**9, 10**9), "sinusoidal_positions: ")):
        with pytest.raises(heedml.Error, match=f"^{re.escape(expected)}"):
            call()


def test_errors_are_heeds_sentences():
    with pytest.raises(heedml.Error) as caught:
        heedml.ones((8, 12, 64)) @ heedml.ones((32, 64))
    assert str(caught.value).startswith("matmul: inner dimensions must match: (8, 12, 64) x (32, 64): 64 != 32.")
    assert issubclass(heedml.Error, RuntimeError) and issubclass(heedml.FileError, OSError)
    with pytest.raises(heedml.NotFinite), heedml.FiniteCheck(), heedml.Recording():
        heedml.log(heedml.variable([0.0]) * 0 - 1)
    with pytest.raises(heedml.Error, match="no such run"):
        heedml.inspect("no-such-run-anywhere")
    with pytest.raises(heedml.FileError):
        heedml.load_tensors("/no/such/file")
