"""Embeddings of texts, as sentence-transformers makes them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy
import numpy.typing

from . import _core
from .errors import Error

if TYPE_CHECKING:
    from .models import Model

Pooling = Literal["mean", "cls", "max", "lasttoken", "weightedmean", "mean_sqrt_len_tokens"]
_POOLINGS = ("mean", "cls", "max", "lasttoken", "weightedmean", "mean_sqrt_len_tokens")
# The values of newer keys of sentence_bert_config.json with which a text is read as without them.
_PLAIN = {"transformer_task": "feature-extraction", "module_output_name": "token_embeddings", "processing_kwargs": {},
          "modality_config": {"text": {"method": "forward", "method_output_name": "last_hidden_state"}}}
_OLD_KEYS = {"pooling_mode_cls_token": "cls", "pooling_mode_max_tokens": "max", "pooling_mode_mean_tokens": "mean",
             "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens", "pooling_mode_weightedmean_tokens": "weightedmean",
             "pooling_mode_lasttoken": "lasttoken"}


@dataclass(frozen=True)
class Recipe:
    """How an embedding follows from the states of a text."""

    pooling: str = "mean"
    normalize: bool = True  # before the embedding is cut to `size`
    max_length: int | None = None
    prompt: str = ""
    lower_case: bool = False
    size: int | None = None  # of the embedding; None: d_model
    normalize_cut: bool = False  # after that


def checked_pooling(where: str, name: object) -> str:
    """Returns the name of a pooling. Raises Error that begins with `where` for another."""
    if name not in _POOLINGS:
        raise Error(f"{where}: expected a pooling from {', '.join(_POOLINGS)}, got {name!r}")
    return str(name)


def recipe_of(path: str | None) -> Recipe:
    """Returns the recipe in the files that sentence-transformers writes beside a model; without them the mean, of length 1.

    Raises Error for files that are without a part or ask for what heed does not compute.
    """
    place = "" if path is None else path if os.path.isdir(path) else os.path.dirname(path)
    if path is None or not os.path.exists(os.path.join(place, "modules.json")):
        return Recipe()
    file = _File(os.path.join(place, "modules.json"))
    kinds = [str(module.get("type", "")) if isinstance(module, dict) else "" for module in file.of(list)]
    names = [kind.rsplit(".", 1)[-1] for kind in kinds]
    for kind, name in zip(kinds, names):
        if name not in ("Transformer", "Pooling", "Normalize", "Dropout") or not kind.startswith("sentence_transformers."):
            file.refuse(f"has a module '{kind}', which heed does not compute. pooling='mean' takes the states alone")
    if names[:2] != ["Transformer", "Pooling"]:
        file.refuse(f"expected the modules Transformer and Pooling, got {names}")
    pooling = _File(os.path.join(place, str(file.of(list)[1].get("path")), "config.json"))
    old = [name for key, name in _OLD_KEYS.items() if pooling.get(key)]
    if "pooling_mode" not in pooling.of(dict) and not old:
        pooling.refuse("it names no pooling")
    texts, whole = (_File(os.path.join(place, name), is_needed=False)
                    for name in ("sentence_bert_config.json", "config_sentence_transformers.json"))
    for key, value in texts.of(dict).items():
        if key not in ("max_seq_length", "do_lower_case") and value is not None and value != _PLAIN.get(key):
            texts.refuse(f"{key}: heed does not read texts so, got {value!r}. pooling='mean' takes the states of the plain text")
    prompts, chosen = whole.get("prompts") or {}, whole.get("default_prompt_name")
    if chosen is not None and (not isinstance(prompts, dict) or not isinstance(prompts.get(chosen), str)):
        whole.refuse(f"default_prompt_name: expected one of the prompts, got {chosen!r}")
    prompt = "" if chosen is None else prompts[chosen]
    if prompt and pooling.get("include_prompt") is False:
        pooling.refuse("include_prompt false leaves the tokens of the prompt out, which heed does not do")
    tokenizer = _File(os.path.join(place, "tokenizer_config.json"), is_needed=False)
    lengths = [length for length in (texts.number("max_seq_length"), tokenizer.number("model_max_length")) if length is not None]
    return Recipe(checked_pooling(pooling.where, pooling.get("pooling_mode", old[0] if len(old) == 1 else old)), "Normalize" in names,
                  lengths[0] if lengths else None, prompt, texts.get("do_lower_case") is True, whole.number("truncate_dim"))


def embeddings(model: Model, texts: Sequence[str], recipe: Recipe, max_length: int | None,
               batch_size: int) -> numpy.typing.NDArray[numpy.float32]:
    """Returns the embeddings of texts: (texts, d_model)."""
    given = [recipe.prompt + (text.lower() if recipe.lower_case else text) for text in texts]
    order = sorted(range(len(given)), key=lambda i: len(given[i]))
    result = numpy.zeros((len(given), model.config["transformer"]["block"]["attention"]["d_model"]), numpy.float32)
    with _core.NoRecording():
        for first in range(0, len(given), batch_size):
            chosen = order[first:first + batch_size]
            batch = model.batch([given[i] for i in chosen], max_length or 0)
            lengths = numpy.asarray(batch.lengths or [batch.tokens.shape[1]] * len(chosen))
            if max_length is None and recipe.max_length is not None and lengths.max() > recipe.max_length:
                at, limit = int(lengths.argmax()), recipe.max_length
                raise Error(f"encode: text {chosen[at]} has {lengths[at]} tokens, more than the {limit} that the model's files name. "
                            f"max_length={limit} cuts it, as sentence-transformers does")
            pooled = _pooled(recipe.pooling, model.states(batch), lengths)
            if recipe.normalize:
                pooled = pooled / pooled.norm(axis=1, keepdim=True)
            pooled = pooled[:, :recipe.size]
            if recipe.normalize_cut:
                pooled = pooled / pooled.norm(axis=1, keepdim=True)
            result[chosen, :recipe.size] = pooled.numpy()
    return result[:, :recipe.size]


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


class _File:
    """A JSON file of sentence-transformers."""

    def __init__(self, path: str, is_needed: bool = True) -> None:
        self.where = f"encode: {path}"
        try:
            with open(path, encoding="utf-8") as file:
                self.value = json.load(file)
        except FileNotFoundError:
            if is_needed:
                self.refuse("the file is missing")
            self.value = {}
        except (OSError, ValueError) as error:
            self.refuse(str(error))

    def refuse(self, text: str) -> NoReturn:
        raise Error(f"{self.where}: {text}")

    def of(self, kind: type) -> Any:
        """Returns the value, which is a list or a dict."""
        if not isinstance(self.value, kind):
            self.refuse(f"expected a JSON {'list' if kind is list else 'object'}")
        return self.value

    def get(self, key: str, otherwise: Any = None) -> Any:
        """Returns the value of a key."""
        return self.of(dict).get(key, otherwise)

    def number(self, key: str) -> int | None:
        """Returns a number of at least 1; none where the key is missing or null, or the number means no limit."""
        value = self.get(key)
        if value is None or (isinstance(value, (int, float)) and value > 1e9):
            return None
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            self.refuse(f"{key}: expected a whole number of at least 1, got {value!r}")
        return int(value)
