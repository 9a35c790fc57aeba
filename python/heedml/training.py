"""Training of what a configuration describes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

from . import _core, checks
from ._core import Batch, Optimizer, Tensor
from .errors import Error, keywords
from .models import Model, load
from .paths import Path, text_of
from .running import running


def _source(config: Path | Mapping[str, Any] | None) -> tuple[str, str]:
    """Returns the path of a configuration, or its text: JSON is YAML."""
    if isinstance(config, Mapping):
        return "", json.dumps(checks.plain("", config), ensure_ascii=False)
    return text_of(config or ""), ""


def _settings(given: Mapping[str, Any] | None) -> list[str]:
    def shown(value: Any) -> Any:
        return json.dumps(value) if isinstance(value, bool) else value

    return [f"{key}={shown(checks.plain(key, value))}" for key, value in (given or {}).items()]


def train(config: Path | Mapping[str, Any] | None = None, *, set: Mapping[str, Any] | None = None,
          out: Path | None = None, resume: Path | None = None, quiet: bool = False,
          on_step: Callable[[int, float], Any] | None = None) -> Model:
    """Trains what a configuration (a YAML file, or a dict) describes, and opens the run that it writes.

        model = heedml.train("toy.yaml", set={"model.heads": 4, "train.steps": 200}, out="runs/four")

    `on_step` gets each step and its loss. Ctrl-C ends the run after its step and saves it; `resume` continues such a run.
    """
    if (config is None) == (resume is None):
        raise Error("train: expected either a configuration or resume=")
    path, text = _source(config)
    write = None if quiet else lambda line: (sys.stdout.write(line), sys.stdout.flush())
    with keywords():
        run = _core._train(path, text, _settings(set), text_of(out or ""), text_of(resume or ""), write, on_step)
    return load(run)


def _checked(function: str, step: int) -> int:
    if step < 0:
        raise Error(f"{function}: expected a step from 0, got {step}")
    return step


class Experiment(_core._Experiment):
    """The task, the model and the batches that a configuration describes, for a training loop of your own.

        experiment = heedml.Experiment("toy.yaml")
        optimizer = experiment.optimizer()
        for step in range(experiment.steps):
            with heedml.Recording():
                gradients = experiment.loss(step).backward()
            factor = heedml.clip_factor(heedml.global_norm(gradients), experiment.clip)
            optimizer.step(gradients, experiment.learning_rate(step), factor)

    This loop gives the bits of train().
    """

    def __init__(self, config: Path | Mapping[str, Any], set: Mapping[str, Any] | None = None) -> None:
        super().__init__(*_source(config), _settings(set))
        self.model = Model(self._model())
        self.steps: int = self._steps()
        self.clip: float = self._clip()

    def batch(self, step: int) -> Batch:
        """Returns the examples of training step `step`, from 0."""
        return self._batch(_checked("batch", step))

    def loss(self, step: int) -> Tensor:
        """Returns the loss of the examples of a step, with the configuration's dropout: ()."""
        with running(self.model):
            return self._loss(_checked("loss", step))

    def optimizer(self) -> Optimizer:
        """Returns a new optimiser with the configuration's options."""
        return self._optimizer()

    def learning_rate(self, step: int) -> float:
        """Returns the learning rate of a step."""
        return float(self._rate(step))

    def evaluate(self) -> dict[str, Any]:
        """Returns loss and accuracy on the held-out set."""
        with running(self.model):
            return dict(self._evaluate())
