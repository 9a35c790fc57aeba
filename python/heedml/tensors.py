"""Methods of tensors that need no speed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _core
from ._core import Tensor
from .errors import Error


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


def add_to(kind: type) -> None:
    """Adds the methods to the class."""
    methods = {"__reduce_ex__": _reduce, "__format__": _formatted, "__iadd__": _in_place("+"), "__isub__": _in_place("-"),
               "__imul__": _in_place("*"), "__itruediv__": _in_place("/")}
    for name, method in methods.items():
        setattr(kind, name, method)
