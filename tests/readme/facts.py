"""facts.py BUILD: compares figures in the documents with the sources that decide them."""

import pathlib
import re
import subprocess
import sys
import tempfile

from documents import CONFIGURATIONS, DOCUMENTS, ROOT, blocks, comments, finish, output_of, paragraphs, plain, read, wrong

BUILD = pathlib.Path(sys.argv[1]).resolve()
TEXTS = [(f"{path}:{line}", plain(text)) for path in DOCUMENTS for line, text in paragraphs(path) + blocks(path)]
TEXTS += [(path, plain(" ".join(text for _, text in comments(path)))) for path in CONFIGURATIONS]


def source(path, pattern):
    """Returns the group or groups of `pattern`, which must occur once in the file."""
    found = re.findall(pattern, read(path))
    if len(found) != 1:
        sys.exit(f"facts.py: expected '{pattern}' once in {path}, found it {len(found)} times: has the source changed?")
    return found[0]


def fact(value, *patterns):
    """Checks that each pattern occurs in a document and that its group is `value` everywhere. Numbers lose their commas."""
    for pattern in patterns:
        found = [(place, match) for place, text in TEXTS for match in re.findall(pattern, text)]
        for place, match in found:
            if match != str(value):
                wrong(place, f"expected {value}, found {match} ({pattern})")
        if not found:
            wrong("tests/readme/facts.py", f"no document says '{pattern}': it is {value}; change or drop this fact")


def settings(path, *overrides):
    """Returns the resolved configuration, {"model.layers": "2"}, and the lines of --dry-run about its size."""
    text = output_of(BUILD / "train", "--config", path, "--dry-run", *(a for o in overrides for a in ("--set", o)))
    keys, section = {}, ""
    for indent, word, value in re.findall(r"^( *)(\w+):(?: +(\S.*))?$", text, re.M):
        section = word if not indent else section
        keys[f"{section}.{word}" if indent else word] = value.strip('"')
    return keys, plain(" ".join(re.findall(r"^# *(.*)", text, re.M)))


# Versions and the changelog.
version = ".".join(re.findall(r"#define HEED_VERSION_\w+ (\d+)", read("version.h")))
fact(version, r"^heed (\d\S+) \(", r"heed_(\d[^\s-]+)-debian\d+_amd64\.deb")
fact(version.rpartition(".")[0], r"find_package\(heed ([\d.]+)")
headings = re.findall(r"^## (.+)", read("CHANGELOG.md"), re.M)
if headings[0] != "Unreleased" or not re.fullmatch(re.escape(version) + r" - \d{4}-\d\d-\d\d", headings[1]):
    wrong("CHANGELOG.md", f"expected '## Unreleased', then '## {version} - DATE', found {headings[:2]}")
for kind in set(re.findall(r"^### (.+)", read("CHANGELOG.md"), re.M)):
    if kind not in ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"):
        wrong("CHANGELOG.md", f"Keep a Changelog knows no section '{kind}'")

# The page, messages, configurations.
fact(source("inspect/page/page_model.h", r"page_model_bytes = (\d+) << 20"), r"up to (\d+) MiB of parameters", r"参数不超过 (\d+) MiB")
fact(source("inspect/page/page_run.h", r"_page_bytes = (\d+) << 20"), r"over (\d+) MiB\)")
fact(source("inspect/page/page_run.h", r"page_bytes_with_models = (\d+)'000'000"), r"page below (\d+) MB")
fact(source("files/text_file.h", r"_listed = (\d+)"), r"the first (\d+), and how many", r"前 (\d+) 个，以及还有多少")
fact((1 << int(source("train/config/yaml.cpp", r"max_bytes = 1 << (\d+)"))) >> 10, r"YAML of at most (\d+) KiB")
fact(source("train/config/yaml.cpp", r"deepest = (\d+)"), r"KiB and (\d+) levels")

# Families of pretrained models.
fact(len(re.findall(r"\w+_family\(\)", source("formats/hugging_face/family.cpp", r"(?s)of_decoders\(\s+\{(.*?)\}\);"))),
     r"pretrained models of \[(\d+) families\]")

