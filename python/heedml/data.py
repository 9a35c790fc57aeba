"""Batches on other threads, splits and padding."""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, Self, TypeVar

import numpy
from numpy.typing import NDArray

from ._core import Random
from .checks import number, whole
from .convert import integers
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

    A loop over a Loader that has ended begins again at `first`; after a `break` the next loop continues with the step after it. A forked
    child makes a Loader of its own. `with` closes it, and len() counts its steps.
    """

    def __init__(self, make_batch: Callable[[int], T], *, steps: int = 0, first: int = 0, prefetch: int = 2, workers: int = 1) -> None:
        """Gives the batches of the steps from `first` to `steps` (0: endless), of which `prefetch` may be ready before they are asked
        for; 0: the caller makes each."""
        self.make_batch, self.steps = make_batch, whole("Loader: steps", steps, 0, 2**63 - 1)
        self._first = self._step = self._taken = whole("Loader: first", first, 0, 2**63 - 1)
        self.prefetch = whole("Loader: prefetch", prefetch, 0, 2**31 - 1)
        self._workers = whole("Loader: workers", workers, 1, 2**31 - 1)
        self._made: deque[Future[T]] = deque()
        self._pool: ThreadPoolExecutor | None = None
        self._process, self._is_closed = 0, False

    def _make(self, step: int) -> T:
        try:
            return self.make_batch(step)
        except StopIteration as error:  # which would end the caller's loop
            raise Error(f"Loader: make_batch({step}) raised StopIteration; expected a batch for each step. An iterator that runs out needs "
                        "steps=, the number of its batches") from error

    def __iter__(self) -> Self:
        if self._is_closed:
            raise Error("Loader: it is closed; make another one")
        if self.steps and self._taken >= self.steps:
            self._step = self._taken = self._first
        return self

    def __next__(self) -> T:
        if self._is_closed or self.steps and self._taken >= self.steps:
            self._end()
            raise StopIteration
        if self._pool is not None and self._process != os.getpid():
            raise Error("Loader: its threads belong to the process that this one was forked from; make the Loader in the child")
        step, self._taken = self._taken, self._taken + 1
        if not self.prefetch:
            return self._make(step)
        if self._pool is None:
            self._pool, self._process = ThreadPoolExecutor(min(self._workers, self.prefetch)), os.getpid()
        while len(self._made) <= self.prefetch and not (self.steps and self._step >= self.steps):
            self._made.append(self._pool.submit(self._make, self._step))
            self._step += 1
        return self._made.popleft().result()

    def __len__(self) -> int:
        if not self.steps:
            raise TypeError("len() needs a Loader with steps=; this one is endless")
        return max(self.steps - self._first, 0)

    def _end(self) -> None:
        if self._pool is not None and self._process == os.getpid():
            self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool = None
        self._made.clear()

    def close(self) -> None:
        """Makes no other batches. The end of the object does so, too."""
        self._is_closed = True
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_pool", None) is not None:
            self.close()


def pad_sequences(sequences: Sequence[Sequence[int]], value: int = 0, length: int = 0) -> tuple[NDArray[numpy.int32], list[int]]:
    """Pads sequences to the length of the longest, or cuts and pads them to `length`: ids (B, T), and the lengths.

        tokens, lengths = heedml.pad_sequences([[5, 1, 2], [7]])   # (2, 3), [3, 1]
        logits = model.logits(heedml.Batch(tokens, lengths=lengths))
    """
    fill = whole("pad_sequences: value", value, -2**31, 2**31 - 1)
    rows = [_ids(f"pad_sequences: sequence {i}", sequence) for i, sequence in enumerate(sequences)]
    T = whole("pad_sequences: length", length, 0, 2**31 - 1) or max(map(len, rows), default=0)
    ids = numpy.full((len(rows), T), fill, numpy.int32)
    lengths = [min(len(row), T) for row in rows]
    for row, given, kept in zip(ids, rows, lengths):
        row[:kept] = given[:kept]
    return ids, lengths


def _ids(where: str, sequence: Sequence[int]) -> NDArray[numpy.int64]:
    """Returns whole numbers that int32 holds."""
    ids: NDArray[numpy.int64] = integers(where, sequence)
    if ids.ndim != 1:
        raise Error(f"{where}: expected whole numbers in one dimension, got shape {ids.shape}")
    for extreme in (ids.min(initial=0), ids.max(initial=0)):
        whole(where, extreme, -2**31, 2**31 - 1)
    return ids


def _order(function: str, count: int, random: Random) -> NDArray[numpy.int32]:
    """Returns 0, ..., count - 1 in an order that depends on the state of `random`, which stays as it is."""
    whole(f"{function}: count, the number of examples", count, 2, 2**31 - 1)
    if not isinstance(random, Random):
        raise Error(f"{function}: random: expected a Random, such as heedml.Random(1), got {type(random).__name__}")
    return Random.restored(random.state()).permutation(count)


def train_test_split(count: int, test: float, random: Random) -> tuple[NDArray[numpy.int32], NDArray[numpy.int32]]:
    """Divides `count` examples at random: their indices for training (n) and for the test (m).

    `test` is a share below 1, which is rounded up, or a number of examples. `random` stays as it is: the same Random gives the same split.

        train, test = heedml.train_test_split(150, 0.2, heedml.Random(1))
        x_train, x_test = x[train], x[test]
    """
    order = _order("train_test_split", count, random)
    share = number("train_test_split: test", test)
    if 0 < share < 1:
        held_out = math.ceil(share * count)
        if held_out == count:
            raise Error(f"train_test_split: test={share:g} of {count} examples leaves none for training; expected a share up to "
                        f"{count - 1}/{count}")
    elif isinstance(test, (float, numpy.floating)):
        raise Error(f"train_test_split: test: expected a share between 0 and 1 or a whole number of examples, got {share}")
    else:
        held_out = whole("train_test_split: test", test, 1, count - 1)
    return order[held_out:], order[:held_out]


def kfold(count: int, k: int, random: Random) -> list[tuple[NDArray[numpy.int32], NDArray[numpy.int32]]]:
    """Divides `count` examples at random into k parts that differ in size by at most 1: k pairs of indices for training and for the
    test, of which each holds out one part. `random` stays as it is: the same Random gives the same parts."""
    order = _order("kfold", count, random)
    whole("kfold: k, the number of parts", k, 2, count)
    ends = [count * i // k for i in range(k + 1)]
    return [(numpy.concatenate([order[:begin], order[end:]]), order[begin:end]) for begin, end in zip(ends, ends[1:])]
