"""Says what to write for names of PyTorch and NumPy that heedml does not have."""

import difflib
from typing import Any

from . import _core

_SEED = "a seed per object: Scope(seed=1), Random(1)"
_NUMPY = "x.numpy() has NumPy's methods"
_LINALG = "numpy.linalg of x.detach(); with a gradient: custom_operation(forward, backward)"
_UPSAMPLE = "x[:, :, :, None, :, None].broadcast_to((B, C, H, 2, W, 2)).reshape((B, C, 2 * H, 2 * W)) repeats pixels"
_BOTH = {
    "allclose": "numpy.allclose(x.detach(), y.detach())",
    "atan": "custom_operation(lambda x: tensor(numpy.arctan(x.numpy())), lambda dy, y, x: dy / (1 + x * x))(x)", "cholesky": _LINALG,
    "diag": "einsum('ii->i', x) of a matrix, x * one_hot(numpy.arange(n), n) of n numbers", "inverse": _LINALG,
    "log10": "log(x) / numpy.log(10)", "log2": "log(x) / numpy.log(2)",
    "logaddexp": "logsumexp(stack([x, y]), 0)", "moveaxis": "x.permute((1, 2, 0))", "movedim": "x.permute((1, 2, 0))",
    "swapaxes": "x.transpose(0, 1)", "tan": "sin(x) / cos(x)", "tile": "x.repeat((2, 1))", "trace": "einsum('ii->', x)",
    "all": "comparisons give arrays of NumPy: (x > 0).all()", "any": "comparisons give arrays of NumPy: (x > 0).any()",
    "chunk": "split(x, [2, 2], axis), with the sizes of the parts", "clip": "clamp(low, high)", "count_nonzero": _NUMPY,
    "dot": "(x * y).sum(), or x @ y of matrices", "isfinite": "abs(x) < numpy.inf", "isnan": "x != x",
    "mm": "x @ y", "mul": "x * y", "nonzero": _NUMPY, "outer": "x[:, None] * y", "unique": _NUMPY}