# How the library computes.
fact(source("autograd/cpu/thread_pool.cpp", r"microseconds\((\d+)\)"), r"looks for work for (\d+) microseconds")
fact(source("autograd/cpu/memory.cpp", r"if \(bytes <= (\d+)\)"), r"from (\d+) bytes on")
huge_page = 1 << int(source("autograd/cpu/memory.cpp", r"huge_page = [^<]*<< (\d+)"))
fact(huge_page >> 20, r"pages of (\d+) MB")
fact(huge_page * int(source("autograd/cpu/memory.cpp", r">= (\d+) \* huge_page")) >> 20, r"blocks of (\d+) MB and more")
fact(source("autograd/cpu/sums.h", r"n % 16, i \+ (\d+)\)"), r"into a double every (\d+) values")
fact((1 << int(source("autograd/cpu/stream.h", r"cached_bytes = [^<]*<< (\d+)"))) >> 20, r"ensors of more than (\d+) MB")
fewest, largest = source("autograd/cpu/blas.cpp", r"n >= (\d+) && std::min\(\{m, n, k\}\) < (\d+)")
fact(fewest, r"fewer than (\d+) columns")
fact(largest, r"all three sizes are (\d+) or more")
avx512, avx2, neon = source("autograd/cpu/micro_kernel.h", r"MR = \D*64 \? (\d+) : \D*32 \? (\d+) : (\d+);")
fact(avx512, r"\b(1\d) x 32\b")
fact(avx2, r"locks of (\d+) x 16 in registers")
fact(neon, r"blocks of (\d+) rows in NEON")
queries = int(source("autograd/cpu/attention_operands.h", r"band_rows = (\d+) / MR")) // int(avx512) * int(avx512)
fact(2 * queries, r"have (\d+) queries there where no band")
fact(queries, r"and (\d+) where one does: larger")

# How it is tested and measured.
fact(source("tests/autograd/operation_test.cpp", r"blind = passes\(sample, plain, (\S+)\)"),
     r"(?<!autograd )gradient scaled by (\d\.\d+)")
fact(round(100 * (float(source("tests/autograd/operation_test.cpp", r"blind = passes\(sample, plain, (\S+)\)")) - 1)),
     r"a gradient that is (\d+) % too large", r"梯度大了 (\d+) %")
vector_math = "tests/autograd/cpu/vector_math_test.cpp"
fact(source(vector_math, r"float exp and tanh are accurate to (\S+) ulp"), r"exp and tanh to (\S+) units")
fact(source(vector_math, r"Phi, exact, -1, infinity\) < (\d+)"), r"distribution to (\d+) above -1")
fact(source(vector_math, r"Phi, exact, -13, -1\) < (\d+)"), r"above -1 and to (\d+) below")
fact(source("cmake/tests.cmake", r"heed_train> (\d{3})\)"), r"`kill-test` \((\d+) times", r"kill (\d+) times")
fact(source("cmake/tests.cmake", r"random_graphs> (\d+)\)"), r"`differential-test` \((\d+) random graphs")
fact(source("tests/differential/random_graphs.py", r"sys\.argv\[2\]\) if .* else (\d+)"), r"then (\d+) of them are a test")
fact(source("tests/fuzz/run.sh", r"max_total_time=\"\$\{FUZZ_SECONDS:-(\d+)"), r"\$FUZZ_SECONDS \((\d+)\)")
fact(source("bench/rows.h", r"tolerance = (\S+);"), r"losses differ by more than (\S+)")
fact(source("bench/measure.cpp", r"int steps = (\d+);"), r"in any of the first (\d+) steps")
fact({"5": "five"}.get(source("bench/peers/pytorch.py", r"range\((\d+) if len")), r"as well, (\w+) times each in turns")

# Sizes of the examples.
toy, size = settings("toy.yaml")
fact(source("toy.yaml", r"\nseed: (\d+)"), r"with seed (\d+) of `toy\.yaml`")
fact(re.search(r"(\d+) parameters", size)[1], r"2 heads each, d_model 64: (\d+) parameters")
fact(re.search(r"learn from, (.*? words)", size)[1], r"coreference: 4000 examples to learn from, (.*? words)")
fact(len(read("examples/mine.jsonl").splitlines()), r"its (\d+) sentences, `examples/mine", r"里的 (\d+) 个句子", r"(\d+) such sentences, a tenth")
# Seeds with and without the residual of the last layer: the table of causal-methods has Wilson's intervals, and others repeat its counts.
seeds = re.search(r"`toy\.yaml` with seeds 1 to (\d+)", read("docs/explanation/causal-methods.md"))[1]
counts = {}
for line, text in paragraphs("docs/explanation/causal-methods.md"):
    for column, (count, share, low, high) in enumerate(re.findall(r"(\d+): (\S+) % \((\S+) to (\S+)\) \|", text)):
        counts.setdefault(column, []).append(int(count))
        k, n, z2 = int(count), int(seeds), 1.959964 ** 2
        centre, half = (k + z2 / 2) / (n + z2), (z2 * (k * (n - k) / n + z2 / 4)) ** 0.5 / (n + z2)
        expected = tuple(f"{100 * x:.1f}" for x in (k / n, centre - half, centre + half))
        if (share, low, high) != expected:
            wrong(f"docs/explanation/causal-methods.md:{line}", f"{k} of {n}: expected {expected}, found {(share, low, high)}")
