"""Numbers of a training loop in files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from . import _core
from ._core import Gradients, Parameters, Tensor
from .checks import number, text, whole
from .errors import Error
from .paths import Path, text_of


class Log(_core._Log):
    """Writes the numbers of a training loop to metrics.jsonl, metrics.csv and an event file for TensorBoard.

        log = heedml.Log('runs/mine')
        log.write(step, {'loss': loss, 'rate': rate})
        heedml.curves(log.path).plot()
    """

    def __init__(self, path: Path, resume: int | None = None) -> None:
        """Makes the directory `path`, or path-2, ... where it exists. `resume` continues a log at this step instead."""
        place = text_of(path)
        if not place:
            raise Error("Log: expected the path of a directory, got an empty text")
        super().__init__(place, None if resume is None else whole("Log: resume", resume, 0, 2**63 - 1))

    def write(self, step: int, values: Mapping[str, Tensor | float]) -> None:
        """Writes numbers by name. Several calls for a step share a line; steps increase."""
        self._write(whole("Log.write: step", step, 0, 2**63 - 1),
                    [(text("Log.write: name", name), number(f"Log.write: '{name}'", value)) for name, value in values.items()])

    def write_gradients(self, step: int, parameters: Parameters, gradients: Gradients) -> None:
        """Writes for each parameter norm/NAME, gradient/NAME, and dead/NAME: the share of units without a gradient."""
        self._write_gradients(step, parameters, gradients)

    def write_updates(self, step: int, parameters: Parameters, update: Callable[[], Any]) -> None:
        """Calls `update`, and writes for each parameter update/NAME: its change relative to its values before."""
        self._write_updates(step, parameters, update)

    def __repr__(self) -> str:
        return f"heedml.Log('{self.path}')"
