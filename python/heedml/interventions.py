"""Changes of values while a model answers."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from dataclasses import replace as changed
from typing import Any

import numpy

from . import _core
from ._core import Tensor
from .errors import Error
from .models import Model, Trace

# The hook's name of each kind of value behind that of its layer, its name in a Trace, and whether it has heads.
_KINDS = {"queries": ("attention.Q", "q", True), "keys": ("attention.K", "k", True), "values": ("attention.V", "v", True),
          "scores": ("attention.scores", "scores", True), "weights": ("attention.weights", "weights", True),
          "head_output": ("attention.heads", "head_output", True), "attention_output": ("attention.output", "attention_output", False),
          "neurons": ("mlp.hidden", "mlp_hidden", False), "mlp_output": ("mlp.out.output", "mlp_output", False)}


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
    def neurons(layer: int, neurons: Sequence[int] = ()) -> Place:
        """Returns the hidden features of the MLP, these or all."""
        return Place("neurons", layer, features=tuple(neurons))

    @staticmethod
    def mlp_output(layer: int) -> Place:
        """Returns the output of the MLP, before norm and residual."""
        return Place("mlp_output", layer)

    def at(self, *tokens: int) -> Place:
        """Returns the place at these tokens alone; of scores and weights, these are the tokens that attend."""
        return changed(self, tokens=tokens)

    def to(self, *keys: int) -> Place:
        """Returns the scores or weights on these tokens alone."""
        if self.kind not in ("scores", "weights"):
            raise Error(f"Place.to: expected scores or weights, which have keys; got {self.kind}")
        return changed(self, features=keys)

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


def ablate(place: Place, mean: Any = 0.0) -> Intervention:
    """Zero ablation, or mean ablation with a number or an array that broadcasts to the values of a layer."""
    return Intervention(place, lambda value, layer: value * 0 + mean)


def steer(place: Place, direction: Any, strength: float = 1.0) -> Intervention:
    """Activation steering (Turner et al. 2023): adds `strength` times `direction`, (n), to the values."""
    return Intervention(place, lambda value, layer: value + _core.tensor(direction, value.dtype) * strength)


def replace(place: Place, function: Callable[[Tensor], Any]) -> Intervention:
    """Replaces the values of the place by those of function(values of the layer)."""
    return Intervention(place, lambda value, layer: function(value))


def patch(place: Place, source: Trace | Any) -> Intervention:
    """Activation patching (Meng et al. 2022): the values are those in a Trace of a text of the same length, or in an array or a tensor."""
    def change(value: Tensor, layer: int) -> Tensor:
        given: Any = source
        if isinstance(source, Trace):
            last = f"layers.{layer - 1}.residual_out" if layer else "embedded"
            given = source[last if place.kind == "residual" else f"layers.{layer}.{_KINDS[place.kind][1]}"]
        found = given if isinstance(given, Tensor) else _core.tensor(given, value.dtype)
        if found.shape != value.shape:
            raise Error(f"patch: expected values of shape {value.shape}, got {found.shape}")
        return found

    return Intervention(place, change)


def cut(layer: int, head: int, query: int, keys: int | Sequence[int]) -> Intervention:
    """Attention knockout (Geva et al. 2023): token `query` does not see the keys, and the others share their weight. -1: all heads."""
    place = Place.scores(layer, head).at(query).to(*([keys] if isinstance(keys, int) else keys))
    return Intervention(place, lambda value, layer: _core.full(value.shape, -math.inf, value.dtype))


@contextlib.contextmanager
def intervene(model: Model, *interventions: Intervention) -> Iterator[None]:
    """Makes interventions hold for all that this thread does with the model: logits(), loss(), trace(), generate().

        with heedml.intervene(model, heedml.ablate(heedml.Place.mlp_output(2).at(5)), heedml.patch(heedml.Place.residual(3), other)):
            changed = model.trace(text)["logits"]

    At one place, each intervention sees the result of those before it. Gradients flow through the replacements.
    """
    at: dict[str, list[tuple[int, Intervention]]] = {}
    for one in interventions:
        for layer in one.place.layers(model):
            at.setdefault(one.place.name(model, layer), []).append((layer, one))

    def change(name: str, value: Tensor) -> Tensor:
        for layer, one in at[name]:
            value = _core.where(one.place.chosen(value.shape), one.change(value, layer), value)
        return value

    with _core.Hook(change, only=list(at)):
        yield
