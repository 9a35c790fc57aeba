"""What inspect measures: each result holds the JSON that `inspect --json` prints, byte for byte, and shows it."""

from __future__ import annotations

import html
import json
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from .errors import Error, library

Row = dict[str, Any]


def _axes(axes: Any, width: float = 6, height: float = 4) -> Any:
    return axes if axes is not None else library("matplotlib.pyplot").subplots(figsize=(width, height))[1]


def _cell(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else "" if value is None else str(value)


def _columns(rows: list[Row]) -> list[str]:
    """Returns the keys whose values fit a cell."""
    return [key for key, value in (rows[0] if rows else {}).items() if not isinstance(value, (dict, list))]


def _text(value: Any) -> str:
    return html.escape(_cell(value))


def _number(value: float | None) -> float:
    """Returns NaN for the null that stands for it in JSON."""
    return float("nan") if value is None else value


def _share(value: Any) -> Any:
    return value["share"] if isinstance(value, dict) else value


@dataclass(frozen=True)
class Result:
    """A result of inspect. `data` has its keys, which docs/reference/json-output.md lists; result.key is result.data["key"].

    Layers, heads and tokens count from 0.
    """

    json: str = field(repr=False)
    data: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "data", json.loads(self.json))

    def __getitem__(self, key: Any) -> Any:
        return self.data[key]

    def __getattr__(self, name: str) -> Any:
        data = self.__dict__.get("data")
        if isinstance(data, dict) and name in data:
            return data[name]
        raise AttributeError(f"{type(self).__name__} has no '{name}'")

    def rows(self) -> list[Row]:
        """Returns the result as the rows of a table."""
        return list(self.data) if isinstance(self.data, list) else [self.data]

    def to_pandas(self) -> Any:
        """Returns the rows as a pandas.DataFrame."""
        return library("pandas").DataFrame(self.rows())

    def _bars(self, axes: Any, names: Sequence[str], values: Sequence[float], title: str) -> Any:
        axes = _axes(axes, height=0.4 + 0.25 * max(len(names), 4))
        axes.barh(range(len(names)), values)
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.set_title(title)
        return axes

    def plot(self, axes: Any = None) -> Any:
        """Draws the first column of numbers with matplotlib, and returns its axes."""
        rows = self.rows()
        numbers = [key for key, value in (rows[0] if rows else {}).items() if isinstance(value, float)]
        if not numbers:
            raise Error(f"{type(self).__name__}: there are no numbers to plot")
        return self._bars(axes, [str(i) for i in range(len(rows))], [row[numbers[0]] for row in rows], numbers[0])

    def _conclusions(self) -> list[str]:
        verdict = self.data.get("verdict", []) if isinstance(self.data, dict) else []
        return [verdict] if isinstance(verdict, str) else list(verdict)

    def _repr_html_(self) -> str:
        rows = self.rows()
        keys = _columns(rows)
        head = "".join(f"<th>{html.escape(key)}</th>" for key in keys)
        body = "".join("<tr>" + "".join(f"<td>{_text(row.get(key))}</td>" for key in keys) + "</tr>" for row in rows[:40])
        more = f"<p>... and {len(rows) - 40} more rows</p>" if len(rows) > 40 else ""
        lines = "".join(f"<p>{html.escape(line)}</p>" for line in self._conclusions())
        return f"{lines}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"

    def __str__(self) -> str:
        """Returns the conclusions and the first rows as a table, in lines of up to 80 columns."""
        rows = self.rows()
        keys = _columns(rows)
        cells = [keys] + [[_cell(row.get(key)) for key in keys] for row in rows[:20]]
        widths = [max(len(line[i]) for line in cells) for i in range(len(keys))]
        lines = [line for text in self._conclusions() for line in textwrap.wrap(text, 80)]
        for line in cells if keys else []:
            text = "  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip()
            lines.append(text if len(text) <= 80 else text[:79] + "…")
        if len(rows) > 20:
            lines.append(f"... and {len(rows) - 20} more rows: rows(), to_pandas()")
        return "\n".join(lines) if lines else repr(self)

    def __repr__(self) -> str:
        return f"heedml.{type(self).__name__}({self.json[:60].strip()}{'...' if len(self.json) > 60 else ''})"


