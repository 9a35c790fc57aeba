"""Changes of values while a model answers."""

from __future__ import annotations

import contextlib
import math
import operator
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from dataclasses import replace as changed
from typing import Any

import numpy

from . import _core, checks
from ._core import Tensor
from .errors import Error
from .models import Model
from .running import of_thread
from .traces import Trace

# The hook's name of each kind of value behind that of its layer, its name in a Trace, and whether it has heads.
_KINDS = {"queries": ("attention.Q", "q", True), "keys": ("attention.K", "k", True), "values": ("attention.V", "v", True),
          "scores": ("attention.scores", "scores", True), "weights": ("attention.weights", "weights", True),
          "head_output": ("attention.heads", "head_output", True), "attention_output": ("attention.output", "attention_output", False),
          "neurons": ("mlp.hidden", "mlp_hidden", False), "mlp_output": ("mlp.out.output", "mlp_output", False)}


_INTEGER = (int, numpy.integer)


def _numbers(what: str, given: Any) -> tuple[int, ...]:
    """Returns whole numbers as a tuple: of tokens, keys or neurons."""
    try:
        numbers = tuple(operator.index(each) for each in ([given] if isinstance(given, _INTEGER) else given))
    except TypeError:
        raise Error(f"{what}: expected whole numbers, got {given!r}") from None
    if not numbers:
        raise Error(f"{what}: expected at least one, got none")
    return numbers


