"""names.py BUILD: checks that the documents name existing files, headings, options, keys, values, presets, arguments of
setup.sh, functions and packages, and that both languages show the same figures."""

import pathlib
import re
import sys

from documents import (CONFIGURATIONS, DOCUMENTS, ROOT, SOURCES, blocks, code, comments, finish, output_of, paragraphs,
                       plain, read, wrong)

sys.path.append(str(ROOT / "docs"))
from generate import GENERATED, NOTEBOOKS  # noqa: E402  pages that exist in the built site alone

BUILD = pathlib.Path(sys.argv[1]).resolve()
OF_A_USER = re.compile(r"(\.venv|sentence-transformers|OWNER|runs|RUN|DIR|(?:\./)?build[a-z0-9-]*|mine|heed|attention|models|en)/|[/~$<]|\./heed_")  # not files of the tree
OF_CMAKE = {"--workflow", "--preset", "--install", "--prefix", "--build", "--target"}
INVENTED = re.compile(r"NAME|colours|softsign|stop_at_loss|entropy")  # names that CONTRIBUTING.md invents as examples
NO_KEYS = re.compile(r"\.(safetensors|jsonl|json|yaml|js|h|cpp|py|tsv)\b|^data\.split$|state_dict")  # files, an old name of a key, PyTorch


def read_help():
    """The keys of a configuration, each with its values where these are names."""
    keys, section = {}, ""
    text = output_of(BUILD / "train", "--help-config")
    for match in re.finditer(r"^( *)([a-z_0-9A-Z]+):(.*\n(?: +#.*\n| +\(.*\n| {20}.*\n)*)", text, re.M):
        indent, word, rest = match.groups()
        if not indent:
            section = word
            continue
        values = re.search(r"\(([^()]+)\)\s*$", rest)
        names = re.split(r",\s+(?:#\s*)?", values[1]) if values else []
        keys[f"{section}.{word}"] = names if len(names) > 1 else []
    return keys


KEYS = read_help()
COMMANDS = re.findall(r"^  ([a-z]+) ", output_of(BUILD / "inspect", "--help"), re.M)
HELP = [output_of(BUILD / "train", "--help"), output_of(BUILD / "inspect", "--help"),
        output_of(BUILD / "inspect", "runs/toy", "--help"),
        *(output_of(BUILD / "inspect", command, "--help") for command in COMMANDS)]
OPTIONS = OF_CMAKE | set(re.findall(r"--[a-z][a-z-]+", "".join(HELP)))
OPTIONS |= {"--" + name for name in re.findall(r'^ *\("([a-z-]+)"', read("bench/bench.cpp"), re.M)}
PRESETS = set(re.findall(r'"name": "([a-z0-9]+)"', read("CMakePresets.json")))
OF_SETUP = set(re.findall(r"[a-z]+", " ".join(re.findall(r"^  ([a-z| ]+)\)", read("setup.sh"), re.M))))
ALL = {p.relative_to(ROOT).as_posix() for folder in SOURCES + ["cmake", "docs"] for p in (ROOT / folder).rglob("*")}
ALL |= {p.name for p in ROOT.iterdir()} | {".ci/run", *GENERATED, *NOTEBOOKS}
STRINGS = re.sub(r'"\s*\n\s*"', "", "".join(read(p) for p in ALL if re.search(r"^(setup\.sh|(?!tests|bench).*\.cpp)$", p)))
OF_GLIBC = "CPU ISA level is lower than required"
WORDS = set(re.findall(r"\w+", " ".join(read(p) for p in ALL if re.search(r"\.(h|cpp|py|sh)$", p))))


def is_there(path):
    if OF_A_USER.match(path):
        return True
    if path.endswith("/"):
        return any(("/" + name).endswith("/" + path[:-1]) for name in ALL)
    return path.removeprefix("./") in ALL or "*" in path and any(ROOT.glob(path))


