"""Derivatives of functions, and their checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, overload

from . import _core
from ._core import Parameters, Tensor


def jvp(function: Callable[[Tensor], Tensor], x: Tensor, v: Tensor) -> Tensor:
    """Returns J v, the derivative of the function at x along v: v has the shape of x."""
    return _core._jvp(function, x, v)


def vjp(function: Callable[[Tensor], Tensor], x: Tensor, v: Tensor) -> Tensor:
    """Returns v^T J: v has the shape of function(x), the result that of x."""
    return _core._vjp(function, x, v)


@overload
def hvp(function: Callable[[Tensor], Tensor], x: Tensor, v: Tensor) -> Tensor: ...
@overload
def hvp(function: Callable[[], Tensor], x: Parameters | Sequence[Tensor], v: Sequence[Tensor]) -> list[Tensor]: ...
def hvp(function: Any, x: Any, v: Any) -> Any:
    """Returns H v, with H the second derivatives of a scalar function at x. It costs about four times the function.

    With parameters or a list of variables as x, `function` is a loss without arguments, and v and the result are lists in their order,
    without parameters that are frozen, as buffers are:

        products = heedml.hvp(lambda: heedml.mse_loss(net(x), y), scope.parameters, v)
    """
    if isinstance(x, (Parameters, list, tuple)):
        return _core._hvp_of(function, [p for p in x.values() if not p.is_frozen] if isinstance(x, Parameters) else list(x), list(v))
    return _core._hvp(function, x, v)


def jacobian(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Returns all derivatives of a function at x: (shape of function(x)..., shape of x...)."""
    return _core._jacobian(function, x)


def hessian(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Returns the second derivatives of a scalar function at x: (shape of x..., shape of x...)."""
    return _core._hessian(function, x)


@dataclass(frozen=True)
class GradientError:
    """The entry of a Jacobian with the largest error relative to its tolerance."""

    where: str
    computed: float
    expected: float
    excess: float


@dataclass(frozen=True)
class CheckReport:
    """The result of a gradient check, which is true if it passed, the number of Jacobian entries compared, and the worst of them."""

    passed: bool
    entries: int
    worst: GradientError

    def __bool__(self) -> bool:
        return self.passed


def check_gradients(function: Callable[..., Tensor], inputs: Tensor | Sequence[Tensor], rtol: float = 1e-7, atol: float = 1e-9,
                    step: float = 4e-3, scale_gradient: float = 1.0) -> CheckReport:
    """Compares the Jacobian of a function at float64 inputs with 8th-order central differences."""
    passed, entries, worst = _core._check_gradients(function, inputs, rtol, atol, step, scale_gradient)
    return CheckReport(passed, entries, GradientError(*worst))
