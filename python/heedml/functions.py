"""Gradients of functions, operations and optimisers of one's own, files of tensors."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

import numpy as np

from . import _core
from ._core import Optimizer, Parameters, Tensor
from .errors import Error
from .paths import Path, text_of


def _leaves(tree: Any, into: list[Tensor]) -> Any:
    """Returns `tree` with a variable for each tensor, and appends these."""
    if isinstance(tree, dict):
        return {key: _leaves(value, into) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        parts = [_leaves(value, into) for value in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    if tree is None or isinstance(tree, (str, bool)):
        return tree
    value = tree if isinstance(tree, Tensor) else _core.tensor(tree)
    into.append(value if value.is_variable or value.is_recorded else _core.variable(value))
    return into[-1]


def _like(tree: Any, gradients: Iterator[Tensor]) -> Any:
    """Returns `tree` with the next gradient for each tensor."""
    if isinstance(tree, dict):
        return {key: _like(value, gradients) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        parts = [_like(value, gradients) for value in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    return next(gradients) if isinstance(tree, Tensor) else None


def _recorded(gradient: Tensor, variable: Tensor) -> Tensor:
    """Returns a gradient that has a gradient itself: 0 with respect to `variable` where it does not depend on it."""
    if _core.is_recording(gradient):
        return gradient
    return gradient + _core.masked_fill(variable, np.array(True), 0.0)


def value_and_grad(function: Callable[..., Any], argnums: int | Sequence[int] = 0,
                   has_aux: bool = False) -> Callable[..., Any]:
    """Returns a function that gives the value of `function`, a scalar (), and its gradients.

    The arguments number `argnums` are tensors, or dicts, lists and tuples of them; the gradients have the same form. With
    `has_aux`, `function` returns the scalar and something else, which is passed on.

        loss, gradient = heedml.value_and_grad(lambda w: ((x @ w - y) ** 2).mean())(w)

    Inside a Recording, and inside another such function, the gradients are recorded: grad(grad(f)) is the second derivative.
    """
    chosen = (argnums,) if isinstance(argnums, int) else tuple(argnums)

    def result(*arguments: Any, **options: Any) -> Any:
        for number in chosen:
            if not 0 <= number < len(arguments):
                raise Error(f"value_and_grad: argument {number} is missing; the function got {len(arguments)}")
        given, variables = list(arguments), list[Tensor]()
        for number in chosen:
            given[number] = _leaves(given[number], variables)
        is_inner = _core.is_recording(_core.variable(0.0))
        with contextlib.nullcontext() if is_inner else _core.Recording():
            value = function(*given, **options)
            loss, aux = value if has_aux else (value, None)
            if not isinstance(loss, Tensor):
                raise Error(f"value_and_grad: expected a Tensor of shape () from the function, got {type(loss).__name__}")
            if not _core.is_recording(loss):
                raise Error("value_and_grad: the value of the function does not depend on the arguments that are differentiated, or "
                            "not by functions of heedml alone")
            if is_inner:
                gradients = [_recorded(g, v) for g, v in zip(_core._grad(loss, variables), variables)]
            else:
                held = _core.backward(loss)
                gradients = [held[v] if v in held else _core.zeros(v.shape, v.dtype) for v in variables]
            ordered = iter(gradients)
            found = tuple(_like(given[number], ordered) for number in chosen)
        gradient = found[0] if isinstance(argnums, int) else found
        loss = loss if is_inner else loss.detach()
        return ((loss, aux), gradient) if has_aux else (loss, gradient)

    return result


@overload
def grad(function: Tensor, argnums: Tensor) -> Tensor: ...
@overload
def grad(function: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]: ...
def grad(function: Any, argnums: Any = 0) -> Any:
    """Returns a function that gives the gradients of `function`, as value_and_grad() does, without the value.

    grad(output, x) of two tensors of the open Recording returns d(sum(output)) / dx, recorded: u'' is grad(grad(u, x), x).
    """
    if isinstance(function, Tensor):
        return _core._grad(function, [argnums])[0]
    both = value_and_grad(function, argnums)
    return lambda *arguments, **options: both(*arguments, **options)[1]


def custom_operation(forward: Callable[..., Tensor], backward: Callable[..., Any],
                     name: str | None = None, recordable: bool = False) -> Callable[..., Tensor]:
    """Returns an operation of your own. Check it with check_gradients().

    `forward` gets constants and returns the output y. `backward` gets (dy, y, *inputs) and returns a gradient per input, or
    None for an input that needs none. With `recordable`, `backward` uses operations of heedml alone, and no numbers: the
    operation then has second derivatives.

        cube = heedml.custom_operation(lambda x: x * x * x, lambda dy, y, x: 3 * dy * x * x, name="cube")
    """
    called = str(name or getattr(forward, "__name__", "operation"))

    def operation(*inputs: Tensor) -> Tensor:
        result: Tensor = _core._apply(called, forward, backward, recordable, *inputs)
        return result

    operation.__name__ = called
    return operation


def SGD(parameters: Parameters, lr: float = 1e-2, **options: Any) -> Optimizer:
    """Returns stochastic gradient descent with `momentum`, `nesterov` and `weight_decay` (Sutskever et al. 2013)."""
    return Optimizer(parameters, "sgd", lr=lr, **options)


def Adam(parameters: Parameters, lr: float = 1e-3, **options: Any) -> Optimizer:
    """Returns Adam with `beta1`, `beta2`, `eps`, `amsgrad` and `weight_decay` (Kingma & Ba 2015)."""
    return Optimizer(parameters, "adam", lr=lr, **options)


def AdamW(parameters: Parameters, lr: float = 1e-3, weight_decay: float = 1e-2, **options: Any) -> Optimizer:
    """Returns Adam with decoupled weight decay (Loshchilov & Hutter 2019)."""
    return Optimizer(parameters, "adamw", lr=lr, weight_decay=weight_decay, **options)


def save_tensors(path: Path, tensors: dict[str, Any] | Parameters) -> None:
    """Writes tensors or arrays by name to a safetensors file, which appears whole or not at all."""
    if not isinstance(tensors, (dict, Parameters)):
        raise Error(f"save_tensors: expected a dict of names and tensors, or parameters, got {type(tensors).__name__}")
    _core._save(text_of(path), dict(tensors.items()))


def load_tensors(path: Path) -> dict[str, Tensor]:
    """Returns the tensors of a safetensors file by name."""
    tensors: dict[str, Tensor] = _core._load(text_of(path))
    return tensors


def show_config() -> None:
    """Prints the version, the vector instructions, what computes large products, and the number of threads."""
    print(f"heedml {_core.__version__}: {_core.vector_instructions()}, {_core.blas_description()}, {_core.threads()} threads")


def RMSprop(parameters: Parameters, lr: float = 1e-2, **settings: Any) -> Optimizer:
    """Returns RMSprop with `alpha`, `eps`, `momentum`, `centered` and `weight_decay` (Tieleman & Hinton 2012)."""
    return Optimizer(parameters, "rmsprop", lr=lr, **settings)


def Adagrad(parameters: Parameters, lr: float = 1e-2, eps: float = 1e-10, **settings: Any) -> Optimizer:
    """Returns Adagrad with `eps` and `weight_decay` (Duchi et al. 2011)."""
    return Optimizer(parameters, "adagrad", lr=lr, eps=eps, **settings)


def Lion(parameters: Parameters, lr: float = 1e-4, **settings: Any) -> Optimizer:
    """Returns Lion with `beta1`, `beta2` and `weight_decay` (Chen et al. 2023)."""
    return Optimizer(parameters, "lion", lr=lr, **settings)


def Muon(parameters: Parameters, lr: float = 1e-3, **settings: Any) -> Optimizer:
    """Returns Muon with `momentum`, `nesterov`, `match_adamw` and `weight_decay` (Jordan et al. 2024).

    Groups with 'method': 'adamw' keep embeddings and the output layer with AdamW, as parameters that are no matrices are.
    """
    return Optimizer(parameters, "muon", lr=lr, **settings)
