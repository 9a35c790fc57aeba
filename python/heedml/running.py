"""The model that a thread runs, and the models that it intervenes in."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

from . import _core


class OfThread(threading.local):
    """The models that a thread intervenes in, and the one that it runs (None: layers of a program's own), perhaps on parts of a text."""

    def __init__(self) -> None:
        self.changed: list[_core._Model] = []
        self.running: _core._Model | None = None
        self.in_parts = False


of_thread = OfThread()


@contextlib.contextmanager
def running(model: _core._Model | None, in_parts: bool = False) -> Iterator[None]:
    """Notes that this thread runs a model, for intervene()."""
    before = of_thread.running, of_thread.in_parts
    of_thread.running, of_thread.in_parts = model, in_parts
    try:
        yield
    finally:
        of_thread.running, of_thread.in_parts = before


def noted(method: Callable[..., Any], in_parts: bool = False) -> Callable[..., Any]:
    """Returns a method that notes that its model runs, if this thread intervenes in one."""
    @functools.wraps(method)
    def run(model: _core._Model, *arguments: Any, **options: Any) -> Any:
        if not of_thread.changed:
            return method(model, *arguments, **options)
        with running(model, in_parts):
            return method(model, *arguments, **options)

    return run
