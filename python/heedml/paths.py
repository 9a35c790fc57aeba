"""Paths, which may be str, bytes or anything that os.fspath() takes."""

import os

from .errors import Error

Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]


def text_of(path: Path) -> str:
    """Returns a path as text. Raises Error where its bytes are not UTF-8, which messages and file formats need, or contain NUL."""
    text = os.fsdecode(path)
    if "\0" in text:
        raise Error(f"a path cannot contain NUL, got {text!r}")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Error(f"expected a path in UTF-8, got {os.fsencode(text)!r}; rename the file") from None
    return text
