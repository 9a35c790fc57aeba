"""Checks of arguments that messages name."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any

import numpy

from .errors import Error


def whole(where: str, value: Any, low: int, high: int) -> int:
    """Returns a whole number from `low` to `high`. Raises Error that begins with `where` for anything else."""
    try:
        number = operator.index(value)
    except TypeError:
        raise Error(f"{where}: expected a whole number, got {_shown(value)}") from None
    if not low <= number <= high:
        is_power = high >= 2**31 - 1 and (high + 1).bit_count() == 1
        bounds = f"at least {low}, below 2^{high.bit_length()}" if is_power else f"from {low} to {high}"
        raise Error(f"{where}: expected a whole number {bounds}, got {number}")
    return number


def number(where: str, value: Any) -> float:
    """Returns a number of any type as a float, not a text. Raises Error that begins with `where` for anything else."""
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError, Error):
        raise Error(f"{where}: expected a number, got {_shown(value)}") from None


def text(where: str, value: Any) -> str:
    """Returns a text. Raises Error that begins with `where` for anything else."""
    if not isinstance(value, str):
        raise Error(f"{where}: expected a str, got {_shown(value)}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise Error(f"{where}: character {error.start} is {value[error.start]!r}, half of a surrogate pair, which UTF-8 does not have; "
                    "text.encode('utf-8', 'replace').decode() replaces it") from None
    return value


def texts(where: str, one: str, value: Any) -> list[str]:
    """Returns one text, or several, as a list. Raises Error that begins with `where`, or for one of several with `one` and its number."""
    if isinstance(value, bytes) or not isinstance(value, Iterable):
        raise Error(f"{where}: expected a str or several, got {type(value).__name__}")
    return [text(where, value)] if isinstance(value, str) else [text(f"{one} {i}", each) for i, each in enumerate(value)]


def read(where: str, value: Any) -> str | list[int]:
    """Returns one text, or the ids of its tokens. Raises Error that begins with `where` for anything else."""
    if isinstance(value, str):
        return text(where, value)
    try:
        ids = numpy.asarray(value)
    except ValueError:
        ids = numpy.empty(0)
    if ids.ndim == 2 and len(ids) == 1:
        ids = ids[0]
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise Error(f"{where}: expected a str or the ids of one text, got {_shown(value)}")
    return [whole(f"{where}: id", id, 0, 2**31 - 1) for id in ids.tolist()]


def one_or_several(where: str, value: Any) -> tuple[list[str | list[int]], bool]:
    """Returns texts, or ids of texts, as a list, and whether it was one text. Raises Error that begins with `where` for anything else."""
    if isinstance(value, str):
        return [text(where, value)], True
    if isinstance(value, (bytes, Mapping)) or not isinstance(value, Iterable):
        raise Error(f"{where}: expected a str, ids or several of them, got {type(value).__name__}")
    parts = list(value)
    if parts and all(isinstance(part, Integral) for part in parts):
        return [read(where, parts)], True
    return [read(f"{where} {i}", part) for i, part in enumerate(parts)], False


def plain(where: str, value: Any) -> Any:
    """Returns a value with the numbers of NumPy and paths as json writes them. Raises Error that begins with the key of any other type."""
    if isinstance(value, Mapping):
        for key in value:
            text(f"a key of {where or 'the dict'}", key)
        return {key: plain(f"{where}.{key}" if where else key, each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(f"{where} {i}", each) for i, each in enumerate(value)]
    if isinstance(value, (numpy.generic, numpy.ndarray)):
        return plain(where, value.tolist())
    if isinstance(value, os.PathLike):
        return plain(where, os.fspath(value))
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    raise Error(f"{where}: expected a number, a str, a path, a list or a dict, got {type(value).__name__}")


def function(where: str, value: Any) -> Any:
    """Returns a function, or anything that can be called. Raises Error that begins with `where` for anything else."""
    if not callable(value):
        raise Error(f"{where}: expected a function, got {type(value).__name__}")
    return value


def _shown(value: Any) -> str:
    """Returns a value that is short, or its type."""
    return repr(value) if isinstance(value, (str, bytes, float)) and len(repr(value)) <= 40 else type(value).__name__