class Attention(Result):
    """Attention weights [layer][head][query][key] and the answer for each sentence."""

    def rows(self) -> list[Row]:
        """Returns the weight of the query on each token, per sentence, layer and head."""
        return [{"sentence": i, "layer": layer, "head": head, "token": token, "word": sentence["tokens"][token],
                 "weight": weight}
                for i, sentence in enumerate(self.data["sentences"]) for layer, heads in enumerate(sentence["layers"])
                for head, queries in enumerate(heads) for token, weight in enumerate(queries[sentence["query"]])]

    def weights(self, sentence: int = 0) -> Any:
        """Returns the weights of a sentence as an array (layers, heads, T, T) of float32."""
        return library("numpy").asarray(self.data["sentences"][sentence]["layers"], "float32")

    def plot(self, axes: Any = None, sentence: int = 0, layer: int = -1, head: int = 0) -> Any:
        """Draws the weights of one head: rows are queries, columns keys."""
        axes, read = _axes(axes, 5, 5), self.data["sentences"][sentence]
        axes.imshow(read["layers"][layer][head], vmin=0, vmax=1, cmap="Blues")
        places = range(len(read["tokens"]))
        axes.set_xticks(places, read["tokens"], rotation=90)
        axes.set_yticks(places, read["tokens"])
        axes.set_title(f"layer {range(len(read['layers']))[layer]}, head {head}")
        return axes


class Causes(Result):
    """Effects of cutting and replacing attention: on the accuracy of many answers, or on the answer to one sentence."""

    def rows(self) -> list[Row]:
        """Returns a row per intervention, or per head for one sentence."""
        return list(self.data["rows"] if "rows" in self.data else self.data["heads"])

    def plot(self, axes: Any = None) -> Any:
        """Draws the accuracy under each intervention, or the effect of each head's zero ablation for one sentence."""
        def name(row: Row) -> str:
            where = "" if row.get("layer") is None else f" {row['layer']}." + ("*" if row["head"] is None else str(row["head"]))
            return f"{row.get('what', 'head')}{where}" + (f" {row['from']} -> {row['to']}" if "from" in row else "")

        rows = self.rows()
        if "rows" not in self.data:
            return self._bars(axes, [name(row) for row in rows], [row["zero"] for row in rows], "change by zero ablation")
        axes = self._bars(axes, [name(row) for row in rows], [row["accuracy"] for row in rows], "accuracy")
        axes.axvline(self.data["accuracy"], color="black", linewidth=1)
        return axes


class Why(Result):
    """The parts of the model that wrote the score of an edge, per sentence."""

    def rows(self) -> list[Row]:
        """Returns a row per part of the query and of the key."""
        return [{"sentence": i, "side": side, **part} for i, one in enumerate(self.data) for side in ("query", "key")
                for part in one[side]]

    def plot(self, axes: Any = None, sentence: int = 0) -> Any:
        """Draws the ten parts with the largest difference from the reference."""
        rows = sorted((row for row in self.rows() if row["sentence"] == sentence), key=lambda row: -abs(row["ahead"]))[:10]
        names = [" ".join(str(row[key]) for key in ("side", "what", "layer", "head", "token") if key in row) for row in rows]
        return self._bars(axes, names, [row["ahead"] for row in rows], "score ahead of the reference")


class WhyAnswer(Result):
    """The answers after each layer, and the parts of the logit of the answer, per sentence."""

    def rows(self) -> list[Row]:
        """Returns a row per part of the logit: a head, an MLP, the embedding."""
        return [{"sentence": i, **part} for i, one in enumerate(self.data) for part in one["parts"]]

    def layers(self) -> list[Row]:
        """Returns a row per layer: the most probable answer there, and probability and rank of the final one."""
        return [{"sentence": i, "layer": layer["layer"], "best": layer["answers"][0]["answer"],
                 "probability": layer["probability"], "rank": layer["rank"]}
                for i, one in enumerate(self.data) for layer in one["layers"]]

    def plot(self, axes: Any = None, sentence: int = 0) -> Any:
        """Draws the ten parts that change the logit most."""
        rows = sorted((row for row in self.rows() if row["sentence"] == sentence), key=lambda row: -abs(row["logit"]))[:10]
        names = [" ".join(str(row[key]) for key in ("what", "layer", "head") if row.get(key) is not None) for row in rows]
        return self._bars(axes, names, [row["logit"] for row in rows], f"logit of {self.data[sentence]['answer']}")


