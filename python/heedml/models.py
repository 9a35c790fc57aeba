"""Models, and what the program inspect does with them."""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, overload

import numpy
import numpy.typing

from . import _core, checks, studies
from .classes import Classified, classified
from .embeddings import Pooling, Recipe, checked_pooling, embeddings, recipe_of
from .errors import Error, keywords
from .page import Page
from .pairs import Pairs, PairsOf, file_of
from .paths import Path, text_of
from .running import noted, of_thread, running
from .traces import Trace

Progress = Callable[[str, float, float], None]
Ids = Sequence[int] | numpy.typing.NDArray[numpy.integer[Any]]


def inspect(*words: Path, width: int = 80, progress: Progress | None = None) -> str:
    """Returns what the program inspect prints: inspect("causes", "runs/toy", "--limit", "40").

    `progress` is called with the name of a long computation, the share that is done, and the seconds that it takes.
    """
    return str(_core._inspect([text_of(word) for word in words], width, progress))


def _options(**given: Any) -> list[str]:
    """Returns options of a command line: --limit 40, and --words for True. None and False are left out."""
    words: list[str] = []
    for name, value in given.items():
        if value is None or value is False:
            continue
        if not isinstance(value, (str, int, float, numpy.generic, os.PathLike)):
            raise Error(f"{name}: expected one value, got {type(value).__name__}")
        words += [f"--{name.replace('_', '-')}"] if value is True else [f"--{name.replace('_', '-')}={value}"]
    return words


def _ids(method: str, sentence: Ids | None, query: str | None, **given: Any) -> tuple[list[int], str]:
    """Returns the ids of a text and the query. Raises Error for the options `given`, which are for a text."""
    if any(value is not None and value is not False for value in given.values()):
        raise Error(f"{method}: {' and '.join(given)} {'is' if len(given) == 1 else 'are'} for a text, and these are ids")
    return [int(id) for id in checks.read(f"{method}: sentence", sentence)], checks.text(f"{method}: query", query or "")


def _paths_of(method: str, others: Sequence[Path | Model]) -> list[str]:
    if others and of_thread.changed:
        raise Error(f"{method}: intervene() changes one model, and here others run too; call it outside of intervene()")
    return [other.path or other._place() if isinstance(other, Model) else text_of(other) for other in others]


