"""The exceptions, which the module of C++ raises."""

from typing import Any


class Error(RuntimeError):
    """Wrong input. The text names the expected value, the value found, and a remedy."""


class OutOfMemoryError(Error, MemoryError):
    """The system lacks the memory for a tensor."""


class NotFinite(Error, ArithmeticError):
    """A value is infinite or NaN."""


class FileError(Error, OSError):
    """The system rejects a file operation."""


for _error in (Error, OutOfMemoryError, NotFinite, FileError):
    _error.__module__ = "heedml"  # as tracebacks name it


def library(name: str) -> Any:
    """Returns an optional package."""
    try:
        return __import__(name, fromlist=["*"])
    except ImportError as error:
        raise Error(f"this needs {name.split('.')[0]}, which is not installed: pip install {name.split('.')[0]}") from error
