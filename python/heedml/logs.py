"""Numbers of a training loop in files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from . import _core
from ._core import Gradients, Parameters, Tensor
from .paths import Path, text_of


class Log(_core._Log):
    """Writes the numbers of a training loop to metrics.jsonl, metrics.csv and an event file for TensorBoard.

        log = heedml.Log('runs/mine')
        log.write(step, {'loss': loss, 'rate': rate})
        heedml.curves(log.path).plot()
    """

    def __init__(self, path: Path, resume: int | None = None) -> None:
        """Makes the directory `path`, or path-2, ... where it exists. `resume` continues a log at this step instead."""
        super().__init__(text_of(path), resume)

    def write(self, step: int, values: Mapping[str, Tensor | float]) -> None:
        """Writes numbers by name. Several calls for a step share a line; steps increase."""
        self._write(step, [(name, value.item() if isinstance(value, Tensor) else value) for name, value in values.items()])

    def write_gradients(self, step: int, parameters: Parameters, gradients: Gradients) -> None:
        """Writes for each parameter norm/NAME, gradient/NAME, and dead/NAME: the share of units without a gradient."""
        self._write_gradients(step, parameters, gradients)

    def write_updates(self, step: int, parameters: Parameters, update: Callable[[], Any]) -> None:
        """Calls `update`, and writes for each parameter update/NAME: its change relative to its values before."""
        self._write_updates(step, parameters, update)

    def __repr__(self) -> str:
        return f"heedml.Log('{self.path}')"
