"""train and inspect as functions: their numbers are those of the programs, byte for byte."""

import json
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading

import heedml
import numpy
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SENTENCE = "The dog didn't cross the road because it was too tired"


def program(name):
    """Returns heed-train or heed-inspect: those of the wheel, or those that BUILD/python lies beside."""
    package = pathlib.Path(heedml.__file__).parent
    core = pathlib.Path(heedml._core.__file__).parent
    for place in (package / "bin", core / "bin", core.parent.parent):
        if (place / name).exists():
            return str(place / name)
    pytest.skip(f"{name} is not built")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "toy"
    steps = []
    model = heedml.train(ROOT / "toy.yaml", set={"train.steps": 60, "dump.weights": True, "dump.every": 30}, out=path, quiet=True,
                         on_step=lambda step, loss: steps.append(step))
    assert steps == list(range(1, 61)) and model.path == str(path)
    return path


@pytest.fixture(scope="module")
def model(run):
    return heedml.load(run)


def printed(*words):
    return subprocess.run([program("heed-inspect"), *map(str, words)], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("command, words, ask", [
    ("", ["--sentence", SENTENCE], lambda m: m.attention(SENTENCE)),
    ("", [], lambda m: m.attention()),
    ("causes", ["--limit", "40"], lambda m: m.causes(limit=40)),
    ("causes", ["--sentence", SENTENCE], lambda m: m.causes(SENTENCE)),
    ("why", ["--sentence", SENTENCE], lambda m: m.why(SENTENCE)),
    ("why", ["--answer", "--sentence", SENTENCE], lambda m: m.why_answer(SENTENCE)),
    ("circuit", ["--limit", "16", "--method", "eap", "--seed", "2"], lambda m: m.circuit(limit=16, method="eap", seed=2)),
    ("curves", ["--only", "loss"], lambda m: heedml.curves(m, only="loss")),
    ("history", ["--limit", "40"], lambda m: m.history(limit=40)),
    ("steps", ["--sentence", SENTENCE, "--layer", "2", "--head", "1"], lambda m: m.steps(SENTENCE, layer=1, head=0)),
    ("weights", [], lambda m: m.weights()),
    ("induction", [], lambda m: m.induction()),
], ids=lambda value: value if isinstance(value, str) else "")
def test_results_are_those_of_inspect_byte_for_byte(run, model, command, words, ask):
    result = ask(model)
    assert result.json == printed(*([command] if command else []), run, *words, "--json")
    assert result.rows() and "<table>" in result._repr_html_() and repr(result).startswith("heedml.")
    assert len(repr(result)) <= 100 and all(len(line) <= 80 for line in str(result).splitlines())


def test_circuits_are_compared_over_training_and_between_runs(run, model, tmp_path):
    options = ["--limit", "16", "--method", "eap", "--json"]
    other = shutil.copytree(run, tmp_path / "other")
    steps, runs = model.compare_circuits(limit=16, method="eap"), model.compare_circuits(other, limit=16, method="eap")
    assert steps.json == printed("circuit", run, "--over-training", *options) and runs.json == printed("circuit", run, other, *options)
    assert [one["step"] for one in steps.models] == [0, 30, 60] and isinstance(steps.rows(), list) and "<table>" in steps._repr_html_()
    assert model.circuit(limit=16, method="eap", without=["a", "b"]).json == printed("circuit", run, "--without", "a, b", *options)


def test_pairs_of_texts(model, tmp_path):
    words = [" " + word for word in "the cat dog tree house garden and book ring letter ball key phone ticket gift basket".split()]
    writer = heedml.Model(heedml.language_model(heedml.gpt2(2, 2, 16, max_length=32)), words)
    file = tmp_path / "writer.safetensors"
    writer.save(file)
    pairs = writer.pairs("induction", count=9, seed=3)
    assert pairs.jsonl == printed("pairs", file, "--task", "induction", "--count", "9", "--seed", "3")
    assert len(pairs) == 9 == len(pairs.rows()) and "clean" in pairs.rows()[0]
    pairs.save(tmp_path / "pairs.jsonl")
    for ask, command in ((writer.restored, "causes"), (writer.circuit, "circuit")):
        result = ask(pairs, limit=8)
        assert result.json == ask(tmp_path / "pairs.jsonl", limit=8).json == ask(pairs.rows(), limit=8).json
        assert result.json == printed(command, file, tmp_path / "pairs.jsonl", "--limit", "8", "--json")
    assert len(writer.restored(pairs, limit=8).rows()) > 8
    with pytest.raises(heedml.Error, match="not loaded from one; give it pairs"):
        writer.circuit()
    with pytest.raises(heedml.Error, match="expected one of ioi"):
        model.pairs("idioms")


def test_adapters_are_trained_exported_and_merged(run, tmp_path):
    model = heedml.load(run)
    before = model.attention(SENTENCE)
    model.adapt(["W_Q", "W_V"], rank=2)
    assert model.attention(SENTENCE).json == before.json     # B begins with 0
    names = [name for name, value in model.parameters.items() if not value.is_frozen]
    assert names and all(name.endswith((".lora_A", ".lora_B")) for name in names)
    for name in names:
        model.parameters[name].copy_from(numpy.full(model.parameters[name].shape, 0.3, "float32"))
    adapted = model.attention(SENTENCE).weights()
    assert not numpy.allclose(adapted, before.weights(), atol=1e-3)
    with pytest.raises(heedml.Error, match="has adapters"):
        model.adapt(["W_Q"])
    model.merge()
    assert not any(name.endswith(".lora_A") for name in model.parameters)
    numpy.testing.assert_allclose(model.attention(SENTENCE).weights(), adapted, atol=1e-5)
    with pytest.raises(heedml.Error, match="adapter"):
        model.export_adapter(tmp_path / "adapter")
    for layers in ("q_proj", ["q_proj"]):
        with pytest.raises(heedml.Error, match="no Linear has the name 'q_proj'"):
            model.adapt(layers)


def test_an_adapter_learns_and_is_kept(tmp_path):
    def writer():
        return heedml.Model(heedml.language_model(heedml.gpt2(2, 2, 32, max_length=16)), list("ab "), split="characters", seed=4)

    def losses(model, text, steps):
        adam, ids = heedml.Adam(model.parameters, lr=0.02), numpy.array([["ab ".index(letter) for letter in text]] * 4)
        for _ in range(steps):
            with heedml.Recording():
                loss = model.loss(heedml.Batch(ids[:, :-1], targets=ids[:, 1:]))
                adam.step(loss.backward())
            yield loss.item()

    model, ids = writer(), numpy.array([[0, 1, 1, 1, 0, 1]])
    assert list(losses(model, "ab" * 8, 40))[-1] < 0.1
    before = {name: value.numpy().copy() for name, value in model.parameters.items()}
    model.adapt(["W_Q", "W_V", "in"], rank=4, alpha=8, base="mine")
    first, *_, last = losses(model, "a" + "b" * 15, 60)
    assert last < 0.1 < 1 < first
    for name, value in before.items():
        assert numpy.array_equal(model.parameters[name].numpy(), value), name  # the base is frozen
    model.save(tmp_path / "adapted.safetensors")
    logits = model.logits(heedml.Batch(ids)).numpy()
    numpy.testing.assert_array_equal(heedml.load(tmp_path / "adapted.safetensors").logits(heedml.Batch(ids)).numpy(), logits)
    model.merge()
    numpy.testing.assert_allclose(model.logits(heedml.Batch(ids)).numpy(), logits, atol=1e-4)
    model.save(tmp_path / "merged.safetensors")
    assert heedml.load(tmp_path / "merged.safetensors").generate("a", 6, temperature=0).text == "bbbbbb"
    assert set(heedml.load(tmp_path / "merged.safetensors").parameters) == set(before)


def test_match_and_files(run, model, tmp_path):
    other = shutil.copytree(run, tmp_path / "other")
    assert model.match(other, limit=40).json == printed("match", run, other, "--limit", "40", "--json")
    held_out = run / "held_out.jsonl"
    assert model.evaluate(held_out).json == printed("evaluate", run, held_out, "--json")
    assert "whole" in model.verify()
    (damaged := tmp_path / "damaged").mkdir()
    shutil.copytree(run, damaged, dirs_exist_ok=True)
    (damaged / "model.safetensors").write_bytes(b"broken")
    with pytest.raises(heedml.Error, match="DAMAGED"):
        heedml.inspect("verify", damaged)


def test_a_trace_has_everything_that_the_weights_show(model):
    trace = model.trace(SENTENCE)
    weights = model.attention(SENTENCE).weights()
    assert trace["layers.1.weights"].shape == (1, 2, len(trace.tokens), len(trace.tokens)) and trace.tokens[trace.query] == "it"
    assert numpy.allclose(trace["layers.1.weights"][0], weights[1], atol=1e-6)
    assert numpy.allclose(trace["layers.0.residual_out"], trace["layers.1.residual_in"])
    with pytest.raises(heedml.Error, match="it has embedded"):
        trace["layers.7.q"]
    with pytest.raises(heedml.Error, match="knows"):
        model.trace("The xylophone didn't cross the road because it was too tired")


def test_tables_and_pictures(model):
    pandas = pytest.importorskip("pandas")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    for result in (model.attention(SENTENCE), model.causes(limit=40), model.causes(SENTENCE), model.why(SENTENCE), model.why_answer(SENTENCE),
                   model.circuit(limit=16, method="eap"), model.history(limit=40)):
        frame = result.to_pandas()
        assert isinstance(frame, pandas.DataFrame) and len(frame) == len(result.rows())
        assert result.plot().figure is not None
        pyplot.close("all")


def test_a_model_that_changed_is_asked_as_it_is_now(run):
    model = heedml.load(run)
    before = model.attention(SENTENCE)
    model.parameters["encoder.1.attention.W_Q.weight"].copy_from(numpy.zeros(model.parameters["encoder.1.attention.W_Q.weight"].shape))
    after = model.attention(SENTENCE).weights()
    assert not numpy.array_equal(before.weights(), after)
    n = after.shape[-1]
    assert numpy.allclose(after[1], 1 / n, atol=1e-6)
    assert numpy.array_equal(heedml.load(run).attention(SENTENCE).weights(), before.weights())
    with pytest.raises(heedml.Error, match="needs the sentences of a run"):
        heedml.Model(heedml.word_answerer(heedml.bert(1, 1, 8, max_length=8)), ["a", "b"]).causes()


def test_a_loop_in_python_gives_the_bits_of_train(run):
    experiment = heedml.Experiment(ROOT / "toy.yaml", set={"train.steps": 60})
    model, optimizer = experiment.model, experiment.optimizer()
    for step in range(60):
        with heedml.Recording():
            gradients = experiment.loss(step).backward()
        factor = heedml.clip_factor(heedml.global_norm(gradients), experiment.clip)
        optimizer.step(gradients, experiment.learning_rate(step), factor)
    trained = heedml.load(run).parameters
    for name, value in model.parameters.items():
        assert numpy.array_equal(value.numpy(), trained[name].numpy()), name
    assert set(experiment.evaluate()) >= {"loss", "accuracy"}


def test_train_takes_a_dict_and_lists_all_mistakes(tmp_path):
    config = {"name": "mine", "data": {"task": "bank"}, "train": {"steps": 5}}
    model = heedml.train(config, out=tmp_path / "mine", quiet=True)
    assert model.config["kind"] == "word_answerer" and model.step == 5
    with pytest.raises(heedml.Error) as caught:
        heedml.train({"model": {"hedas": 2}, "optim": {"lr": -1}}, quiet=True)
    assert "hedas" in str(caught.value) and "optim.lr" in str(caught.value)
    for wrong in (None, "no-such.yaml", "", {"a": object()}):
        with pytest.raises((heedml.Error, TypeError)):
            heedml.train(wrong)
    with pytest.raises(heedml.Error, match="either"):
        heedml.train(ROOT / "toy.yaml", resume=tmp_path)


def test_an_exception_ends_a_run_which_resumes_with_the_same_bits(run, tmp_path):
    class Stop(Exception):
        pass

    def stops(step, _):
        if step == 20:
            raise Stop

    out, settings = tmp_path / "stopped", {"train.steps": 60, "dump.weights": True, "dump.every": 30}
    with pytest.raises(Stop):
        heedml.train(ROOT / "toy.yaml", set=settings, out=out, quiet=True, on_step=stops)
    assert heedml.load(out).step == 20
    heedml.train(resume=out, quiet=True)
    assert (out / "model.safetensors").read_bytes() == (run / "model.safetensors").read_bytes()


@pytest.mark.parametrize("call", ["heedml.train(config, set={'train.steps': 100000}, out=out, quiet=True)",
                                  "heedml.load(run).causes(progress=lambda *_: None)"])
def test_ctrl_c_stops_long_calls(run, tmp_path, call):
    # a process that a shell began in the background ignores SIGINT
    restore = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    script = restore + f"import heedml, sys\nconfig, run, out = sys.argv[1:]\nprint('begun', flush=True)\ntry:\n    [{call} for _ in range(1000)]\nexcept KeyboardInterrupt:\n    print('stopped')"
    process = subprocess.Popen([sys.executable, "-c", script, str(ROOT / "toy.yaml"), str(run), str(tmp_path / "out")], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begun\n"
    timer = threading.Timer(0.7, process.send_signal, [signal.SIGINT])
    timer.start()
    assert process.communicate(timeout=30)[0] == "stopped\n" and process.returncode == 0


def test_other_threads_run_during_a_long_call(run):
    ticks, done = [], threading.Event()

    def tick():
        while not done.wait(0.001):
            ticks.append(1)

    thread = threading.Thread(target=tick)
    thread.start()
    heedml.train(ROOT / "toy.yaml", set={"train.steps": 60}, out=run.parent / "ticks", quiet=True)
    done.set()
    thread.join()
    assert len(ticks) > 5


def test_a_language_model_of_ones_own_writes(tmp_path):
    text = "the cat sat on the mat. the dog sat on the rug. " * 20
    letters = sorted(set(text))
    config = heedml.language_model(heedml.gpt2(1, 2, 32, max_length=16))
    model = heedml.Model(config, letters, split="characters")
    ids = numpy.array([letters.index(letter) for letter in text])
    adam = heedml.Adam(model.parameters, lr=1e-2)
    for step in range(60):
        starts = numpy.random.default_rng(step).integers(0, len(ids) - 17, 16)
        windows = ids[starts[:, None] + numpy.arange(17)]
        with heedml.Recording():
            loss = model.loss(heedml.Batch(windows[:, :-1], targets=windows[:, 1:]))
            adam.step(loss.backward())
    assert loss.item() < 1.0
    pieces = []
    made = model.generate("the ", 20, temperature=0, on_text=pieces.append)
    assert "".join(pieces) == str(made) == "the " + made.text and len(made.tokens) == 20 and made.ended_by == "tokens"
    several = model.generate(["the ", "a cat", "the cat sat"], 20, seed=5)
    for i, (prompt, text) in enumerate(zip(["the ", "a cat", "the cat sat"], several)):
        assert text == model.generate(prompt, 20, seed=5 + i) and text.seed == 5 + i
    assert model.generate([]) == []
    for wrong, message in [(3, "prompt: expected a str, ids or several of them, got int"),
                           (["a", 3], "prompt 1: expected a str or the ids of one text, got int"), ([0, 9999], "no word has number 9999"),
                           (["a", ""], "text 1: prompt: expected a text of at least one token, got none")]:
        with pytest.raises(heedml.Error, match=message):
            model.generate(wrong)
    with pytest.raises(heedml.Error, match="on_text is for one text"):
        model.generate(["a", "b"], on_text=print)
    model.save(tmp_path / "model.safetensors")
    assert heedml.load(tmp_path / "model.safetensors").generate("the ", 20, temperature=0).text == made.text
    assert model.generate("the ", 20, on_text=lambda piece: False).ended_by == "stop"
    with pytest.raises(ZeroDivisionError):
        model.generate("the ", 20, on_text=lambda piece: 1 / 0)
    with pytest.raises(heedml.Error, match="^generate: on_text: expected a function, got int$"):
        model.generate("the ", 20, on_text=3)
    for wrong, message in [({"tokens": -1}, "tokens must be at least 0, got -1"),
                           ({"temperature": math.nan}, "temperature must be finite and at least 0, got nan"),
                           ({"top_k": -1}, "top_k must be at least 1, or 0 for all tokens, got -1"),
                           ({"top_p": 1.5}, "top_p must be above 0 and at most 1, got 1.5")]:
        with pytest.raises(heedml.Error, match=re.escape("generate: " + message)):
            model.generate("the ", **wrong)
    assert model.encode("the cat").shape == (32,) and model.encode([]).shape == (0, 32)
    vectors = model.encode(["the cat", "the dog sat", "on"], batch_size=2)
    assert vectors.shape == (3, 32) and numpy.allclose((vectors**2).sum(1), 1, atol=1e-5)
    assert numpy.allclose(vectors[0], model.encode("the cat"), atol=1e-5)


def with_infinity(path, name):
    """Makes a number of a tensor infinite, and removes the digest."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    del header["__metadata__"]["heed.digest"]
    begin = header[name]["data_offsets"][0]
    numbers = bytearray(data[8 + size:])
    numbers[begin:begin + 4] = numpy.float32("inf").tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(numbers))


def test_damaged_states_and_foreign_directories_are_refused(tmp_path):
    out = tmp_path / "run"
    heedml.train(ROOT / "toy.yaml", set={"train.steps": 10}, out=out, quiet=True)
    before = (out / "metrics.jsonl").read_bytes()
    with pytest.raises(heedml.Error, match="is a run of train, whose log is not continued"):
        heedml.Log(out, resume=1)
    assert (out / "metrics.jsonl").read_bytes() == before
    name = next(name for name in heedml.load_tensors(out / "checkpoint.safetensors") if name.endswith("W_O.weight.v"))
    with_infinity(out / "checkpoint.safetensors", name)
    with pytest.raises(heedml.Error, match=f"tensor '{name}' has a number that is not finite; the file is damaged"):
        heedml.train(resume=out, set={"train.steps": 20}, quiet=True)


def test_names_with_nul(tmp_path):
    heedml.save_tensors(tmp_path / "a", {"a\0b": heedml.ones(1), "a\0c": heedml.zeros(1)})
    assert list(heedml.load_tensors(tmp_path / "a")) == ["a\0b", "a\0c"]
    with pytest.raises(heedml.Error, match="a path cannot contain NUL"):
        heedml.save_tensors(f"{tmp_path}/a\0b", {})
    with pytest.raises(heedml.Error, match="a path cannot contain NUL"):
        heedml.load_tensors(f"{tmp_path}/a\0b")


def test_tensors_in_a_file(tmp_path):
    file = tmp_path / "x.safetensors"
    heedml.save_tensors(file, {"a": heedml.ones((2, 3)), "b": numpy.arange(3.0)})
    loaded = heedml.load_tensors(file)
    assert list(loaded) == ["a", "b"] and loaded["b"].dtype == "float64"


def test_the_page_is_shown_and_saved(model, tmp_path):
    page = model.page(SENTENCE)
    assert "<iframe" in page._repr_html_() and "tired" in page.content
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size == len(page.content.encode())


def test_the_import_is_quick_and_quiet():
    script = "import time, numpy; t = time.process_time(); import heedml; print(time.process_time() - t)"
    times = [float(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout) for _ in range(3)]
    assert min(times) < 0.2


def test_own_kernels_serve_without_openblas(run):
    script = "import heedml; heedml.show_config(); print((heedml.ones((600, 600)) @ heedml.ones((600, 600)))[0, 0].item())"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env={**os.environ, "HEED_OPENBLAS": "none"})
    assert "own kernels without OpenBLAS" in done.stdout and done.stdout.endswith("600.0\n")