(points, alone, _, everywhere), (points_with, alone_with, _, everywhere_with) = counts[0], counts[1]
fact(points_with, rf"a head points in (\d+) of {seeds} seeds instead of \d+", rf"{seeds} 个种子里有头指向先行词的从 \d+ 个变为 (\d+) 个")
fact(points, rf"a head points in \d+ of {seeds} seeds instead of (\d+)", rf"{seeds} 个种子里有头指向先行词的从 (\d+) 个变为 \d+ 个")
fact(alone_with, r"its edge alone is the cause(?: of the answers)? in (\d+) instead of \d+", r"独自是答案原因的从 \d+ 个变为 (\d+) 个",
     rf"of the advantage over chance in (\d+) of {seeds} seeds,", r"it is in (\d+) of \d+; the edge in every head")
fact(alone, r"its edge alone is the cause(?: of the answers)? in \d+ instead of (\d+)", r"独自是答案原因的从 (\d+) 个变为 \d+ 个",
     rf"of the advantage over chance in \d+ of {seeds} seeds, with false in (\d+)", rf"pointing head alone is the cause in (\d+) of {seeds} seeds")
fact(everywhere_with, r"the edge is the cause in (\d+) seeds instead of \d+", rf"every head of every layer is in (\d+) of {seeds}")
fact(everywhere, r"the edge is the cause in \d+ seeds instead of (\d+)")

