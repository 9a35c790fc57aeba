"""Pairs of texts that studies compare."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import checks
from .errors import Error, library
from .paths import Path, text_of
from .studies import Row


@dataclass(frozen=True)
class Pairs:
    """Pairs of texts that differ in the answer, as the lines of a file: {"clean", "corrupted", "answer", "wrong"}."""

    jsonl: str = field(repr=False)

    def rows(self) -> list[Row]:
        """Returns a row per pair."""
        return [json.loads(line) for line in self.jsonl.splitlines()]

    def to_pandas(self) -> Any:
        """Returns the rows as a pandas.DataFrame."""
        return library("pandas").DataFrame(self.rows())

    def save(self, path: Path) -> None:
        """Writes the file that `inspect circuit` and `inspect causes` read."""
        with open(text_of(path), "w", encoding="utf-8") as file:
            file.write(self.jsonl)

    def __len__(self) -> int:
        return len(self.jsonl.splitlines())

    def __repr__(self) -> str:
        first = f", the first {self.jsonl.splitlines()[0][:60]}..." if self.jsonl else ""
        return f"heedml.Pairs({len(self)} pairs{first})"


def _line(i: int, row: Any) -> str:
    if not isinstance(row, Mapping):
        raise Error(f"pair {i}: expected a dict, got {type(row).__name__}")
    return json.dumps(checks.plain("", row)) + "\n"


PairsOf = Path | Pairs | Sequence[Mapping[str, Any]]


@contextlib.contextmanager
def file_of(pairs: PairsOf) -> Iterator[str]:
    """Yields the path of a file of pairs, which is removed afterwards if it was written for this."""
    if isinstance(pairs, (str, bytes, os.PathLike)):
        yield text_of(pairs)
        return
    if isinstance(pairs, Mapping) or not isinstance(pairs, (Pairs, Iterable)):
        raise Error(f"pairs: expected those of Model.pairs(), a file or a list of dicts, got {type(pairs).__name__}")
    given = pairs if isinstance(pairs, Pairs) else Pairs("".join(_line(i, row) for i, row in enumerate(pairs)))
    with tempfile.TemporaryDirectory(prefix="heedml-") as directory:
        path = os.path.join(directory, "pairs.jsonl")
        given.save(path)
        try:
            yield path
        except Error as error:
            raise type(error)(str(error).replace(path, "pairs")) from None
