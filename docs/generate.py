"""generate.py BUILD SOURCE: makes the directory that Sphinx reads.

Copies the pages, the files that they link to, and the documents of the tree's root. Writes the reference of both programs and of the
configuration from their help texts, and the table of derivatives from the library, so that these pages cannot differ from the programs.
"""

import base64
import json
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGES = ["CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "bench/NOTES.md"]
GENERATED = ["docs/reference/train.md", "docs/reference/inspect.md", "docs/reference/configuration.md", "docs/reference/derivatives.md"]
NOTEBOOKS = [p.relative_to(ROOT).with_suffix(".md").as_posix() for p in sorted((ROOT / "docs/notebooks").glob("*.ipynb"))]
PARTS = ["docs/*.md", "docs/*.png", "docs/*.svg", "docs/conf.py", "docs/_static/*", "docs/tutorial/*", "docs/how-to/*",
         "docs/reference/**/*", "docs/notebooks/*", "docs/explanation/*", "learn/*.md"]
ANSWERS = {"train": """## Exit codes

| code | meaning |
|---|---|
| 0 | the run is complete |
| 1 | an error: a file, a configuration, memory, or a loss that is not finite |
| 2 | the command line is wrong |
| 128 + N | signal N ended the run after it saved a checkpoint; `--resume` continues it |
""", "inspect": """## Exit codes

| code | meaning |
|---|---|
| 0 | everything was printed or written |
| 1 | an error: a file that is missing, damaged or of another kind |
| 2 | the command line is wrong |
| 128 + N | signal N ended the program |
"""}
ENVIRONMENT = """
## Environment

| variable | effect |
|---|---|
| `OMP_NUM_THREADS` | default number of threads |
| `HEED_OPENBLAS` | the file of OpenBLAS to load; `none`: own kernels compute all products |
| `HEED_WITHOUT` | instructions that heed does not use, separated by commas: `amx_bf16`, `avx512_bf16`, `avx512_vnni`, `avx2`. The last applies to products of blocks alone |
| `OPENBLAS_CORETYPE` | the kernels that OpenBLAS uses, instead of those for this processor |
"""


def help_of(program, *arguments):
    done = subprocess.run([str(program), *arguments], capture_output=True, text=True, check=True)
    return done.stdout


def options(text):
    """Returns (option, meaning) for each option of a help text; a list in one column becomes one sentence."""
    found = []
    for line in text.splitlines():
        option = re.match(r" {2,6}(-\S.*?)(?:  +(\S.*))?$", line)
        if option:
            found.append([option[1], option[2] or ""])
        elif found and re.match(r" {8,}\S", line):
            found[-1][1] += " " + line.strip()
    return found


def cell(text):
    text = re.sub(r"\s+", " ", text).strip()
    return re.sub(r"([<>|*_$])", r"\\\1", text[:1].upper() + text[1:])


def option_table(text):
    rows = [f"| `{option}` | {cell(meaning)} |" for option, meaning in options(text)]
    return "\n".join(["| option | meaning |", "|---|---|", *rows]) if rows else ""


def before_options(text):
    """Returns the prose and the usage lines that come before the first option."""
    return re.split(r"^ {2,6}--", text, maxsplit=1, flags=re.M)[0].rstrip()


def usage_block(text):
    return f"```text\n{before_options(text)}\n```"


def commands_of(text):
    """Returns the subcommands that a help text lists, each on a line of its own, two spaces in."""
    return re.findall(r"^  ([a-z]+)  +\S", text, re.M)


def program_page(name, program):
    text = help_of(program, "--help")
    page = [f"# {name}", f"The text of `{name} --help`. The installed program is called `heed-{name}`.", usage_block(text),
            option_table(text)]
    for command in ["RUN", *commands_of(text)] if commands_of(text) else []:
        own = help_of(program, command, "--help")
        page += [f"## {name} {command}", usage_block(own), option_table(own), *(f"Example: `{e}`" for e in re.findall(r"^Example: (.*)", own, re.M))]
    return "\n\n".join(part for part in [*page, ANSWERS[name] + ENVIRONMENT] if part) + "\n"


def keys(text):
    """Returns (section, key, default, meaning, values) for each key of train --help-config."""
    found, section = [], ""
    for line in text.splitlines():
        key = re.match(r"( *)(\w+):(?: +(.*?))?(?: *# (.*))?$", line)
        if key and key[3] is None and key[4] is None:
            section = key[2]
        elif key:
            found.append([section if key[1] else "", key[2], key[3] or "", key[4] or ""])
        elif found:
            found[-1][3] += " " + line.strip().lstrip("# ")
    for entry in found:
        values = re.search(r"\s*\(([^()]*)\)$", entry[3])
        meaning = entry[3][:values.start()] if values else entry[3]
        yield entry[0], entry[1], entry[2], meaning, values[1] if values else ""


def configuration_page(train):
    page = ["# Configuration", "Every key, as `train --help-config` prints it: the default, the meaning, and the values or the range. A "
            "configuration is a YAML file with these sections. `--set section.key=VALUE` overrides one key.\n\n"
            "`train --resume` accepts other values for some keys, which [train](train.md) lists."]
    sections = {}
    for section, key, default, meaning, values in keys(help_of(train, "--help-config")):
        default = f"`{default}`" if default else ""
        values = cell(values)[:1].lower() + cell(values)[1:]
        sections.setdefault(section, []).append(f"| `{key}` | {default} | {cell(meaning)} | {values} |")
    for section, rows in sections.items():
        page += [f"## {section}" if section else "## Top level",
                 "\n".join(["| key | default | meaning | values |", "|---|---|---|---|", *rows])]
    return "\n\n".join(page) + "\n"


def copy(path, source):
    target = source / path
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, target)


