"""mypy --strict over the package and the notebooks."""

import json
import os
import pathlib
import subprocess
import sys

import heedml
import pytest

NOTEBOOKS = sorted((pathlib.Path(__file__).resolve().parents[2] / "docs/notebooks").glob("*.ipynb"))


def checked(tmp_path, *arguments):
    pytest.importorskip("mypy")
    environment = {**os.environ, "MYPYPATH": str(pathlib.Path(heedml.__file__).parents[1])}
    if "site-packages" in environment["MYPYPATH"]:
        del environment["MYPYPATH"]
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    return done.returncode, done.stdout + done.stderr


def test_the_package_and_the_notebooks_have_strict_types(tmp_path):
    for path in NOTEBOOKS:
        cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
        code = "\n\n".join("".join(cell["source"]) for cell in cells)
        (tmp_path / f"{path.stem.replace('-', '_')}.py").write_text(code + "\n", encoding="utf-8")
    (tmp_path / "mypy.ini").write_text("[mypy]\n[mypy-pandas.*,matplotlib.*]\nignore_missing_imports = True\nfollow_imports = skip\n")
    code, text = checked(tmp_path, "--config-file", "mypy.ini", *sorted(tmp_path.glob("*.py")))
    assert code == 0, text
    code, text = checked(tmp_path, "--config-file", "mypy.ini", "-p", "heedml")
    assert code == 0, text


def test_the_reference_on_the_site_is_current():
    root = pathlib.Path(__file__).resolve().parents[2]
    generator = {"__file__": str(root / "docs/python_api.py"), "__name__": "python_api"}
    exec((root / "docs/python_api.py").read_text(encoding="utf-8"), generator)
    package = pathlib.Path(heedml._core.__file__).parent
    package = package if (package / "models.py").exists() else pathlib.Path(heedml.__file__).parent
    assert (root / "docs/reference/python.md").read_text(encoding="utf-8") == generator["page"](package), (
        f"run python3 docs/python_api.py {package}")


def test_a_wrong_type_is_found(tmp_path):
    (tmp_path / "wrong.py").write_text("import heedml\nheedml.Linear(heedml.Scope(), '2', 3)\nx: int = heedml.ones(2).sum()\n")
    code, text = checked(tmp_path, "wrong.py")
    assert code == 1 and text.count("error:") == 2, text
