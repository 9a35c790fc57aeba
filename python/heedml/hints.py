"""Says what to write for names of PyTorch and NumPy that heedml does not have."""

import difflib
from collections.abc import Iterable
from typing import Any

from . import _core
from .counterparts import NONE, OF_LAYER, OF_OPTIMIZER, OF_PARAMETERS
from .counterparts import OF_MODULE as OF_MODULE
from .counterparts import OF_TENSOR as OF_TENSOR


def missing(owner: str, hints: dict[str, str], names: list[str], name: str) -> AttributeError:
    """Returns the error of a name that `owner` does not have."""
    if name in hints:
        return AttributeError(f"{owner} has no '{name}'; instead: {hints[name]}")
    if name in NONE:
        return AttributeError(f"{owner} has no '{name}', and no counterpart of it")
    public = [] if name.startswith("_") or name.endswith("_") else [one for one in names if not one.startswith("_")]
    close = difflib.get_close_matches(name, public, 1, 0.8)
    return AttributeError(f"{owner} has no '{name}'" + (f"; did you mean {close[0]}?" if close else ""))


class _Absent:
    """An attribute that a class does not have, with a hint. (A method __getattr__ would make each call of a method slower.)"""

    def __init__(self, owner: str, hints: dict[str, str], name: str) -> None:
        self.owner, self.hints, self.name = owner, hints, name

    def __get__(self, instance: object, owner: type) -> "_Absent":
        if instance is None:
            return self
        raise missing(self.owner, self.hints, [], self.name)


def _named(kind: type) -> str:
    """Returns the name of a class with its article: an Optimizer, an LSTM, a Linear."""
    return f"{'an' if kind.__name__.startswith(('A', 'E', 'I', 'O', 'LSTM', 'RNN')) else 'a'} {kind.__name__}"


def _refuse_copy(layer: object, *_: object) -> None:
    raise TypeError(f"{_named(type(layer))} cannot be pickled, and a copy would share its memory; copy.deepcopy() copies layers with "
                    "their parameters, and save_tensors() writes parameters to a file")


def _refuse_any_copy(optimizer: object, *_: object) -> None:
    raise TypeError(f"{_named(type(optimizer))} cannot be copied or pickled; make another one, and call its load_state(state())")


def _deepcopy(layer: Any, memo: dict[Any, Any]) -> Any:
    """Copies what one deepcopy() finds: layers, and the scopes and parameters that belong to them."""
    return layer._copied(memo.setdefault("heedml", _core._Copies()))


def _copy_random(random: Any, memo: dict[Any, Any]) -> Any:
    """Returns a generator that continues as this one does."""
    return type(random).restored(random.state())


def _pickle_random(random: Any, _: object) -> Any:
    return _random_of, (random.state(),)


def _random_of(state: str) -> Any:
    return _core.Random.restored(state)


def _pickle_batch(batch: Any, _: object) -> Any:
    names = ("segments", "query", "candidates", "answer", "chosen", "targets")
    return _batch_of, (batch.tokens, batch.lengths or None, {name: getattr(batch, name) for name in names})


def _batch_of(tokens: Any, lengths: Any, fields: dict[str, Any]) -> Any:
    return _core.Batch(tokens, lengths=lengths, **fields)


def _refuse_model(model: Any, _: object) -> None:
    raise TypeError("a Model cannot be pickled; save() writes it to a file, and load() opens it in another process")


def _share(constant: Any, memo: dict[Any, Any]) -> Any:
    """Returns what nothing writes to."""
    return constant


def _add(kind: type, owner: str, hints: dict[str, str], others: Iterable[str] = ()) -> None:
    """Adds hints, and other names without one, to a class, hidden from dir()."""
    absent = {*hints, *others}
    for name in absent:
        setattr(kind, name, _Absent(owner, hints, name))
    setattr(kind, "__dir__", lambda self: [name for name in object.__dir__(self) if name not in absent])


def add_to(names: dict[str, Any]) -> None:
    """Adds the hints to the classes of the module."""
    _add(names["Tensor"], "a Tensor", OF_TENSOR, NONE - OF_TENSOR.keys())
    _add(names["Optimizer"], "an Optimizer", OF_OPTIMIZER)
    _add(names["Parameters"], "Parameters", OF_PARAMETERS)
    layers = {name: kind for name, kind in names.items() if isinstance(kind, type) and kind.__module__ == "heedml._core"
              and "__call__" in vars(kind) and name != "Schedule"}
    for name, kind in layers.items():
        _add(kind, _named(kind), OF_LAYER)
    for kind in (*layers.values(), names["Scope"], names["Parameters"]):
        setattr(kind, "__deepcopy__", _deepcopy if hasattr(kind, "_copied") else _refuse_copy)
        setattr(kind, "__reduce_ex__", _refuse_copy)
    for name in ("Mask", "RotaryEmbedding", "Schedule", "Init"):
        setattr(names[name], "__deepcopy__", _share)
    setattr(names["Random"], "__deepcopy__", _copy_random)
    setattr(names["Random"], "__reduce_ex__", _pickle_random)
    setattr(names["Batch"], "__reduce_ex__", _pickle_batch)
    setattr(_core._Model, "__reduce_ex__", _refuse_model)
    setattr(names["Tensor"], "__deepcopy__", _deepcopy)
    setattr(names["Optimizer"], "__deepcopy__", _refuse_any_copy)
    setattr(names["Optimizer"], "__reduce_ex__", _refuse_any_copy)
