"""The values of one forward pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy.typing

from .errors import Error


@dataclass(frozen=True)
class Trace:
    """Everything that one forward pass computed: NumPy arrays by name, for a batch of one text.

    Names: embedded, layers.0.weights (1, heads, T, T), layers.0.q, .k, .v, .scores, .head_output, .residual_in,
    .residual_out, .mlp_output, ..., state (1, d_model), logits (1, answers).
    """

    tokens: list[str]
    query: int
    arrays: dict[str, numpy.typing.NDArray[Any]]

    def __getitem__(self, name: str) -> numpy.typing.NDArray[Any]:
        if name not in self.arrays:
            raise Error(f"the trace has no '{name}'; it has {', '.join(self.arrays)}")
        return self.arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.arrays)

    def __len__(self) -> int:
        return len(self.arrays)

    def __repr__(self) -> str:
        return f"heedml.Trace({' '.join(self.tokens)!r}, {len(self.arrays)} arrays)"
