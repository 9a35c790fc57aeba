"""Writes docs/reference/python.md, the reference of heedml, from its stubs and sources: python3 docs/python_api.py BUILD/python/heedml.
tests/python/test_types.py checks that the page is current.
"""

import ast
import pathlib
import re
import sys

PAGE = pathlib.Path(__file__).resolve().parent / "reference/python.md"
BEGINNING = """# heedml

The classes and functions of the Python package, with their types. [Use heed from Python](../how-to/python.md) shows how they work
together. Most functions of a tensor `x` are also methods: `heedml.sum(x, 1)` is `x.sum(1)`. Shapes stand in brackets: (B, T, d).
`Path` is a str, bytes or an os.PathLike, `Row` a dict, and `Progress` a function of a name, the share that is done, and
seconds. `PairsOf` is a Path, a Pairs, or dicts like its rows.

`docs/python_api.py` writes this page from the docstrings.
"""
# The sections, and the modules that each describes.
SECTIONS = {
    "Models and runs": ("models", "training", "configs", "page", "logs"),
    "Interventions": ("interventions",),
    "Results": ("traces", "studies", "classes", "pairs"),
    "Gradients, optimisers and files": ("functions", "derivatives"),
    "Data": ("data",),
    "Tensors and layers": ("_core",),
    "Errors": ("errors",),
}


def paragraphs(node):
    """Returns the paragraphs of a docstring: the first on one line, and code with its indentation."""
    text = ast.get_docstring(node, clean=False) or ""
    margin = " " * node.body[0].col_offset
    lines = [line.removeprefix(margin).rstrip() for line in text.strip().splitlines()]
    first, *rest = re.split(r"\n\n+", "\n".join(lines))
    return [" ".join(first.split()), *rest]


def type_text(node):
    text = re.sub(r"\b(typing|collections\.abc|numpy\.typing|numpy|_core|studies)\.", "", ast.unparse(node))
    return text.replace("| None | None", "| None")


def arguments_text(arguments):
    """Returns arguments without self: x: Tensor, axis: int = -1."""
    def one(argument, default=None):
        text = argument.arg + (f": {type_text(argument.annotation)}" if argument.annotation else "")
        return text + (f" = {ast.unparse(default)}" if default is not None else "")

    given = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(given) - len(arguments.defaults)) + arguments.defaults
    texts = [one(argument, default) for argument, default in zip(given, defaults) if argument.arg != "self"]
    if arguments.vararg:
        texts.append("*" + one(arguments.vararg))
    elif arguments.kwonlyargs:
        texts.append("*")
    texts += [one(argument, default) for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults)]
    return ", ".join([*texts, *(["**" + one(arguments.kwarg)] if arguments.kwarg else [])])


def decorators(node):
    return {ast.unparse(one).split(".")[-1] for one in node.decorator_list}


def declaration(node, name):
    returns = type_text(node.returns) if node.returns and node.name != "__init__" else ""
    if "property" in decorators(node):
        return f"{name}: {returns}"
    return f"{name}({arguments_text(node.args)})" + (f" -> {returns}" if returns else "")


def table(rows):
    def cell(text):
        return text.replace("|", "\\|").replace("\n", " ")

    return "\n".join(["| | |", "|---|---|", *(f"| {cell(left)} | {cell(right)} |" for left, right in rows)])


def functions_of(nodes):
    """Returns rows of a table, one for each function or property. Overloads share a row, with the first text."""
    shown, texts = {}, {}
    for node in nodes:
        if not isinstance(node, ast.FunctionDef) or "setter" in decorators(node) or (node.name[0] == "_" and node.name != "__call__"):
            continue
        texts[node.name] = texts.get(node.name) or paragraphs(node)[0]
        if "overload" in decorators(node) or not shown.get(node.name):
            shown.setdefault(node.name, []).append(f"`{declaration(node, node.name)}`")
    return [(" <br> ".join(shown[name]), text) for name, text in texts.items()]


def fields_of(body):
    """Returns rows for the fields of a dataclass, and for the attributes that a constructor sets with their types."""
    inits = [node for node in body if isinstance(node, ast.FunctionDef) and node.name == "__init__"]
    for node in [*body, *(line for init in inits for line in init.body)]:
        if isinstance(node, ast.AnnAssign):
            name = node.target.attr if isinstance(node.target, ast.Attribute) else node.target.id
            if name[0] != "_":
                yield (f"`{name}: {type_text(node.annotation)}`", "")


def class_text(name, nodes):
    """Returns the part about a class, whose members come from `nodes`: the class, and its private bases."""
    first, *rest = paragraphs(nodes[0])
    bases = [ast.unparse(base) for base in nodes[0].bases]
    parts = [f"### {name}", first + (" A `Result`." if "Result" in bases else "")]
    for text in rest:
        is_code = all(line.startswith("    ") for line in text.splitlines() if line)
        parts.append("```python\n" + re.sub(r"^ {4}", "", text, flags=re.MULTILINE) + "\n```" if is_code else text)
    rows = []
    for node in nodes:
        inits = [one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"]
        if not rows and inits and "Exception" not in bases:
            rows.append((" <br> ".join(f"`{declaration(one, name)}`" for one in inits), paragraphs(inits[0])[0]))
        rows += [*fields_of(node.body), *functions_of(node.body)]
    return "\n\n".join([*parts, table(rows)] if rows else parts)


def page(package):
    """Returns the text of the page. `package` is the directory of heedml with its stubs."""
    trees = {path.stem: ast.parse(path.read_text(encoding="utf-8")) for path in [package / "_core.pyi", *sorted(package.glob("*.py"))]}
    public = {alias.asname or alias.name for node in trees["__init__"].body if isinstance(node, ast.ImportFrom) for alias in node.names}
    public |= {node.name for node in trees["_core"].body if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name[0] != "_"}
    hidden = {node.name: node for node in trees["_core"].body if isinstance(node, ast.ClassDef) and node.name.startswith("_")}
    parts = [BEGINNING]
    for title, stems in SECTIONS.items():
        nodes = [node for stem in stems for node in trees[stem].body
                 if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name in public]
        rows = sorted(functions_of(nodes))
        parts += [f"## {title}", *([table(rows)] if rows else [])]
        for node in sorted((one for one in nodes if isinstance(one, ast.ClassDef)), key=lambda one: one.name):
            bases = [ast.unparse(base).split(".")[-1] for base in node.bases]
            parts.append(class_text(node.name, [node, *(hidden[base] for base in bases if base in hidden)]))
    return "\n\n".join(part.strip() for part in parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(pathlib.Path(sys.argv[1])), encoding="utf-8")