def check_code(place, piece):
    for path in re.findall(r"(?:^|(?<=[ (]))[\w.*/~$-]+/[\w.*/-]*", piece):
        if not is_there(path):
            wrong(place, f"expected a file of the tree, found '{path}'")
    is_ours = re.match(r"(--|build/|\./setup|cmake |ctest |heed-|train|inspect|(build/)?bench)", piece)
    for option in re.findall(r"(?:^|(?<= ))--[a-z][a-z-]+", piece) if is_ours else []:
        if option not in OPTIONS and not place.startswith("CHANGELOG.md"):  # it also names former options
            wrong(place, f"expected an option of a program, found '{option}'")
    for key, value in re.findall(r"(?<![\w/.])((?:data|model|optim|train|dump)\.\w+(?:\.\w+)?)\b(?!\()(?:(?:=|: )(\w+))?", piece):  # a name before ( is a method
        if NO_KEYS.search(key):
            continue
        if key not in KEYS:
            wrong(place, f"expected a key of train --help-config, found '{key}'")
        elif value and KEYS[key] and value not in KEYS[key]:
            wrong(place, f"{key} is one of {', '.join(KEYS[key])}, not '{value}'")
    for name in re.findall(r"--preset ([a-z0-9]+)", piece):
        if name not in PRESETS:
            wrong(place, f"expected a preset of CMakePresets.json, found '{name}'")
    for name in re.findall(r"setup\.sh ([a-z]+)", piece):
        if name not in OF_SETUP:
            wrong(place, f"expected an argument of setup.sh, found '{name}'")
    function = re.fullmatch(r"(?!F\.|torch\.)(?:\w+(?:::|\.))?([a-z_]+)\([^)]*\)", piece)  # not those of PyTorch
    if function and function[1] not in WORDS:
        wrong(place, f"expected a function of the sources, found '{function[1]}'")


def check_messages(path):
    """Checks that the sources have the messages that a page quotes: in the first column of a table, or at the start of an item."""
    for line, text in paragraphs(path):
        column = text.split("|")[1] if "troubleshoot" in path and text.startswith("|") else ""
        for message in re.findall(r"`([^`]+)`", column) + re.findall(r"^- \*\*[`\"]([^`\"]+)[`\"]\*\*", text):
            for part in re.split(r"\d[\d.]*|\b(?:N|DIR)\b|\.\.\.|: ", message):
                if len(part) > 10 and part.strip() not in STRINGS + OF_GLIBC:
                    wrong(f"{path}:{line}", f"no program prints '{part.strip()}'")