_LOSS_KL = "(p * (log(clamp(p, 1e-30)) - log_q)).sum(-1).mean()"
_HUBER = "where(abs(d) <= 1, d * d / 2, abs(d) - 0.5).mean() with d = x - y"
OF_MODULE = {
    **_BOTH, "Module": "any class that takes a Scope", "ReLU": "relu(x)", "Sequential": "a class that takes a Scope",
    "adaptive_avg_pool2d": "x.mean((2, 3)), or avg_pool2d", "huber_loss": _HUBER, "kl_div": _LOSS_KL,
    "nll_loss": "cross_entropy(logits, labels)", "smooth_l1_loss": _HUBER, "bmm": "x @ y", "cat": "concat",
    "concatenate": "concat", "eye": "one_hot(numpy.arange(n), n)",
    "F": "functions are in the module itself: heedml.relu(x)", "AdaptiveAvgPool2d": "x.mean((2, 3)), or avg_pool2d",
    "BCEWithLogitsLoss": "bce_with_logits(logits, targets)", "BatchNorm1d": "BatchNorm", "BatchNorm2d": "BatchNorm",
    "CrossEntropyLoss": "cross_entropy(logits, labels)", "Dropout": "dropout(x, p, random), or block(x, dropout=p, random=random)", "DataLoader": "Loader(make_batch, steps=...)", "LayerNorm": "Norm, or layer_norm(x, gain, bias)",
    "MSELoss": "mse_loss(x, y)", "MaxPool2d": "max_pool2d(x, kernel)", "Parameter": "scope.parameter(name, shape)",
    "argsort": "sort(x)[1]", "binary_cross_entropy_with_logits": "bce_with_logits(logits, targets)",
    "clip_grad_norm_": "clip_by_global_norm(gradients, max_norm)", "clip_grad_value_": "clip_by_value(gradients, max)",
    "cosine_similarity": "(x * y).sum(-1) / (x.norm(-1) * y.norm(-1))", "cumprod": "exp(cumsum(log(x), axis)) of positive numbers",
    "elu": "where(x > 0, x, expm1(clamp(x, high=0)))", "float32": "dtypes are texts: 'float32'", "float64": "dtypes are texts: 'float64'",
    "cdist": "(x[:, None] - y).norm(-1), or of many rows ((x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T).clamp(1e-12).sqrt()",
    "instance_norm": "group_norm(x, channels, gain, bias), with as many groups as channels", "interpolate": _UPSAMPLE, "upsample": _UPSAMPLE,
    "linalg": _LINALG, "log_sigmoid": "-softplus(-x)", "meshgrid": "x[:, None].broadcast_to((n, m)), y.broadcast_to((n, m))",
    "randperm": "Random(seed).permutation(n)",
    "solve": "custom_operation(lambda A, b: tensor(numpy.linalg.solve(A, b)), backward)(A, b), where backward(dx, x, A, b) returns -g @ x.T and "
             "g = tensor(numpy.linalg.solve(A.T, dx))",
    "l1_loss": "abs(x - y).mean()", "logsigmoid": "-softplus(-x)", "multinomial": "Random(seed).choice(weights, shape), with replacement",
    "normalize": "x / x.norm(-1, keepdim=True)", "rand_like": "Random(seed).uniform(x.shape)",
    "randn_like": "Random(seed).normal(x.shape)", "repeat_interleave": "x[numpy.repeat(numpy.arange(len(x)), n)]",
    "set_default_dtype": "Scope(dtype='float64'), tensor(data, 'float64')",
    "AveragedModel": "WeightAverage(parameters)", "LBFGS": "Lbfgs(parameters)", "functional_call": "layers in a scope of tensors, Net(Scope(tensors))",
    "init": "Linear(scope, 3, 4, init=Init.kaiming_normal()), or assign(parameter, Init.orthogonal(), random)", "lr_scheduler": "Schedule(kind, lr=...)",
    "pad_sequence": "pad_sequences(sequences)", "random_split": "train_test_split(count, share, random)",
    "functional": "functions are in the module itself: heedml.relu(x)",
    "jit": "nothing needs to be compiled",
    "linspace": "tensor(numpy.linspace(a, b, n))", "load_state_dict": "scope.parameters.load(load_tensors(path))", "manual_seed": _SEED,
    "nn": "layers are in the module itself, and take a scope: heedml.Linear(scope, 3, 4)",
    "no_grad": "nothing is recorded outside a Recording; inside, NoRecording()", "ones_like": "ones(x.shape, x.dtype)",
    "optim": "optimisers are in the module itself: heedml.Adam(scope.parameters)", "rand": "Random(seed).uniform(shape)",
    "randint": "Random(seed).integers(end, shape)", "randn": "Random(seed).normal(shape)", "random": "Random(seed).uniform(shape)",
    "random_normal": "Random(seed).normal(shape)", "random_uniform": "Random(seed).uniform(shape)", "save": "save_tensors(path, tensors)",
    "seed": _SEED, "vmap": "functions take batches: leading axes broadcast", "zeros_like": "zeros(x.shape, x.dtype)"}
OF_TENSOR = {
    **_BOTH, "add_": "x = x + y", "argsort": "sort()[1]", "mul_": "x = x * y", "pow": "x ** y", "matmul": "x @ y",
    "repeat_interleave": "x[numpy.repeat(numpy.arange(len(x)), n)]", "zero_": "copy_from(zeros(x.shape))", "astype": "to('float64')", "copy": "clone()",
    "copy_": "copy_from(y)", "cpu": "tensors are in the memory of the processor", "cuda": "tensors are in the memory of the processor",
    "data": "detach()", "device": "tensors are in the memory of the processor",
    "dim": "ndim", "double": "to('float64')", "expand": "broadcast_to(shape)", "expand_as": "broadcast_to(y.shape)",
    "float": "to('float32')",
    "grad": "gradients = loss.backward() in a Recording, then gradients[x]", "int": "x.numpy().astype(int)",
    "is_leaf": "is_variable", "long": "x.numpy().astype(int)", "masked_fill_": "masked_fill(mask, value)", "masked_select": "x[mask]",
    "numel": "size", "ravel": "flatten()",
    "requires_grad": "is_variable; variable(x) makes one", "requires_grad_": "variable(x)", "t": "T", "type": "to('float64')",
    "view": "reshape(shape)", "zero_grad": "nothing to reset: each backward() gives new gradients"}


OF_OPTIMIZER = {"add_param_group": "groups=[{'parameters': names, 'rate': 0.1}] when it is made", "load_state_dict": "load_state(state)",
                "param_groups": "optimizer.lr, or groups=[{'parameters': names, 'rate': 0.1}] when it is made",
                "state_dict": "state()", "zero_grad": "nothing to reset: each backward() gives new gradients"}