class Restored(Result):
    """How much of an answer each activation restores, over pairs of texts: 1 is all of it."""

    def rows(self) -> list[Row]:
        """Returns a row per kind of activation, layer, and token or head."""
        return [{"what": what, "layer": layer, "row": i, **cell} for what, table in self.data["restored"].items()
                for i, row in enumerate(table) for layer, cell in enumerate(row)]

    def plot(self, axes: Any = None, what: str | None = None) -> Any:
        """Draws one kind of activation: rows are tokens or heads, columns layers."""
        axes = _axes(axes)
        chosen = what if what is not None else next(iter(self.data["restored"]))
        table = self.data["restored"][chosen]
        axes.imshow([[_number(cell["mean"]) for cell in row] for row in table], vmin=-1, vmax=1, cmap="RdBu")
        axes.set_title(chosen)
        return axes


class Circuit(Result):
    """Edges between heads and MLPs that carry an answer, and whether they are a circuit."""

    def rows(self) -> list[Row]:
        """Returns a row per edge: from, to, effect, and whether it is in the circuit and survives."""
        def name(node: Row) -> str:
            numbers = [str(node[key]) for key in ("layer", "head") if node.get(key) is not None]
            return " ".join([node["kind"], ".".join(numbers)]).strip()

        return [{"from": name(edge["from"]), "to": name(edge["to"]), "effect": _number((edge["exact"] or edge["effect"] or {}).get("mean")),
                 "in_circuit": edge["in_circuit"], "survives": edge["survives"]} for edge in self.data["edges"]]

    def _conclusions(self) -> list[str]:
        return list(self.data["says"])

    def plot(self, axes: Any = None) -> Any:
        """Draws the effects of the ten strongest edges of the circuit."""
        rows = sorted((row for row in self.rows() if row["in_circuit"]), key=lambda row: -abs(row["effect"]))[:10]
        return self._bars(axes, [f"{row['from']} -> {row['to']}" for row in rows], [row["effect"] for row in rows],
                          f"effect; {self.data['verdict']}")


class ComparedCircuits(Result):
    """Circuits of several runs, or of the steps of one, and the edges that they share."""

    def rows(self) -> list[Row]:
        """Returns a row per kind of edge: how many circuits have it, and in how many it survives."""
        return list(self.data["rows"])


class Curves(Result):
    """Numbers of a run by their names: {"loss": {"steps": [0, 10], "values": [0.7, 0.5]}, ...}."""

    def rows(self) -> list[Row]:
        """Returns a row per step, with the numbers that it has."""
        rows: dict[int, Row] = {}
        for name, curve in self.data.items():
            for step, value in zip(curve["steps"], curve["values"]):
                rows.setdefault(step, {"step": step})[name] = _number(value)
        return [rows[step] for step in sorted(rows)]

    def plot(self, axes: Any = None) -> Any:
        """Draws each number over the steps."""
        axes = _axes(axes)
        for name, curve in self.data.items():
            axes.plot(curve["steps"], [_number(value) for value in curve["values"]], label=name)
        axes.set_xlabel("step")
        axes.legend()
        return axes


class Heads(Result):
    """How often each head points at the right candidate, per set of sentences."""

    def rows(self) -> list[Row]:
        """Returns a row per set, head and direction."""
        return [{"set": one["set"], **{key: _share(value) for key, value in head.items()}} for one in self.data
                for head in one["heads"]]

    def plot(self, axes: Any = None) -> Any:
        """Draws the ten largest shares."""
        rows = sorted(self.rows(), key=lambda row: -row["right"])[:10]
        return self._bars(axes, [f"{row['layer']}.{row['head']} {row['direction']}" for row in rows],
                          [row["right"] for row in rows], "share of sentences")


