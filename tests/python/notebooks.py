"""notebooks.py [--write] [NAME...]: runs the notebooks of docs/notebooks with these names, or all, and fails at the first error. --write
keeps their output in the tree."""

import pathlib
import sys
import time

import nbclient
import nbformat

DIRECTORY = pathlib.Path(__file__).resolve().parents[2] / "docs/notebooks"

names = [name for name in sys.argv[1:] if name != "--write"]
for path in [DIRECTORY / f"{name}.ipynb" for name in names] or sorted(DIRECTORY.glob("*.ipynb")):
    begun, notebook = time.monotonic(), nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(DIRECTORY)}}).execute()
    print(f"{path.name}: {time.monotonic() - begun:.1f} s", flush=True)
    if "--write" in sys.argv:
        for cell in notebook.cells:
            cell.metadata.pop("execution", None)
        nbformat.write(notebook, path)
