"""Gradients of functions, operations and optimisers of one's own, files of tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

from . import _core
from ._core import Optimizer, Parameters, Tensor
from .errors import Error
from .paths import Path, text_of


def _mapped(tree: Any, part: Callable[[Any], Any]) -> Any:
    """Returns dicts, lists and tuples of part(x) for each x in `tree`."""
    if isinstance(tree, dict):
        return {key: _mapped(value, part) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        parts = [_mapped(value, part) for value in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    return part(tree)


def _is_differentiated(value: Any) -> bool:
    return not (value is None or isinstance(value, (str, bool)))


def _constant(value: Any) -> Any:
    return value.detach() if isinstance(value, Tensor) and value.is_recorded else value


def value_and_grad(function: Callable[..., Any], argnums: int | Sequence[int] = 0,
                   has_aux: bool = False) -> Callable[..., Any]:
    """Returns a function that gives the value of `function`, a scalar (), and its gradients.

    The arguments number `argnums` are tensors, or dicts, lists and tuples of them; the gradients have the same form. With
    `has_aux`, `function` returns the scalar and something else, which is passed on: tensors, or dicts, lists and tuples of them.

        loss, gradient = heedml.value_and_grad(lambda w: ((x @ w - y) ** 2).mean())(w)

    Each tensor of these arguments is an input of its own, frozen parameters and buffers too. Other tensors that `function` reads are
    constants: the same tensor in another argument, and the parameters of a layer that was made outside. `Net(heedml.Scope(p))` makes a layer
    of an argument p, the dict of a store's parameters.

    Inside a Recording, and inside another such function, the results are recorded: grad(grad(f)) is the second derivative. Elsewhere, and in
    a NoRecording, they are constants.
    """
    chosen = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    if len(set(chosen)) < len(chosen):
        raise Error(f"value_and_grad: argnums names an argument twice: {chosen}")

    def result(*arguments: Any, **options: Any) -> Any:
        for number in chosen:
            if not 0 <= number < len(arguments):
                raise Error(f"value_and_grad: argument {number} is missing; the function got {len(arguments)}")
        tensors: list[Tensor] = []

        def collect(value: Any) -> None:
            if _is_differentiated(value):
                tensors.append(value if isinstance(value, Tensor) else _core.tensor(value))

        for number in chosen:
            _mapped(arguments[number], collect)
        aux = None

        def call(leaves: list[Tensor]) -> Tensor:
            nonlocal aux
            given, rest = list(arguments), iter(leaves)
            for number in chosen:
                given[number] = _mapped(given[number], lambda value: next(rest) if _is_differentiated(value) else value)
            value = function(*given, **options)
            loss, aux = value if has_aux else (value, None)
            if not isinstance(loss, Tensor):
                raise Error(f"value_and_grad: expected a Tensor of shape () from the function, got {type(loss).__name__}")
            return loss

        loss, gradients = _core._value_and_grad(call, tensors)
        rest = iter(gradients)
        found = tuple(_mapped(arguments[number], lambda value: next(rest) if _is_differentiated(value) else None) for number in chosen)
        gradient = found[0] if isinstance(argnums, int) else found
        if not has_aux:
            return loss, gradient
        return (loss, aux if loss.is_recorded else _mapped(aux, _constant)), gradient

    return result


@overload
def grad(function: Tensor, argnums: Tensor) -> Tensor: ...
@overload
def grad(function: Tensor, argnums: Sequence[Tensor]) -> list[Tensor]: ...
@overload
def grad(function: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]: ...
def grad(function: Any, argnums: Any = 0) -> Any:
    """Returns a function that gives the gradients of `function`, as value_and_grad() does, without the value.

    grad(output, x) of two tensors of the open Recording returns d(sum(output)) / dx, recorded: u'' is grad(grad(u, x), x). With a list as
    x it returns a list, in one pass: the gradients by several activations, for example.
    """
    if isinstance(function, Tensor):
        return _core._grad(function, [argnums])[0] if isinstance(argnums, Tensor) else _core._grad(function, list(argnums))
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
