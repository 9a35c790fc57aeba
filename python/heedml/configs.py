"""Configurations of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import _core


def gpt2(layers: int, heads: int, d_model: int, **fields: Any) -> dict[str, Any]:
    """Returns the architecture of GPT-2 in this size, with other values of `fields`, such as max_length=1024."""
    return {**_core._preset("gpt2", [layers, heads, d_model]), **fields}


def bert(layers: int, heads: int, d_model: int, **fields: Any) -> dict[str, Any]:
    """Returns the architecture of BERT in this size."""
    return {**_core._preset("bert", [layers, heads, d_model]), **fields}


def llama(layers: int, heads: int, kv_heads: int, d_model: int, mlp_width: int, **fields: Any) -> dict[str, Any]:
    """Returns the architecture of LLaMA in this size."""
    return {**_core._preset("llama", [layers, heads, kv_heads, d_model, mlp_width]), **fields}


def _model_config(kind: str, transformer: Mapping[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    return {"kind": kind, "transformer": dict(transformer), **fields}


def language_model(transformer: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    """Returns the configuration of a decoder that predicts the next token at each token."""
    return _model_config("language_model", {"causal": True, **transformer}, fields)


def masked_language_model(transformer: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    """Returns the configuration of an encoder that predicts hidden tokens."""
    return _model_config("masked_language_model", transformer, fields)


def word_answerer(transformer: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    """Returns the configuration of a model that answers a question about a text with a word."""
    return _model_config("word_answerer", transformer, fields)


def candidate_chooser(transformer: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    """Returns the configuration of a model that answers with one of the text's candidates."""
    return _model_config("candidate_chooser", transformer, fields)


def text_classifier(transformer: Mapping[str, Any], classes: Sequence[str], **fields: Any) -> dict[str, Any]:
    """Returns the configuration of a model that tells which class a text is of: an encoder at its first token, behind a linear layer
    and tanh, as BERT does; a causal transformer at its last, as GPT-2 does."""
    causal = bool(transformer.get("causal"))
    fields = {"transform": not causal, "activation": "tanh", **fields}
    return _model_config("text_classifier", transformer, {"classes": list(classes), **fields})


def bare_transformer(transformer: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    """Returns the configuration of a transformer without a head."""
    return _model_config("bare_transformer", transformer, fields)
