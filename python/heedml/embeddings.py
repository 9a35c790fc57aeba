"""Embeddings of texts, as sentence-transformers makes them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy
import numpy.typing

from . import _core
from .errors import Error

if TYPE_CHECKING:
    from .models import Model

Pooling = Literal["mean", "cls", "max", "lasttoken", "weightedmean", "mean_sqrt_len_tokens"]
_POOLINGS = ("mean", "cls", "max", "lasttoken", "weightedmean", "mean_sqrt_len_tokens")
_OLD_KEYS = {"pooling_mode_cls_token": "cls", "pooling_mode_max_tokens": "max", "pooling_mode_mean_tokens": "mean",
             "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens", "pooling_mode_weightedmean_tokens": "weightedmean",
             "pooling_mode_lasttoken": "lasttoken"}


@dataclass(frozen=True)
class Recipe:
    """How an embedding follows from the states of a text."""

    pooling: str = "mean"
    normalize: bool = True
    max_length: int | None = None
    prompt: str = ""
    lower_case: bool = False


def checked_pooling(where: str, name: object) -> str:
    """Returns the name of a pooling. Raises Error that begins with `where` for another."""
    if name not in _POOLINGS:
        raise Error(f"{where}: expected a pooling from {', '.join(_POOLINGS)}, got {name!r}")
    return str(name)


def recipe_of(path: str | None) -> Recipe:
    """Returns the recipe in the files that sentence-transformers writes beside a model; without them the mean, of length 1."""
    place = "" if path is None else path if os.path.isdir(path) else os.path.dirname(path)
    modules = _read(os.path.join(place, "modules.json"), list) if path is not None else []
    if not modules:
        return Recipe()
    kinds = {str(module.get("type", "")).rsplit(".", 1)[-1]: str(module.get("path", "")) for module in modules if isinstance(module, dict)}
    for kind in kinds:
        if kind not in ("Transformer", "Pooling", "Normalize"):
            raise Error(f"encode: {os.path.join(place, 'modules.json')} has a module '{kind}', which heed does not compute. "
                        "pooling='mean' takes the states alone")
    pooling = _read(os.path.join(place, kinds.get("Pooling", ""), "config.json"), dict) if "Pooling" in kinds else {}
    where = f"encode: {os.path.join(place, kinds.get('Pooling', ''), 'config.json')}"
    old = [name for key, name in _OLD_KEYS.items() if pooling.get(key)]
    chosen = pooling.get("pooling_mode", old[0] if len(old) == 1 else old or "mean")
    texts = _read(os.path.join(place, "sentence_bert_config.json"), dict)
    prompts = _read(os.path.join(place, "config_sentence_transformers.json"), dict)
    prompt = (prompts.get("prompts") or {}).get(prompts.get("default_prompt_name") or "", "")
    if prompt and pooling.get("include_prompt") is False:
        raise Error(f"{where}: include_prompt false leaves the tokens of the prompt out, which heed does not do")
    length = texts.get("max_seq_length")
    return Recipe(checked_pooling(where, chosen), "Normalize" in kinds, length if isinstance(length, int) else None, prompt,
                  texts.get("do_lower_case") is True)


def embeddings(model: Model, texts: Sequence[str], recipe: Recipe, max_length: int | None,
               batch_size: int) -> numpy.typing.NDArray[numpy.float32]:
    """Returns the embeddings of texts: (texts, d_model)."""
    given = [recipe.prompt + (text.lower() if recipe.lower_case else text) for text in texts]
    order = sorted(range(len(given)), key=lambda i: len(given[i]))
    result = numpy.zeros((len(given), model.config["transformer"]["block"]["attention"]["d_model"]), numpy.float32)
    with _core.NoRecording():
        for first in range(0, len(given), batch_size):
            chosen = order[first:first + batch_size]
            batch = model.batch([given[i] for i in chosen])
            lengths = numpy.asarray(batch.lengths or [batch.tokens.shape[1]] * len(chosen))
            limit = max_length or recipe.max_length
            if limit is not None and lengths.max() > limit:
                if max_length is None:
                    at = int(lengths.argmax())
                    raise Error(f"encode: text {chosen[at]} has {lengths[at]} tokens, more than the {limit} of max_seq_length in "
                                f"sentence_bert_config.json. max_length={limit} cuts it, as sentence-transformers does")
                batch = _cut(model, batch, lengths, limit)
                lengths = numpy.minimum(lengths, limit)
            pooled = _pooled(recipe.pooling, model.states(batch), lengths)
            if recipe.normalize:
                pooled = pooled / pooled.norm(axis=1, keepdim=True)
            result[chosen] = pooled.numpy()
    return result


def _pooled(pooling: str, states: _core.Tensor, lengths: numpy.typing.NDArray[Any]) -> _core.Tensor:
    """Returns (B, d_model) of states (B, T, d_model)."""
    places, last = numpy.arange(states.shape[1]), lengths[:, None] - 1
    if pooling == "max":
        return states.masked_fill((places > last)[:, :, None], -numpy.inf).max(1)
    weights = {"mean": places <= last, "mean_sqrt_len_tokens": places <= last, "cls": (places == 0) & (last >= 0),
               "lasttoken": places == last, "weightedmean": (places <= last) * (places + 1)}[pooling].astype(float)
    total = weights.sum(1, keepdims=True)
    shares = weights / (numpy.sqrt(total) if pooling == "mean_sqrt_len_tokens" else total)
    return (_core.tensor(shares[:, None, :], states.dtype) @ states).reshape((len(lengths), -1))


def _cut(model: Model, batch: _core.Batch, lengths: numpy.typing.NDArray[Any], limit: int) -> _core.Batch:
    """Cuts the words of long texts. The tokens that the template adds stay."""
    rows = batch.tokens
    try:
        added = model.batch([""]).tokens[0]
    except Error:
        added = rows[0, :0]  # a model of words, which reads no empty text
    cut = rows[:, :limit].copy()
    for row, length, kept in zip(rows, lengths, cut):
        before = 0
        while before < len(added) and row[before] == added[before]:
            before += 1
        after = len(added) - before
        if length > limit and 0 < after < limit:
            kept[limit - after:] = row[length - after:length]
    return _core.Batch(cut, lengths=numpy.minimum(lengths, limit))


def _read(path: str, kind: type) -> Any:
    """Returns the JSON value in a file, or an empty one where the file is missing."""
    try:
        with open(path, encoding="utf-8") as file:
            value = json.load(file)
    except FileNotFoundError:
        return kind()
    except ValueError as error:
        raise Error(f"encode: {path}: {error}") from None
    if not isinstance(value, kind):
        raise Error(f"encode: {path}: expected a JSON {'list' if kind is list else 'object'}")
    return value