def slugs(path):
    """Returns the anchors of the headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)", read(path), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def check_links(path):
    for line, text in paragraphs(path):
        for link in re.findall(r"\]\(([^) ]+)\)", text):
            if re.match(r"https?:", link):
                continue
            target, _, anchor = link.partition("#")
            file = (ROOT / path).parent / target if target else ROOT / path
            if not file.exists():
                wrong(f"{path}:{line}", f"a link leads to '{target}', which is not there")
            elif anchor and anchor not in slugs(file):
                wrong(f"{path}:{line}", f"expected a heading of '{target or path}', found '{anchor}'")


def check_translation(chinese):
    """Checks that the English page has each line of output, and each number with a point or at least three digits, and that the
    Chinese page uses the words that the other pages use."""
    for line, text in paragraphs(chinese):
        for other, word in {"正确率": "准确率", "印出": "打印", "品质": "性质", "丢弃": "dropout", "片段": "子词"}.items():
            if other in text:
                wrong(f"{chinese}:{line}", f"expected {word}, found {other}")
    english = chinese.replace(".zh-CN", "")
    theirs = plain(read(english))
    for line, text in blocks(chinese, ""):
        if re.search(r"\d", text) and text.isascii() and text not in read(english):
            wrong(f"{chinese}:{line}", f"an output that {english} does not have: {text}")
    for line, text in paragraphs(chinese):
        for number in re.findall(r"(?<![\d.])(?:\d+\.\d+|\d{3,})(?![\d.]|\s*[亿万])", plain(text)):
            if not re.search(rf"(?<![\d.]){re.escape(number)}(?!\d)", theirs):
                wrong(f"{chinese}:{line}", f"a figure that {english} does not have: {number}")


for document in DOCUMENTS:
    check_links(document)
    check_messages(document)
    for line, piece in code(document) if document != "CHANGELOG.md" else []:  # it names former files
        if not INVENTED.search(piece):
            check_code(f"{document}:{line}", piece)
    if ".zh-CN" in document:
        check_translation(document)
for configuration in CONFIGURATIONS:
    for line, comment in comments(configuration):
        check_code(f"{configuration}:{line}", " ".join(re.findall(r"--[a-z][a-z-]+|(?:docs|examples)/[\w.-]*\w", comment)))

# Both glossaries have the same terms.
glossaries = [{tuple(re.split(r"\s*\|\s*", line)[1:3][::order]) for line in read(page).splitlines() if line.startswith("| ")}
              for page, order in (("docs/explanation/glossary.md", 1), ("docs/explanation/glossary.zh-CN.md", -1))]
for english, chinese in sorted(glossaries[0] ^ glossaries[1]):
    if english not in ("term", "英文"):
        wrong("docs/explanation/glossary.zh-CN.md", f"'{english}' or '{chinese}' is in one glossary alone")

# Every example is in the table of the tutorials, every page in a toctree, every file that a run writes in the reference.
table = "".join(re.findall(r"^\| .*\n", read("docs/tutorial/index.md"), re.M))
for example in CONFIGURATIONS + sorted(p.relative_to(ROOT).as_posix() for p in (ROOT / "examples").glob("*.cpp")):
    if f"`{example}`" not in table:
        wrong("docs/tutorial/index.md", f"its table is without {example}")
listed = {"docs/index.md", "README.md", "README.zh-CN.md"}
listed |= {page for page in DOCUMENTS if page.startswith("learn/") and ":glob:" in read("learn/README.md")}
for page in [p for p in DOCUMENTS if p.endswith(("index.md", "index.zh-CN.md"))]:
    for name in re.findall(r"^(/?[\w./-]+)$", "\n".join(line for _, line in blocks(page, "{toctree}")), re.M):
        listed.add((f"{name[1:]}" if name[0] == "/" else f"{pathlib.PurePath(page).parent}/{name}") + ".md")
for page in sorted({*DOCUMENTS, *GENERATED, *NOTEBOOKS} ^ listed):
    wrong(page, "this page is missing in all toctrees" if page in DOCUMENTS else "a toctree lists this page, which does not exist")
shown = {header for page in DOCUMENTS for header in re.findall(r"^```\{doxygenfile\} (\S+)$", read(page), re.M)}
installed = {p for p in ALL if re.fullmatch(r"(autograd(/gradcheck)?|files|nn|optim|data(/tasks)?|tokenizers|models|formats(/datasets)?|distributed|explain(/studies)?|run)/\w+\.h", p)}
for header in sorted(installed - shown):
    wrong("docs/reference/cpp", f"no page shows {header}")
for header in sorted(shown - ALL):
    wrong("docs/reference/cpp", f"expected a header of the tree, found '{header}'")
for source in sorted(p for p in ALL if re.fullmatch(r"(run|train)/\w+\.cpp", p)):
    for name in re.findall(r'"(\w+\.(?:yaml|jsonl|safetensors|json))"', read(source)):
        if name not in read("docs/reference/run-directory.md"):
            wrong("docs/reference/run-directory.md", f"it does not name {name}, which a run may hold ({source})")

# docs/how-to/packages.md installs the libraries of setup.sh for the other processor; the tools run on this one.
packages = set(" ".join(re.findall(r"^(?:core|packages)=\(([^)]+)\)", read("setup.sh"), re.M)).split()) - {'"${core[@]}"'}
for package in packages - {"g++", "cmake", "ninja-build", "pkg-config", "python3"}:
    if package.replace("openblas-dev", "openblas-pthread-dev") not in read("docs/how-to/packages.md"):
        wrong("docs/how-to/packages.md", f"the sysroot is without {package}")

finish(f"{len(DOCUMENTS)} documents")
