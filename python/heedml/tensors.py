"""Methods of tensors that need no speed, and functions of NumPy on tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _core
from ._core import Tensor
from .errors import Error

# The operators of a ufunc: of a tensor on the left, and on the right.
_OPERATORS = {"add": ("__add__", "__radd__"), "subtract": ("__sub__", "__rsub__"), "multiply": ("__mul__", "__rmul__"),
              "divide": ("__truediv__", "__rtruediv__"), "matmul": ("__matmul__", "__rmatmul__"), "power": ("__pow__", "__rpow__"),
              "less": ("__lt__", "__gt__"), "less_equal": ("__le__", "__ge__"), "greater": ("__gt__", "__lt__"),
              "greater_equal": ("__ge__", "__le__"), "equal": ("__eq__", "__eq__"), "not_equal": ("__ne__", "__ne__")}


def _restored(numbers: Any, dtype: str, is_variable: bool) -> Tensor:
    x = Tensor(numbers, dtype)
    return _core.variable(x) if is_variable else x


def _reduce(x: Tensor, protocol: object) -> tuple[Any, ...]:
    """Pickles a tensor as an array and its dtype."""
    copy = x._copied(_core._Copies()).detach()
    return _restored, (copy.numpy(), copy.dtype, x.is_variable)


def _formatted(x: Tensor, form: str) -> str:
    return format(x.item(), form) if form else str(x)


def _in_place(sign: str) -> Callable[[Tensor, object], Any]:
    def refuse(x: Tensor, other: object) -> Any:
        if not x.is_variable:
            return NotImplemented  # Python computes x = x + y
        raise Error(f"{sign}=: a variable would stay as it is; write x = x {sign} y for a new tensor, or x.copy_from(x {sign} y) for new "
                    "values of the variable")

    return refuse


def _arrays(value: Any) -> Any:
    """Returns arrays in place of tensors. Raises Error for a tensor that a Recording follows."""
    if isinstance(value, (list, tuple)):
        return [_arrays(part) for part in value] if isinstance(value, list) else tuple(map(_arrays, value))
    return np.asarray(value) if isinstance(value, Tensor) else value


def _called(function: Callable[..., Any], name: str, hint: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Calls a function of NumPy with arrays in place of tensors."""
    try:
        arrays, named = _arrays(arguments), {key: _arrays(value) for key, value in options.items()}
    except Error:
        raise Error(f"{name}: a Recording follows a tensor, and an array would lose its gradient; write x.detach().numpy() for a "
                    f"constant{hint}") from None
    return function(*arrays, **named)


def _hint(name: str) -> str:
    return f", or heedml.{name}(...)" if hasattr(_core, name) else ""


def _array_ufunc(x: Tensor, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    """Computes numpy.exp(x), and array + x, which is a tensor."""
    name = ufunc.__name__
    left, right = _OPERATORS.get(name, ("", ""))
    if left and method == "__call__" and not options:
        a, b = inputs
        return getattr(a, left)(b) if isinstance(a, Tensor) else getattr(b, right)(a)
    hint = ", or a = a + x in place of a += x" if left and "out" in options else _hint(name)
    return _called(getattr(ufunc, method), f"numpy.{name}", hint, inputs, options)


def _array_function(x: Tensor, function: Any, types: object, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Computes numpy.sum(x)."""
    if function in (np.shape, np.ndim, np.size):
        return function(*(np.asarray(part.detach()) if isinstance(part, Tensor) else part for part in arguments), **options)
    name = function.__name__
    return _called(function, f"{function.__module__}.{name}", _hint(name), arguments, options)


def add_to(kind: type) -> None:
    """Adds the methods to the class."""
    methods = {"__reduce_ex__": _reduce, "__format__": _formatted, "__iadd__": _in_place("+"), "__isub__": _in_place("-"),
               "__imul__": _in_place("*"), "__itruediv__": _in_place("/"), "__ipow__": _in_place("**"), "__imatmul__": _in_place("@"), "__array_ufunc__": _array_ufunc,
               "__array_function__": _array_function}
    for name, method in methods.items():
        setattr(kind, name, method)