@dataclass(frozen=True)
class Place:
    """Values of one kind that a model computes: in a layer (-1: in all), in a head (-1: in all), at all or some tokens. From 0.

        Place.residual(3).at(5)               # (B, T, d_model): what layer 3 reads, at token 5; of layer number `layers`, its output
        Place.head_output(2, 0)               # (B, H, T, d_v): of head 0 of layer 2; also queries, keys, values
        Place.weights(1, 3).at(5).to(1, 2)    # (B, H, T, T): of token 5 on tokens 1 and 2; also scores, before the mask
        Place.neurons(2, [17, 40])            # (B, T, width): the MLP's hidden features; also mlp_output, attention_output
    """

    kind: str
    layer: int
    head: int = -1
    tokens: tuple[int, ...] = ()
    features: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in ("residual", *_KINDS):
            raise Error(f"Place: kind: expected residual, {', '.join(_KINDS)}; got {self.kind!r}")
        for name in ("layer", "head"):
            given = getattr(self, name)
            if not isinstance(given, _INTEGER):
                raise Error(f"Place.{self.kind}: {name}: expected a whole number, got {given!r}")
            if given < -1:
                raise Error(f"Place.{self.kind}: {name}: expected a number from 0, or -1 for all; got {given}")

    @staticmethod
    def residual(layer: int) -> Place:
        """Returns the residual stream that a layer reads."""
        return Place("residual", layer)

    @staticmethod
    def queries(layer: int, head: int = -1) -> Place:
        """Returns the queries, as they are compared with keys."""
        return Place("queries", layer, head)

    @staticmethod
    def keys(layer: int, kv_head: int = -1) -> Place:
        """Returns the keys."""
        return Place("keys", layer, kv_head)

    @staticmethod
    def values(layer: int, kv_head: int = -1) -> Place:
        """Returns the values."""
        return Place("values", layer, kv_head)

    @staticmethod
    def scores(layer: int, head: int = -1) -> Place:
        """Returns the scores before the mask, which holds for a replacement, too."""
        return Place("scores", layer, head)

    @staticmethod
    def weights(layer: int, head: int = -1) -> Place:
        """Returns the attention weights."""
        return Place("weights", layer, head)

    @staticmethod
    def head_output(layer: int, head: int = -1) -> Place:
        """Returns the heads' weighted sums of values."""
        return Place("head_output", layer, head)

    @staticmethod
    def attention_output(layer: int) -> Place:
        """Returns the output of W_O, before norm and residual."""
        return Place("attention_output", layer)

    @staticmethod
    def neurons(layer: int, neurons: Iterable[int] | None = None) -> Place:
        """Returns the hidden features of the MLP, these or all."""
        return Place("neurons", layer, features=() if neurons is None else _numbers("Place.neurons: neurons", neurons))

    @staticmethod
    def mlp_output(layer: int) -> Place:
        """Returns the output of the MLP, before norm and residual."""
        return Place("mlp_output", layer)

    def at(self, *tokens: int) -> Place:
        """Returns the place at these tokens alone; of scores and weights, these are the tokens that attend."""
        return changed(self, tokens=_numbers("Place.at: tokens", tokens))

    def to(self, *keys: int) -> Place:
        """Returns the scores or weights on these tokens alone."""
        if self.kind not in ("scores", "weights"):
            raise Error(f"Place.to: expected scores or weights, which have keys; got {self.kind}")
        return changed(self, features=_numbers("Place.to: keys", keys))

    def layers(self, model: Model) -> range:
        """Returns the layers of the place in a model."""
        count = model.layers + (self.kind == "residual")
        if not -1 <= self.layer < count:
            raise Error(f"Place: no layer {self.layer} in a model of {model.layers} layers; expected 0 to {count - 1} for {self.kind}, or -1 for all")
        return range(count) if self.layer < 0 else range(self.layer, self.layer + 1)

    def name(self, model: Model, layer: int) -> str:
        """Returns the name by which a Hook sees the values."""
        scopes = [name.removesuffix(".0.attention.W_Q.weight") for name in model.parameters if name.endswith(".0.attention.W_Q.weight")]
        if not scopes or model.config["transformer"].get("shared_layers"):
            raise Error("Place: expected a model with layers of their own parameters; use a Hook")
        if self.kind in ("neurons", "mlp_output") and not any(name.startswith(f"{scopes[0]}.{layer}.mlp.") for name in model.parameters):
            raise Error(f"Place.{self.kind}: layer {layer} of this model has no MLP")
        if self.kind == "residual":
            return f"{scopes[0]}.{layer - 1}.output" if layer else "embedded"
        return f"{scopes[0]}.{layer}.{_KINDS[self.kind][0]}"

    def chosen(self, shape: tuple[int, ...]) -> Any:
        """Returns which elements of a layer's values belong to the place."""
        has_heads = self.kind != "residual" and _KINDS[self.kind][2]
        index: list[Any] = [slice(None)] * len(shape)
        for axis, numbers, what in ((1, (self.head,) if self.head >= 0 else (), "head"), (len(shape) - 2, self.tokens, "token"),
                                    (len(shape) - 1, self.features, "feature")):
            if not numbers or (what == "head" and not has_heads):
                continue
            if min(numbers) < 0 or max(numbers) >= shape[axis]:
                raise Error(f"Place: no {what} {max(numbers) if min(numbers) >= 0 else min(numbers)} among {shape[axis]} (from 0)")
            index[axis] = list(numbers)
        lists = numpy.ix_(*[numpy.arange(size)[each] for size, each in zip(shape, index)])
        mask = numpy.zeros(shape, bool)
        mask[lists] = True
        return mask


@dataclass(frozen=True)
class Intervention:
    """A change of the values of a place: change(values of a layer, layer) returns what broadcasts to them."""

    place: Place
    change: Callable[[Tensor, int], Any]


def _at(verb: str, place: Place, change: Callable[[Tensor, int], Any]) -> Intervention:
    if not isinstance(place, Place):
        raise Error(f"{verb}: place: expected a Place, such as Place.residual(1); got {place!r}")
    return Intervention(place, change)


def _tensor(what: str, given: Any, dtype: str | None = None) -> Tensor:
    """Returns numbers as a tensor: a variable or a recorded tensor stays one, which gradients reach."""
    if isinstance(given, Tensor):
        return given if dtype in (None, given.dtype) else given.to(dtype)
    try:
        return _core.tensor(given, dtype)
    except (Error, TypeError):
        raise Error(f"{what}: expected a number, an array or a tensor, got {type(given).__name__}") from None


def ablate(place: Place, mean: Any = 0.0) -> Intervention:
    """Zero ablation, or mean ablation with a number, an array or a tensor that broadcasts to the values of a layer."""
    _tensor("ablate: mean", mean)
    return _at("ablate", place, lambda value, layer: value * 0 + mean)


