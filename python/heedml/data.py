"""Batches on other threads, splits and padding."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

import numpy
from numpy.typing import NDArray

from ._core import Random
from .errors import Error

T = TypeVar("T")


class Loader(Generic[T]):
    """Makes batches on other threads while the caller trains, and gives them in the order of the steps.

        order = lambda step: heedml.batch_order(len(images), 64, step, random)
        for batch in heedml.Loader(lambda step: images[order(step)], steps=1000, prefetch=4):
            ...

    `make_batch(step)` depends on the step alone, so the batches are the same for any number of workers. It runs on several threads if
    there are several workers: let it draw random numbers from random.stream(step). Threads of Python share one processor, except while
    NumPy, heedml or a file works. An exception of make_batch() is raised at its step; the next batch is that of the step after it.
    """

    def __init__(self, make_batch: Callable[[int], T], *, steps: int = 0, first: int = 0, prefetch: int = 2, workers: int = 1) -> None:
        """Gives the batches of the steps from `first` to `steps` (0: endless), of which `prefetch` may be ready before they are asked
        for; 0: the caller makes each."""
        if steps < 0 or first < 0 or prefetch < 0 or workers < 1:
            raise Error("Loader: expected steps, first and prefetch of at least 0 and workers of at least 1, got "
                        f"{steps}, {first}, {prefetch} and {workers}")
        self.make_batch, self.steps, self.prefetch = make_batch, steps, prefetch
        self._step = self._taken = first
        self._made: deque[Future[T]] = deque()
        self._pool = ThreadPoolExecutor(min(workers, prefetch)) if prefetch else None

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        if self.steps and self._taken >= self.steps:
            self.close()
            raise StopIteration
        step, self._taken = self._taken, self._taken + 1
        if self._pool is None:
            return self.make_batch(step)
        while len(self._made) <= self.prefetch and not (self.steps and self._step >= self.steps):
            self._made.append(self._pool.submit(self.make_batch, self._step))
            self._step += 1
        return self._made.popleft().result()

    def close(self) -> None:
        """Makes no other batches. The end of the steps and of the object do so, too."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
        self.steps = self._taken = self._taken or 1

    def __del__(self) -> None:
        if getattr(self, "_pool", None) is not None:
            self.close()


def pad_sequences(sequences: Sequence[Sequence[int]], value: int = 0, length: int = 0) -> tuple[NDArray[numpy.int32], list[int]]:
    """Pads sequences to the length of the longest, or cuts and pads them to `length`: ids (B, T), and the lengths.

        tokens, lengths = heedml.pad_sequences([[5, 1, 2], [7]])   # (2, 3), [3, 1]
        logits = model.logits(heedml.Batch(tokens, lengths=lengths))
    """
    if length < 0:
        raise Error(f"pad_sequences: expected a length of at least 0, got {length}")
    T = length or max(map(len, sequences), default=0)
    ids = numpy.full((len(sequences), T), value, numpy.int32)
    lengths = [min(len(sequence), T) for sequence in sequences]
    for row, sequence, kept in zip(ids, sequences, lengths):
        row[:kept] = sequence[:kept]
    return ids, lengths


def _order(function: str, count: int, random: Random) -> NDArray[numpy.int32]:
    """Returns 0, ..., count - 1 in an order that depends on the state of `random`, which stays as it is."""
    if not 2 <= count < 2**31:
        raise Error(f"{function}: expected a count of at least 2 examples, below 2^31, got {count}")
    return Random.restored(random.state()).permutation(count)


def train_test_split(count: int, test: float, random: Random) -> tuple[NDArray[numpy.int32], NDArray[numpy.int32]]:
    """Divides `count` examples at random: their indices for training (n) and for the test (m).

    `test` is a share below 1, which is rounded up, or a number of examples.

        train, test = heedml.train_test_split(150, 0.2, heedml.Random(1))
        x_train, x_test = x[train], x[test]
    """
    order = _order("train_test_split", count, random)
    held_out = math.ceil(test * count if test < 1 else test) if math.isfinite(test) else 0
    if not 1 <= held_out < count:
        raise Error(f"train_test_split: expected a share between 0 and 1 or a number from 1 to {count - 1} for the test set, got {test}")
    return order[held_out:], order[:held_out]


def kfold(count: int, k: int, random: Random) -> list[tuple[NDArray[numpy.int32], NDArray[numpy.int32]]]:
    """Divides `count` examples at random into k parts that differ in size by at most 1: k pairs of indices for training and for the
    test, of which each holds out one part."""
    order = _order("kfold", count, random)
    if not 2 <= k <= count:
        raise Error(f"kfold: expected 2 to {count} parts, got {k}")
    ends = [count * i // k for i in range(k + 1)]
    return [(numpy.concatenate([order[:begin], order[end:]]), order[begin:end]) for begin, end in zip(ends, ends[1:])]
