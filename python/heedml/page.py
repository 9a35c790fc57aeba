"""The page of a run or a text, as notebooks show it."""

from __future__ import annotations

import html
import os
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Page:
    """The page of inspect: one HTML document that works offline. Small models run inside it, so it answers as you type."""

    content: str = field(repr=False)
    height: int = 720

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page to a file, for a browser."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.content)

    def _repr_html_(self) -> str:
        return (f'<iframe srcdoc="{html.escape(self.content)}" sandbox="allow-scripts allow-downloads" '
                f'style="width: 100%; height: {self.height}px; border: 1px solid #ccc"></iframe>')