class Model(_core._Model):
    """A network and all that it takes to read texts with it.

        model = heedml.load("runs/toy")
        model.attention("The dog didn't cross the road because it was too tired")
        model.causes(limit=40).plot()

    Methods that need sentences use those of the run that load() opened, or the text that you give. Layers, heads and tokens
    of results count from 0, as in `inspect --json`.
    """

    def __init__(self, config: Mapping[str, Any] | _core._Model | None = None, vocabulary: int | Sequence[str] = (),
                 seed: int = 1, *, split: str = "words", path: Path | None = None, mapped: bool = False) -> None:
        """Makes a network from a configuration, such as language_model(gpt2(2, 4, 64, max_length=128)).

        `vocabulary` is the tokens, or their number. `split` says how texts become tokens: words, characters or bytes. A
        model in place of the configuration is shared, and `path` opens one.
        """
        if path is not None:
            super().__init__(text_of(path), mapped)
        elif isinstance(config, _core._Model):
            super().__init__(config)
        elif config is None:
            raise Error("Model: expected a configuration, such as heedml.language_model(heedml.gpt2(...)), or path=")
        else:
            if isinstance(vocabulary, int) and not 0 <= vocabulary <= 1 << 24:
                raise Error(f"Model: expected a vocabulary of 0 to {1 << 24} tokens, got {vocabulary}")
            words = [f"<{i}>" for i in range(vocabulary)] if isinstance(vocabulary, int) else list(vocabulary)
            super().__init__(dict(config), words, checks.whole("Model: seed", seed, 0, 2**64 - 1), split)
        self.path = None if path is None else text_of(path)
        self._written: tempfile.TemporaryDirectory[str] | None = None
        self._versions = self._count_writes()

    def __deepcopy__(self, memo: dict[int, Any]) -> Model:
        copy = Model(self._copied())
        copy.path = self.path
        if self._written is not None or self._versions != self._count_writes():
            copy._versions = (-1, -1)  # the numbers are not those at the path
        return copy

    @functools.cached_property
    def _recipe(self) -> Recipe:
        """How embeddings are made, by the files beside the model, which are read once."""
        return recipe_of(self.path)

    def _count_writes(self) -> tuple[int, int]:
        return len(self.parameters), sum(parameter.version for parameter in self.parameters.values())

    def _place(self) -> str:
        """Returns the path of this model's numbers: what was opened, or a file of what they are now."""
        writes = self._count_writes()
        if self.path is not None and writes == self._versions and self._written is None:
            return self.path
        if self._written is None or writes != self._versions:
            self._written = tempfile.TemporaryDirectory(prefix="heedml-")
            self.save(os.path.join(self._written.name, "model.safetensors"))
            self._versions = writes
        return os.path.join(self._written.name, "model.safetensors")

    def _ask(self, command: str, *words: str, progress: Progress | None = None, run: bool = False) -> str:
        if run and self.path is None:
            hint = {"circuit": "; give it pairs of texts", "heads": "; give it a file", "report": "; give it a file", "history": "",
                    "verify": "; give it a file of golden values"}.get(command, "; give it a text")
            raise Error(f"{command or 'attention'}: needs the sentences of a run; this model was not loaded from one{hint}")
        with keywords():
            return inspect(*([command] if command else []), self.path if run and self.path else self._place(), *words,
                           progress=progress)

    def adapt(self, layers: str | Sequence[str], *, rank: int = 8, alpha: float = 8, seed: int = 1, base: Path | None = None) -> None:
        """Adds adapters (LoRA, Hu et al. 2021) to the layers with these names, such as W_Q, and freezes the rest of
        the model. Parameters that you added, such as a head of your own, stay as they are.

            model.adapt(["W_Q", "W_V"], rank=8)
            adam = heedml.Adam(model.parameters)   # trains the adapters alone
            ...
            model.export_adapter("my-adapter")     # PEFT's files; or model.merge()

        `base` names the model for PEFT: by default the path that load() opened.
        """
        self._adapt([layers] if isinstance(layers, str) else list(layers), rank, alpha, checks.whole("adapt: seed", seed, 0, 2**64 - 1), text_of(base or self.path or ""))

    def with_classes(self, classes: Sequence[str], *, seed: int = 1) -> Model:
        """Returns a copy of the model with a new head, drawn from `seed`, that tells which of `classes` a text is of.

            model = heedml.load("distilbert-base-uncased").with_classes(["NEGATIVE", "POSITIVE"])
            loss = model.loss(model.batch(texts, classes=labels))
            ...
            model.export_hugging_face("my-classifier")   # DistilBertForSequenceClassification

        A pretrained model gets the head that its family has in `transformers`.
        """
        names = checks.texts("with_classes", "with_classes: class", classes)
        return Model(self._with_classes(names, checks.whole("with_classes: seed", seed, 0, 2**64 - 1)))

    def text(self, ids: Ids) -> str:
        """Returns the text of tokens, such as those of ids(), without the special tokens of a pretrained model."""
        given = checks.read("text: ids", ids)
        if isinstance(given, str):
            raise Error("text: ids: expected the ids of one text, got a str")
        return self._text(given).decode("utf-8", "replace")

    def attention(self, sentence: str | Ids | None = None, query: str | None = None, *, words: bool = False,
                  step: int | None = None) -> studies.Attention:
        """Returns the attention weights and the answer for a sentence, or the ids of its tokens, or for the run's watched sentences."""
        if sentence is not None and not isinstance(sentence, str):
            return studies.Attention(self._attention(*_ids("attention", sentence, query, words=words, step=step)))
        options = _options(sentence=sentence, query=query, words=words, step=step)
        return studies.Attention(self._ask("", *options, "--json", run=sentence is None))

    def trace(self, text: str | Ids, query: str = "") -> Trace:
        """Returns everything that the model computes for a text, or for the ids of its tokens."""
        return Trace(**self._trace(checks.read("trace: text", text), checks.text("trace: query", query)))

    def causes(self, sentence: str | Ids | None = None, query: str | None = None, *, pair: str | Ids | None = None,
               limit: int | None = None, by: str | None = None, step: int | None = None,
               progress: Progress | None = None) -> studies.Causes:
        """Measures what cutting and replacing attention does to the answers: of the run's held-out sentences, or of one.

        A sentence and its `pair` may be the ids of their tokens.
        """
        if (sentence is not None and not isinstance(sentence, str)) or (pair is not None and not isinstance(pair, str)):
            read = None if pair is None else checks.read("causes: pair", pair)
            text = _ids("causes", self.ids(sentence) if isinstance(sentence, str) else sentence, query, limit=limit, by=by, step=step)
            return studies.Causes(self._causes(text[0], read, text[1]))
        options = _options(sentence=sentence, query=query, pair=pair, limit=limit, by=by, step=step)
        return studies.Causes(self._ask("causes", *options, "--json", progress=progress, run=sentence is None))

    def why(self, sentence: str | Ids | None = None, query: str | None = None, *, step: int | None = None) -> studies.Why:
        """Splits the score of the pointing head's edge into the parts of the model that wrote it."""
        if sentence is not None and not isinstance(sentence, str):
            return studies.Why(self._why(*_ids("why", sentence, query, step=step)))
        options = _options(sentence=sentence, query=query, step=step)
        return studies.Why(self._ask("why", *options, "--json", run=sentence is None))

    def why_answer(self, sentence: str | Ids | None = None, query: str | None = None, *, step: int | None = None) -> studies.WhyAnswer:
        """Returns the answers after each layer, and what each head and MLP adds to the logit of the answer."""
        if sentence is not None and not isinstance(sentence, str):
            return studies.WhyAnswer(self._why_answer(*_ids("why_answer", sentence, query, step=step)))
        options = _options(sentence=sentence, query=query, step=step)
        return studies.WhyAnswer(self._ask("why", "--answer", *options, "--json", run=sentence is None))

    def pairs(self, task: str, *, language: str = "en", count: int = 100, seed: int = 1) -> Pairs:
        """Generates pairs of texts from the model's words: ioi, greater_than, agreement, gender or induction."""
        return Pairs(self._ask("pairs", *_options(task=task, language=language, count=count, seed=seed)))

    def restored(self, pairs: PairsOf, *, limit: int | None = None,
                 progress: Progress | None = None) -> studies.Restored:
        """Measures how much of the answer each activation restores, for pairs of texts.

        `pairs` are those of pairs(), a file, or dicts with the keys of its lines: clean, corrupted,
        answer and wrong, and perhaps query and group. A text may be the ids of its tokens, an answer the id of one.
        """
        with file_of(pairs) as file:
            return studies.Restored(self._ask("causes", file, *_options(limit=limit), "--json", progress=progress))

    def circuit(self, pairs: PairsOf | None = None, *, method: str | None = None, choice: str = "greedy",
                faithfulness: float = 0.8, limit: int | None = None, seed: int = 1, step: int | None = None,
                without: str | Sequence[str] = (), svg: Path | None = None, progress: Progress | None = None) -> studies.Circuit:
        """Finds the edges between heads and MLPs that carry an answer, for pairs of texts or the run's held-out sentences.

        `pairs` are as in restored(). `method` is eap, eap_ig, deeplift or exact (default: exact
        where that takes seconds, else deeplift), `choice` greedy or threshold. `without`
        names edges and nodes of the circuit: result.without is what is left of it. `svg` is a file to draw the circuit in.
        """
        names = without if isinstance(without, str) else ", ".join(without)
        options = _options(method=method, choice=choice, faithfulness=faithfulness, limit=limit, seed=seed, step=step,
                           without=names or None, svg=None if svg is None else text_of(svg))
        if pairs is None:
            return studies.Circuit(self._ask("circuit", *options, "--json", progress=progress, run=True))
        with file_of(pairs) as file:
            return studies.Circuit(self._ask("circuit", file, *options, "--json", progress=progress))

    def compare_circuits(self, *others: Path | Model, method: str | None = None, choice: str = "greedy", faithfulness: float = 0.8,
                         limit: int | None = None, seed: int = 1, progress: Progress | None = None) -> studies.ComparedCircuits:
        """Finds the circuits of this run and others, such as other seeds, and counts the edges that they share.

        Without others: the circuits at the steps whose models the run kept (dump.weights: true).
        """
        options = _options(method=method, choice=choice, faithfulness=faithfulness, limit=limit, seed=seed, over_training=not others)
        paths = _paths_of("compare_circuits", others)
        return studies.ComparedCircuits(self._ask("circuit", *paths, *options, "--json", progress=progress, run=True))

    def head_choices(self, *files: Path, progress: Progress | None = None) -> studies.Heads:
        """Counts how often each head points at the right candidate, in the held-out sentences or in files."""
        return studies.Heads(self._ask("heads", *[text_of(file) for file in files], "--json", progress=progress, run=not files))

    def report(self, *files: Path, progress: Progress | None = None) -> studies.Report:
        """Compares the model with baselines on the held-out sentences, or on files."""
        return studies.Report(self._ask("report", *[text_of(file) for file in files], "--json", progress=progress, run=not files))

    def evaluate(self, *files: Path) -> studies.Evaluation:
        """Measures loss and accuracy on files of text or sentences."""
        return studies.Evaluation(self._ask("evaluate", *[text_of(file) for file in files], "--json"))

    def history(self, *, limit: int | None = None, progress: Progress | None = None) -> studies.History:
        """Measures at each saved step of the run whether the attention is the cause (dump.weights: true)."""
        return studies.History(self._ask("history", *_options(limit=limit), "--json", progress=progress, run=True))

    def match(self, *others: Path | Model, limit: int | None = None, progress: Progress | None = None) -> studies.Match:
        """Matches the heads of this run and others."""
        paths = _paths_of("match", others)
        return studies.Match(self._ask("match", *paths, *_options(limit=limit), "--json", progress=progress, run=self.path is not None))

    def steps(self, sentence: str, query: str | None = None, *, layer: int = 0, head: int = 0) -> studies.Steps:
        """Returns the computation of one head step by step: X, Q, K, V, scores, weights, output."""
        layer = checks.whole("steps: layer", layer, 0, self.layers - 1)
        head = checks.whole("steps: head", head, 0, self.heads - 1)
        options = _options(sentence=sentence, query=query, layer=layer + 1, head=head + 1)
        return studies.Steps(self._ask("steps", *options, "--json"))

    def weights(self) -> studies.Weights:
        """Returns the shapes and norms of W_Q, W_K, W_V and W_O of each layer."""
        return studies.Weights(self._ask("weights", "--json"))

    def induction(self) -> studies.Induction:
        """Scores each head as an induction head on repeated random sequences."""
        return studies.Induction(self._ask("induction", "--json"))

    def verify(self, against: Path | None = None) -> studies.Verification | str:
        """Checks the run's files for damage, or the model's numbers against golden values of `transformers`."""
        if against is None:
            return self._ask("verify", run=True)
        return studies.Verification(self._ask("verify", *_options(against=text_of(against)), "--json"))

    @overload
    def generate(self, prompt: str | list[int], tokens: int = 500, *, temperature: float = 1, top_k: int = 0, top_p: float = 1, seed: int = 1,
                 stop: str = "", speculate: bool = False, on_text: Callable[[str], Any] | None = None) -> studies.Generated: ...

    @overload
    def generate(self, prompt: list[str] | tuple[str, ...] | list[list[int]], tokens: int = 500, *, temperature: float = 1, top_k: int = 0,
                 top_p: float = 1, seed: int = 1, stop: str = "") -> list[studies.Generated]: ...

    def generate(self, prompt: str | list[str] | tuple[str, ...] | list[int] | list[list[int]], tokens: int = 500, *, temperature: float = 1,
                 top_k: int = 0, top_p: float = 1, seed: int = 1, stop: str = "", speculate: bool = False,
                 on_text: Callable[[str], Any] | None = None) -> studies.Generated | list[studies.Generated]:
        """Continues a text, or several at once, in less time than one after another. Text i is drawn with `seed` + i.
        A text may be the ids of its tokens.

        `on_text` gets each piece of a text as soon as it is sampled; returning False ends the text. `speculate` guesses tokens from
        repetitions of a text: the same text in fewer passes."""
        if on_text is not None:
            checks.function("generate: on_text", on_text)
        given, is_one = checks.one_or_several("generate: prompt", prompt)
        if on_text is not None and not is_one:
            raise Error("generate: on_text is for one text")
        first = checks.whole("generate: seed", seed, 0, 2**64 - max(len(given), 1))

        def decoded(piece: bytes) -> str:
            return piece.decode("utf-8", "replace")

        def show(piece: bytes) -> Any:
            with running(None):
                return on_text and on_text(decoded(piece))

        found = self._generate(given, checks.whole("generate: tokens", tokens, -2**31, 2**31 - 1),
                               checks.number("generate: temperature", temperature), checks.whole("generate: top_k", top_k, -2**31, 2**31 - 1),
                               checks.number("generate: top_p", top_p), first, checks.text("generate: stop", stop), bool(speculate), show)
        made = [studies.Generated(decoded(begun), decoded(text), list(map(decoded, pieces)), ended_by, first + i, forgotten)
                for i, (begun, text, pieces, ended_by, forgotten) in enumerate(found)]
        return made[0] if is_one else made

    def encode(self, texts: str | Sequence[str], *, batch_size: int = 64, pooling: Pooling | None = None, normalize: bool | None = None,
               max_length: int | None = None) -> numpy.typing.NDArray[numpy.float32]:
        """Returns the embedding of each text: (texts, d_model), or (d_model) for one text.

        It is made as the files of sentence-transformers beside the model say: modules.json, the pooling, a default prompt. Without them,
        and with `pooling`, it is that pooling (mean) of the states, with length 1 unless `normalize` is False; products of two are then
        their cosine. Where the files cut a normalised embedding (truncate_dim), its length is below 1, unless `normalize` is True. Longer texts than `max_length` tokens are cut."""
        checks.whole("encode: batch_size", batch_size, 1, 2**31 - 1)
        if max_length is not None:
            checks.whole("encode: max_length", max_length, 1, 2**31 - 1)
        given = checks.texts("encode", "encode: text", texts)
        recipe = self._recipe if pooling is None else Recipe(checked_pooling("encode", pooling))
        if normalize is not None:
            recipe = replace(recipe, normalize=False, normalize_cut=bool(normalize))
        found = embeddings(self, given, recipe, max_length, batch_size)
        return found[0] if isinstance(texts, str) else found

    @overload
    def classify(self, texts: str, *, batch_size: int = 64, max_length: int | None = None) -> Classified: ...

    @overload
    def classify(self, texts: list[str] | tuple[str, ...], *, batch_size: int = 64, max_length: int | None = None) -> list[Classified]: ...

    def classify(self, texts: str | list[str] | tuple[str, ...], *, batch_size: int = 64,
                 max_length: int | None = None) -> Classified | list[Classified]:
        """Returns the class of a text, or of each of several, with probabilities. Longer texts than `max_length` tokens are cut."""
        checks.whole("classify: batch_size", batch_size, 1, 2**31 - 1)
        if max_length is not None:
            checks.whole("classify: max_length", max_length, 1, 2**31 - 1)
        found = classified(self, checks.texts("classify", "classify: text", texts), batch_size, max_length or 0)
        return found[0] if isinstance(texts, str) else found

    def page(self, sentence: str | None = None, query: str | None = None, *, limit: int | None = None,
             height: int = 720) -> Page:
        """Returns the page of a text or of the run. A notebook shows it, and keeps it; save() writes it to a file.

        Type a text into it: a small model in the page answers, or this model while the kernel runs (with anywidget).
        """
        with tempfile.TemporaryDirectory(prefix="heedml-") as directory:
            file = os.path.join(directory, "page.html")
            options = _options(sentence=sentence, query=query, limit=limit, out=file)
            self._ask("page", *options, run=sentence is None)
            with open(file, encoding="utf-8") as opened:
                return Page(opened.read(), height, self._answer)


for _name in ("logits", "loss", "states", "_trace", "_attention", "_causes", "_why", "_why_answer", "_answer", "_ask"):
    setattr(Model, _name, noted(getattr(Model, _name)))
for _name in ("append", "_generate"):
    setattr(Model, _name, noted(getattr(Model, _name), in_parts=True))


def load(path: Path, *, mapped: bool = False) -> Model:
    """Opens a run, a saved model, a Hugging Face directory or a GGUF file.

    `mapped` leaves the matrices of a pretrained model in its files, which saves memory where they are only read.
    """
    return Model(path=path, mapped=mapped)


def curves(run: Path | Model, only: str = "") -> studies.Curves:
    """Returns the numbers of a run's metrics.jsonl by step, which train() or a Log wrote; `only` those whose names contain this."""
    path = (run.path or "") if isinstance(run, Model) else text_of(run)
    return studies.Curves(inspect("curves", path, *_options(only=only or None), "--json"))
