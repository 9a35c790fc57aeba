"""Starts the programs that the wheel brings: the commands heed-train and heed-inspect."""

import importlib.util
import os
import pathlib
import sys


def _start(name: str) -> None:
    package = importlib.util.find_spec("heedml")  # does not import it
    if package is None or package.origin is None:
        sys.exit(f"{name}: the package heedml is not installed")
    program = str(pathlib.Path(package.origin).parent / "bin" / name)
    os.execv(program, [program, *sys.argv[1:]])


def train() -> None:
    """Runs heed-train."""
    _start("heed-train")


def inspect() -> None:
    """Runs heed-inspect."""
    _start("heed-inspect")
