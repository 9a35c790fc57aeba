"""Classes of texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy

from . import _core
from .errors import Error

if TYPE_CHECKING:
    from .models import Model


@dataclass(frozen=True)
class Classified:
    """The class of a text: `label`, the most probable one, and the probability of each by name."""

    text: str
    label: str
    probability: float
    probabilities: dict[str, float]


def classified(model: Model, texts: Sequence[str], batch_size: int, max_length: int) -> list[Classified]:
    """Returns the class of each text. Texts of similar length are computed together."""
    names: list[str] = model.config.get("classes", [])
    if not names:
        raise Error("classify: the model does not tell the class of a text; model.with_classes([...]) makes one that learns to")
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    found: dict[int, Classified] = {}
    with _core.NoRecording():
        for first in range(0, len(texts), batch_size):
            chosen = order[first:first + batch_size]
            logits = model.logits(model.batch([texts[i] for i in chosen], max_length)).numpy().astype(numpy.float64)
            powers = numpy.exp(logits - logits.max(1, keepdims=True))
            for i, row in zip(chosen, powers / powers.sum(1, keepdims=True)):
                best = int(row.argmax())
                found[i] = Classified(texts[i], names[best], float(row[best]), dict(zip(names, row.tolist())))
    return [found[i] for i in range(len(texts))]