def copy_linked(source):
    """Copies the files of the tree that a page links to."""
    for page in sorted(source.rglob("*.md")):
        for link in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
            file = (ROOT / page.relative_to(source)).parent / link
            if not link.startswith("http") and file.is_file() and ROOT in file.resolve().parents:
                copy(file.resolve().relative_to(ROOT), source)


def output_of_cell(output, picture):
    """Returns an output of a notebook as Markdown. Writes a picture to the file `picture`."""
    data = output.get("data", {})
    if "image/png" in data:
        picture.write_bytes(base64.b64decode(data["image/png"]))
        return f"![output]({picture.name})"
    html = "".join(data.get("text/html", []))
    if "<iframe" in html:
        return f"````{{raw}} html\n{html}\n````"
    text = "".join(output.get("text", data.get("text/plain", []))).rstrip()
    return f"```text\n{text}\n```" if text else ""


def write_notebook(path):
    """Writes the page of a notebook beside its copy."""
    parts = []
    for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
        parts += [output_of_cell(output, path.with_name(f"{path.stem}-{number}.png")) for output in cell.get("outputs", [])]
    path.with_suffix(".md").write_text("\n\n".join(part for part in parts if part) + "\n", encoding="utf-8")


def main():
    build, source = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    shutil.rmtree(source, ignore_errors=True)
    for path in PAGES:
        copy(path, source)
    for part in PARTS:
        for file in sorted(ROOT.glob(part)):
            if file.is_file():
                copy(file.relative_to(ROOT), source)
    for notebook in sorted((source / "docs/notebooks").glob("*.ipynb")):
        write_notebook(notebook)
    copy_linked(source)
    for page in source.glob("docs/**/*.md"):
        text = page.read_text(encoding="utf-8")
        page.write_text(re.sub(r"(\]\([\w/.-]+)\.ipynb\)", r"\1.md)", text), encoding="utf-8")
    texts = [program_page("train", build / "train"), program_page("inspect", build / "inspect"), configuration_page(build / "train"),
             help_of(build / "derivatives")]
    for path, text in zip(GENERATED, texts):
        (source / path).write_text(text, encoding="utf-8")
    extra = source / "docs/extra"
    extra.mkdir()
    (extra / "index.html").write_text('<!doctype html>\n<meta charset="utf-8">\n<title>heed</title>\n'
                                      '<meta http-equiv="refresh" content="0; url=docs/index.html">\n'
                                      '<a href="docs/index.html">heed</a>\n', encoding="utf-8")


if __name__ == "__main__":
    main()