# The example programs.
programs = re.findall(r"`(\w+)\.cpp`", "".join(row for _, row in paragraphs("docs/tutorial/self-attention.md") if row[0] == "|"))
lengths = [read(f"examples/{name}.cpp").count("\n") for name in programs]
fact(min(lengths) // 5 * 5, r"programs are (\d+) to \d+ lines each", r"每个程序 (\d+) 到 \d+ 行")
fact(-(-max(lengths) // 5) * 5, r"programs are \d+ to (\d+) lines each", r"每个程序 \d+ 到 (\d+) 行")
period, context = source("data/tasks/induction.cpp", r"_period = (\d+)"), source("examples/induction.yaml", r"context: (\d+)")
fact(f"{period} to {int(context) // 2}", r"(\d+ to \d+) different signs")
fact(source("examples/shakespeare.yaml", r"context: (\d+)"), r"learns from contexts of (\d+) characters")


def passes(name, sentences):
    """Returns how often the training of an example goes through so many sentences or windows of text."""
    length, batch = source(f"examples/{name}.yaml", r"  steps: (\d+)"), source(f"examples/{name}.yaml", r"  batch_size: (\d+)")
    return int(length) * int(batch) / sentences


shakespeare = 0.9 * 1115394  # characters to learn from
fact(f"{passes('shakespeare', shakespeare / 256):.1f}", r"(\d\.\d) times through a text of a million")
fact(int(passes("gap", 2000) * 2) / 2, r"(\d\.\d) times through the 2000")
fact(round(passes("winogrande", 10234)), r"(\d+) times through the 10234")

with tempfile.TemporaryDirectory() as scratch:
    text = pathlib.Path(scratch) / "text"
    text.write_bytes(bytes(range(1, 128)) * 300)
    of_text = [f"data.train={text}", "data.tokens=bytes"]
    nanogpt, nanogpt_size = settings("examples/nanogpt.yaml", *of_text)
    _, shakespeare_size = settings("examples/shakespeare.yaml", *of_text)
    gpt2, gpt2_size = settings("examples/gpt2.yaml", *of_text)
    llama, _ = settings("examples/llama.yaml", *of_text)


def parameters(size, words, d_model):
    """Returns the number of parameters with `words` vectors in place of those of the 256 bytes."""
    return int(re.search(r"(\d+) parameters", size)[1]) + (words - 256) * d_model


fact(round(parameters(gpt2_size, 50257, 768) / 1e6), r"GPT-2's(?: shape)? (?:of )?(\d+) million", r"shape \(Radford et al\. 2019\), (\d+) million")
fact(round(parameters(nanogpt_size, 65, 128) / 1e6, 1), r"nanoGPT's (\S+) million", r"nanogpt\.yaml`, (\S+) million", r"CPU[:,] (\S+) million")
fact(round(parameters(shakespeare_size, 65, 112) / 1e6, 1), r"shakespeare\.yaml`, (\S+) million")
fact(nanogpt["optim.warmup"], r"warm-up takes (\d+) steps; nanoGPT's takes 100")
for key, value in {"model.bias": "false", "model.output_bias": "true", "optim.lr": "0.001", "optim.min_lr": "0.0001",
                   "optim.weight_decay": "0.1", "optim.beta2": "0.99", "train.steps": "2000", "train.batch_size": "12"}.items():
    if nanogpt[key] != value:
        wrong("examples/nanogpt.yaml", f"what it says of nanoGPT takes {key} for {value}, found {nanogpt[key]}")

# docs/explanation/decoder.md's table of a decoder's parts: an empty cell is toy.yaml's value, or 0.
for line, row in paragraphs("docs/explanation/decoder.md"):
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    for key in re.findall(r"`(model\.\w+)`", cells[0]) if row.startswith("|") else []:
        for name, keys, said in (("GPT-2", gpt2, cells[1]), ("LLaMA", llama, cells[2])):
            said = said.removeprefix("0.1; in nanoGPT ")  # examples/gpt2.yaml is trained as nanoGPT trains it
            fewer = said == "fewer" and 0 < int(keys[key]) < int(keys["model.heads"])
            usual = said == "" and keys[key] in (toy[key], "0")
            if not (fewer or usual or keys[key] == said):
                wrong(f"docs/explanation/decoder.md:{line}", f"{key} of {name}: expected '{keys[key]}' as in examples/, found '{said}'")

# CONTRIBUTING.md: the analyses contain no arithmetic of a block.
for path in sorted(p for folder in ("explain", "inspect/serve") for p in (ROOT / folder).rglob("*.cpp")):
    if "residual_scale" in path.read_text(encoding="utf-8"):
        wrong(path.relative_to(ROOT), "expected TransformerBlock::added_linearised(), found residual_scale")

# The list of global variables: those of a thread, and those of the process that are not constant.
listed = read("docs/explanation/architecture.md").split("## Global state")[1].split("\n## ")[0]
for path in sorted(p for folder in ("autograd", "nn") for p in (ROOT / folder).rglob("*.[ch]*")):
    text = path.read_text(encoding="utf-8")
    names = re.findall(r"^.*\bthread_local\b[^;={]*?(\w+)(?:\[\w+\])? *(?:[;={])", text, re.M)
    names += re.findall(r"^std::atomic<[^;]*?> (\w+) *[;={]", text, re.M)
    names += re.findall(r"^ +static (?:std::atomic<.*>|std::vector<.*>|(?:std::)?\w+\*?) (\w+) *[;={]", text, re.M)
    for name in names:
        if not re.search(rf"\|[^|]*`{name}`[^|]*{path.name}", listed):
            wrong("docs/explanation/architecture.md", f"its list of global variables is without {name} of {path.relative_to(ROOT)}")

# The list of tasks; the operation that is shown; exit codes; how far two ways of computing attention are apart.
tasks = re.search(r"task: [^(]*\(([^)]*)\)", re.sub(r"\n +# ", " ", output_of(BUILD / "train", "--help-config")))[1]
for task in re.findall(r"\w+", tasks):
    if not re.search(rf"`(tasks|datasets)/`.*\b{task}\b", read("docs/explanation/architecture.md")):
        wrong("docs/explanation/architecture.md", f"its rows of `tasks/` and `datasets/` have no task {task}")
shown = "\n".join(line for _, line in blocks("docs/explanation/architecture.md", "cpp"))
if shown.split("\nconst Recording")[0] not in read("autograd/exponentials.cpp"):
    wrong("docs/explanation/architecture.md", "its operation is not the one in autograd/exponentials.cpp")
for arguments, expected in ((["--no-such-option"], "2"), (["--config", "none.yaml"], "1")):
    code = subprocess.run([BUILD / "train", *arguments], capture_output=True, check=False).returncode
    fact(code, {"2": r"exit code (\d) for a command line", "1": r"for a command line, (\d) for all else"}[expected])
for example in ("multi_head", "d_k_and_masks"):
    apart = re.search(r"difference of the two ways: (\S+)", output_of(BUILD / f"examples/example_{example}"))[1]
    if float(apart) >= 1e-6:
        wrong("docs/tutorial/self-attention.md", f"the two ways of {example}.cpp differ by {apart}, not by less than 1e-6")

finish("figures of the sources")