OF_PARAMETERS = {"copy": "copy.deepcopy(parameters), or {name: x.clone() for name, x in parameters.items()}", "load_state_dict": "load(tensors)",
                 "state_dict": "dict(parameters.items()), with clone() for a copy", "update": "load(tensors)"}
OF_LAYER = {"eval": "a layer with two phases takes one: norm(x, phase='evaluate')", "parameters": "scope.parameters",
            "train": "a layer with two phases takes one: norm(x, phase='train')"}


def missing(owner: str, hints: dict[str, str], names: list[str], name: str) -> AttributeError:
    """Returns the error of a name that `owner` does not have."""
    if name in hints:
        return AttributeError(f"{owner} has no '{name}'; instead: {hints[name]}")
    close = [] if name.startswith("_") else difflib.get_close_matches(name, names, 1, 0.8)
    return AttributeError(f"{owner} has no '{name}'" + (f"; did you mean {close[0]}?" if close else ""))


class _Absent:
    """An attribute that a class does not have, with a hint. (A method __getattr__ would make each call of a method slower.)"""

    def __init__(self, owner: str, hints: dict[str, str], name: str) -> None:
        self.owner, self.hints, self.name = owner, hints, name

    def __get__(self, instance: object, owner: type) -> "_Absent":
        if instance is None:
            return self
        raise missing(self.owner, self.hints, [], self.name)


def _named(kind: type) -> str:
    """Returns the name of a class with its article: an Optimizer, an LSTM, a Linear."""
    return f"{'an' if kind.__name__.startswith(('A', 'E', 'I', 'O', 'LSTM')) else 'a'} {kind.__name__}"


def _refuse_copy(layer: object, *_: object) -> None:
    raise TypeError(f"{_named(type(layer))} cannot be pickled, and a copy would share its memory; copy.deepcopy() copies layers with "
                    "their parameters, and save_tensors() writes parameters to a file")


def _refuse_any_copy(optimizer: object, *_: object) -> None:
    raise TypeError(f"{_named(type(optimizer))} cannot be copied or pickled; make another one, and call its load_state(state())")


def _deepcopy(layer: Any, memo: dict[Any, Any]) -> Any:
    """Copies what one deepcopy() finds: layers, and the scopes and parameters that belong to them."""
    return layer._copied(memo.setdefault("heedml", _core._Copies()))


def _copy_random(random: Any, memo: dict[Any, Any]) -> Any:
    """Returns a generator that continues as this one does."""
    return type(random).restored(random.state())


def _share(constant: Any, memo: dict[Any, Any]) -> Any:
    """Returns what nothing writes to."""
    return constant


def _add(kind: type, owner: str, hints: dict[str, str]) -> None:
    """Adds hints to a class, hidden from dir()."""
    for name in hints:
        setattr(kind, name, _Absent(owner, hints, name))
    setattr(kind, "__dir__", lambda self: [name for name in object.__dir__(self) if name not in hints])


def add_to(names: dict[str, Any]) -> None:
    """Adds the hints to the classes of the module."""
    _add(names["Tensor"], "a Tensor", OF_TENSOR)
    _add(names["Optimizer"], "an Optimizer", OF_OPTIMIZER)
    _add(names["Parameters"], "Parameters", OF_PARAMETERS)
    layers = {name: kind for name, kind in names.items() if isinstance(kind, type) and kind.__module__ == "heedml._core"
              and "__call__" in vars(kind) and name != "Schedule"}
    for name, kind in layers.items():
        _add(kind, _named(kind), OF_LAYER)
    for kind in (*layers.values(), names["Scope"], names["Parameters"]):
        setattr(kind, "__deepcopy__", _deepcopy if hasattr(kind, "_copied") else _refuse_copy)
        setattr(kind, "__reduce_ex__", _refuse_copy)
    for name in ("Mask", "RotaryEmbedding", "Schedule", "Init"):
        setattr(names[name], "__deepcopy__", _share)
    setattr(names["Random"], "__deepcopy__", _copy_random)
    setattr(names["Tensor"], "__deepcopy__", _deepcopy)
    setattr(names["Optimizer"], "__deepcopy__", _refuse_any_copy)
    setattr(names["Optimizer"], "__reduce_ex__", _refuse_any_copy)
