"""Says what to write for names of PyTorch and NumPy that heedml does not have."""

import difflib

_SEED = "a seed per object: Scope(seed=1), Random(1)"
_NUMPY = "x.numpy() has NumPy's methods"
_BOTH = {
    "all": "comparisons give arrays of NumPy: (x > 0).all()", "any": "comparisons give arrays of NumPy: (x > 0).any()",
    "chunk": "split(x, [2, 2], axis), with the sizes of the parts", "clip": "clamp(low, high)", "count_nonzero": _NUMPY,
    "dot": "(x * y).sum(), or x @ y of matrices", "isfinite": "numpy.isfinite(x.numpy())", "isnan": "numpy.isnan(x.numpy())",
    "mm": "x @ y", "mul": "x * y", "nonzero": _NUMPY, "outer": "x[:, None] * y", "unique": _NUMPY}
_HUBER = "where(abs(d) <= 1, d * d / 2, abs(d) - 0.5).mean() with d = x - y"
OF_MODULE = {
    **_BOTH, "Module": "any class that takes a Scope", "ReLU": "relu(x)", "Sequential": "a class that takes a Scope",
    "adaptive_avg_pool2d": "x.mean((2, 3)), or avg_pool2d", "huber_loss": _HUBER, "kl_div": "(p * (log(p) - log_q)).sum(-1).mean()",
    "nll_loss": "cross_entropy(logits, labels)", "smooth_l1_loss": _HUBER, "bmm": "x @ y", "cat": "concat",
    "concatenate": "concat", "eye": "tensor(numpy.eye(n))",
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
    **_BOTH, "add_": "x += y", "astype": "to('float64')", "copy": "clone()",
    "copy_": "copy_from(y)", "cpu": "tensors are in the memory of the processor", "cuda": "tensors are in the memory of the processor",
    "data": "detach()", "device": "tensors are in the memory of the processor",
    "dim": "ndim", "double": "to('float64')", "expand": "broadcast_to(shape)", "expand_as": "broadcast_to(y.shape)",
    "float": "to('float32')",
    "grad": "gradients = loss.backward() in a Recording, then gradients[x]", "int": "x.numpy().astype(int)",
    "is_leaf": "is_variable", "long": "x.numpy().astype(int)", "masked_fill_": "masked_fill(mask, value)", "masked_select": "x[mask]",
    "numel": "size", "ravel": "flatten()",
    "requires_grad": "is_variable; variable(x) makes one", "requires_grad_": "variable(x)", "t": "T", "type": "to('float64')",
    "view": "reshape(shape)", "zero_grad": "nothing to reset: each backward() gives new gradients"}


def missing(owner: str, hints: dict[str, str], names: list[str], name: str) -> AttributeError:
    """Returns the error of a name that `owner` does not have."""
    if name in hints:
        return AttributeError(f"{owner} has no '{name}'; instead: {hints[name]}")
    close = [] if name.startswith("_") else difflib.get_close_matches(name, names, 1, 0.8)
    return AttributeError(f"{owner} has no '{name}'" + (f"; did you mean {close[0]}?" if close else ""))


class _Absent:
    """An attribute that a class does not have, with a hint. (A method __getattr__ would make each call of a method slower.)"""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, tensor: object, owner: type) -> "_Absent":
        if tensor is None:
            return self
        raise missing("a Tensor", OF_TENSOR, [], self.name)


def add_to(tensor: type) -> None:
    """Adds the hints to the class of tensors, hidden from dir()."""

    def names(self: object) -> list[str]:
        return [name for name in object.__dir__(self) if name not in OF_TENSOR]

    for name in OF_TENSOR:
        setattr(tensor, name, _Absent(name))
    setattr(tensor, "__dir__", names)
