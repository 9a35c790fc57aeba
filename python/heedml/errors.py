"""The exceptions, which the module of C++ raises."""

import contextlib
import re
from collections.abc import Iterator
from typing import Any

# Names of C++ in messages, and those of Python.
_NAMES = {r"\{\.(\w+) = t(rue)\}": r"\1=T\2", r"\{\.(axis) = (\d+)\}": r"\1=\2",
          r"matmul\(x, transpose\((\w+\.weight)\)\)": r"x @ \1.T",
          r"MissingGradient::(\w+)": r"missing_gradient='\1'", r"Phase::(\w+)": r"phase='\1'",
          r"Positions::(\w+)": r"positions='\1'", r"DType::(\w+)": r"'\1'", "^stddev": "std", "^random_ids(?=.*weights)": "Random.choice",
          "^random_ids(?=.* end )": "Random.integers", "^random_ids": "Random", "^random_(normal|permutation|uniform)": r"Random.\1",
          r"\b(Init|KeyValueCache|Mask|Model|Random|Transformer(?:Block)?)::(\w+)": r"\1.\2", "two undefined tensors": "None for both",
          r"unsqueeze\(indices, 1\)": "indices[:, None]", "; its backward must be Recordable": "; an operation of your own needs recordable=True", "labels, which are Ids": "whole numbers as labels"}


class Error(RuntimeError):
    """Wrong input. The text names the expected value, the value found, and a remedy."""

    def __init__(self, text: object = "", *more: object) -> None:
        words = str(text)
        for cpp, python in _NAMES.items():
            words = re.sub(cpp, python, words)
        super().__init__(words, *more)


class OutOfMemoryError(Error, MemoryError):
    """The system has too little memory for a tensor."""


class NotFinite(Error, ArithmeticError):
    """A value is infinite or NaN."""


class FileError(Error, OSError):
    """The system rejects a file operation."""


for _error in (Error, OutOfMemoryError, NotFinite, FileError):
    _error.__module__ = "heedml"  # as tracebacks name it


@contextlib.contextmanager
def keywords() -> Iterator[None]:
    """Names arguments of Python in messages about options of the programs: query= for --query."""
    try:
        yield
    except Error as error:
        text = re.sub(r" \(see (inspect|train)[^)]*--help\)", "", str(error))
        text = re.sub(r"--(by|language|limit|out|pair|query|resume|set|step)\b ?", r"\1=", text)
        raise type(error)(text) from None


def library(name: str) -> Any:
    """Returns an optional package."""
    try:
        return __import__(name, fromlist=["*"])
    except ImportError as error:
        raise Error(f"this needs {name.split('.')[0]}, which is not installed: pip install {name.split('.')[0]}") from error