class Report(Result):
    """The model beside baselines, per set of sentences."""

    def rows(self) -> list[Row]:
        """Returns a row per set; shares without their intervals."""
        return [{key: _share(value) for key, value in one.items() if isinstance(_share(value), (int, float, str))}
                for one in self.data]

    def plot(self, axes: Any = None) -> Any:
        """Draws the accuracy of the model and of the baselines on the first set."""
        row = self.rows()[0]
        baselines = ("bag_of_words", "without_candidates", "coin", "most_frequent", "nearest", "first")
        names = ["model"] + [key for key in baselines if key in row]
        return self._bars(axes, names, [row[key] for key in names], str(row["set"]))


class History(Result):
    """Weight and effect of the edge to the antecedent, per saved step."""

    def rows(self) -> list[Row]:
        """Returns a row per step and head."""
        return [{"step": one["step"], "layer": layer, "head": head, **figures} for one in self.data["steps"]
                for layer, heads in enumerate(one["heads"]) for head, figures in enumerate(heads)]

    def _conclusions(self) -> list[str]:
        return [f"{layer}.{head}: {' '.join(sentences)}" for layer, heads in enumerate(self.data["verdict"])
                for head, sentences in enumerate(heads)]

    def plot(self, axes: Any = None) -> Any:
        """Draws weight (solid) and effect (dashed) of each head over the steps."""
        axes, rows = _axes(axes), self.rows()
        for i, (layer, head) in enumerate(sorted({(row["layer"], row["head"]) for row in rows})):
            of_head = [row for row in rows if (row["layer"], row["head"]) == (layer, head)]
            for key, style in (("weight", "-"), ("effect", "--")):
                axes.plot([row["step"] for row in of_head], [row[key] for row in of_head], style, color=f"C{i}",
                          label=f"{layer}.{head} {key}")
        axes.set_xlabel("step")
        axes.legend()
        return axes


class Match(Result):
    """Heads of several runs that do the same."""

    def rows(self) -> list[Row]:
        """Returns a row per head of the reference and run."""
        return [{"role": role, "run": run, **member} for role, one in enumerate(self.data["roles"])
                for run, member in enumerate(one["members"])]


class Evaluation(Result):
    """Loss and accuracy, per file."""

    def rows(self) -> list[Row]:
        """Returns a row per file; shares without their intervals."""
        return [{key: _share(value) for key, value in one.items() if not isinstance(_share(value), list)} for one in self.data]


class Steps(Result):
    """The computation of one head, step by step."""

    def rows(self) -> list[Row]:
        """Returns a row per step; `values` are its matrix."""
        return list(self.data["steps"])


class Weights(Result):
    """Shapes and norms of the attention's matrices."""

    def rows(self) -> list[Row]:
        """Returns a row per matrix."""
        return [{"layer": layer["layer"], "head": layer["head"], **matrix} for layer in self.data["layers"]
                for matrix in layer["matrices"]]


class Induction(Result):
    """Scores of each head as an induction head."""

    def rows(self) -> list[Row]:
        """Returns a row per head."""
        return [{key: _share(value) for key, value in head.items()} for head in self.data["repeated"]["heads"]]


class Verification(Result):
    """Differences from golden values, layer by layer."""

    def rows(self) -> list[Row]:
        """Returns a row per compared value."""
        return list(self.data["values"])


@dataclass(frozen=True)
class Generated:
    """A continued text: the prompt, its continuation, its tokens, and why it ended.

    `forgotten` counts the tokens at the beginning that a full model no longer read when it wrote the last one.
    """

    prompt: str
    text: str
    tokens: list[str] = field(repr=False)
    ended_by: str
    seed: int
    forgotten: int = 0

    def __str__(self) -> str:
        return self.prompt + self.text

    def __iter__(self) -> Iterator[str]:
        return iter(self.tokens)

    def to_pandas(self) -> Any:
        """Returns a row per token."""
        return library("pandas").DataFrame({"token": self.tokens})

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.prompt)}<b>{html.escape(self.text)}</b></pre>"