def steer(place: Place, direction: Any, strength: float = 1.0) -> Intervention:
    """Activation steering (Turner et al. 2023): adds `strength` times `direction`, (n), to the values.

    A `direction` that is a variable gets a gradient.
    """
    _tensor("steer: direction", direction)
    return _at("steer", place, lambda value, layer: value + _tensor("steer: direction", direction, value.dtype) * strength)


def replace(place: Place, function: Callable[[Tensor], Any]) -> Intervention:
    """Replaces the values of the place by those of function(values of the layer)."""
    checks.function("replace: function", function)

    def change(value: Tensor, layer: int) -> Any:
        found = function(value)
        if found is None:
            raise Error(f"replace: function: expected it to return values of shape {value.shape}, got None")
        return found

    return _at("replace", place, change)


def patch(place: Place, source: Trace | Any) -> Intervention:
    """Activation patching (Meng et al. 2022): the values are those in a Trace of a text of the same length, or in an array or a tensor."""
    if not isinstance(source, Trace):
        _tensor("patch: source", source)

    def change(value: Tensor, layer: int) -> Tensor:
        given: Any = source
        if isinstance(source, Trace):
            last = f"layers.{layer - 1}.residual_out" if layer else "embedded"
            given = source[last if place.kind == "residual" else f"layers.{layer}.{_KINDS[place.kind][1]}"]
        found = given if isinstance(given, Tensor) else _core.tensor(given, value.dtype)
        if found.shape != value.shape:
            raise Error(f"patch: expected values of shape {value.shape}, got {found.shape}")
        return found

    return _at("patch", place, change)


def cut(layer: int, head: int, query: int, keys: int | Iterable[int]) -> Intervention:
    """Attention knockout (Geva et al. 2023): token `query` does not see the keys, and the others share their weight. -1: all heads."""
    place = Place.scores(layer, head).at(*_numbers("cut: query", query)).to(*_numbers("cut: keys", keys))
    return Intervention(place, lambda value, layer: _core.full(value.shape, -math.inf, value.dtype))


@contextlib.contextmanager
def intervene(model: Model, *interventions: Intervention) -> Iterator[None]:
    """Makes interventions hold for all that this thread does with the model: logits(), loss(), trace(), generate(), append(), causes().

        with heedml.intervene(model, heedml.ablate(heedml.Place.mlp_output(2).at(5)), heedml.patch(heedml.Place.residual(3), other)):
            changed = model.trace(text)["logits"]

    At one place, each intervention sees the result of those before it. Gradients flow through the replacements. Other models and
    layers of your own stay as they are.
    """
    if not isinstance(model, Model):
        raise Error(f"intervene: model: expected a Model, got {type(model).__name__}")
    at: dict[str, list[tuple[int, Intervention]]] = {}
    for one in interventions:
        if not isinstance(one, Intervention):
            hint = "; write intervene(model, *interventions)" if isinstance(one, (list, tuple)) else ""
            raise Error(f"intervene: expected interventions, such as ablate(Place.residual(1)); got {type(one).__name__}{hint}")
        for layer in one.place.layers(model):
            at.setdefault(one.place.name(model, layer), []).append((layer, one))
    if not at:
        yield
        return
    is_open, thread, changed_here = True, threading.get_ident(), of_thread.changed

    def change(name: str, value: Tensor) -> Tensor | None:
        if not is_open or of_thread.running is not model:
            return None
        for layer, one in at[name]:
            if of_thread.in_parts and one.place.tokens:
                raise Error("Place.at: append() and generate() read a text in parts, where tokens have other numbers; intervene in logits()")
            value = _core.where(one.place.chosen(value.shape), one.change(value, layer), value)
        return value

    hook, error = _core.Hook(change, only=list(at)), True
    hook.__enter__()
    changed_here.append(model)
    try:
        yield
        error = False
    finally:  # perhaps in another thread, which closes or drops a generator: the hook of the first one then stays, without effect
        is_open = False
        changed_here.remove(model)
        if thread == threading.get_ident():
            hook.__exit__(error or None)
