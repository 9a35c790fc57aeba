"""Batches on other threads, splits, padding."""

import itertools
import os
import signal
import threading
import time

import heedml
import numpy
import pytest


@pytest.mark.parametrize("prefetch, workers", [(0, 1), (1, 1), (4, 3)])
def test_a_loader_gives_batches_in_the_order_of_the_steps(prefetch, workers):
    random = heedml.Random(1)

    def batch(step):
        time.sleep(0.002 * (step % 3))
        return step, random.stream(step).normal(3).tolist()

    given = list(heedml.Loader(batch, steps=9, first=2, prefetch=prefetch, workers=workers))
    assert [step for step, _ in given] == list(range(2, 9)) and given == [batch(step) for step in range(2, 9)]
    endless = iter(heedml.Loader(lambda step: step, prefetch=prefetch, workers=workers))
    assert [next(endless) for _ in range(20)] == list(range(20))


def test_a_loader_prefetches_and_makes_no_batch_too_many():
    made, main = [], threading.get_ident()
    loader = heedml.Loader(lambda step: made.append((step, threading.get_ident())), prefetch=2)
    next(loader)
    time.sleep(0.1)
    assert [step for step, _ in made] == [0, 1, 2] and main not in {thread for _, thread in made}
    loader.close()
    with pytest.raises(StopIteration):
        next(loader)
    assert len(made) == 3


def test_an_error_of_a_batch_is_raised_at_its_step():
    loader = heedml.Loader(lambda step: 1 // (step - 1), steps=4, workers=2)
    assert next(loader) == -1
    with pytest.raises(ZeroDivisionError):
        next(loader)
    assert list(loader) == [1, 0]
    for wrong in ({"steps": -1}, {"workers": 0}, {"prefetch": -1}, {"first": -1}):
        with pytest.raises(heedml.Error, match="Loader: .*: expected a whole number"):
            heedml.Loader(int, **wrong)


def test_orders_cover_all_examples_in_each_pass():
    random = heedml.Random(5)
    steps = [heedml.batch_order(10, 4, step, random) for step in range(5)]
    assert sorted(numpy.concatenate(steps)[:10]) == list(range(10)) == sorted(numpy.concatenate(steps)[10:])
    assert steps[3].tolist() == heedml.batch_order(10, 4, 3, heedml.Random(5)).tolist()


def test_splits_are_those_of_cpp():
    random = heedml.Random(1)
    assert [part.tolist() for part in heedml.train_test_split(10, 0.25, random)] == [[7, 1, 9, 0, 6, 3, 8], [4, 2, 5]]  # tests/data/splits_test.cpp
    assert [test.tolist() for _, test in heedml.kfold(7, 3, heedml.Random(2))] == [[5, 4], [1, 3], [2, 6, 0]]
    assert heedml.batch_order(10, 4, 3, heedml.Random(5)).tolist() == [7, 8, 6, 0]
    order = heedml.Random(1).permutation(10)
    train, test = heedml.train_test_split(10, 0.25, random)
    assert test.tolist() == order[:3].tolist() and train.tolist() == order[3:].tolist() and random.state() == heedml.Random(1).state()
    assert len(heedml.train_test_split(10, 4, random)[1]) == 4
    folds = heedml.kfold(10, 3, random)
    assert [test.tolist() for _, test in folds] == [order[:3].tolist(), order[3:6].tolist(), order[6:].tolist()]
    assert all(sorted([*train, *test]) == list(range(10)) for train, test in folds) and folds[1][0].tolist() == [*order[:3], *order[6:]]
    for call in (lambda: heedml.train_test_split(10, 0, random), lambda: heedml.train_test_split(10, float("nan"), random),
                 lambda: heedml.train_test_split(1, 0.5, random), lambda: heedml.kfold(3, 4, random), lambda: heedml.kfold(3, 1, random)):
        with pytest.raises(heedml.Error, match="expected"):
            call()


def test_padding():
    ids, lengths = heedml.pad_sequences([[5, 1, 2], [7], []], value=9)
    assert ids.tolist() == [[5, 1, 2], [7, 9, 9], [9, 9, 9]] and ids.dtype == "int32" and lengths == [3, 1, 0]
    ids, lengths = heedml.pad_sequences([numpy.array([5, 1, 2]), [7]], length=2)
    assert ids.tolist() == [[5, 1], [7, 0]] and lengths == [2, 1]
    with pytest.raises(heedml.Error, match="^pad_sequences: length: expected a whole number at least 0, below 2.31, got -1"):
        heedml.pad_sequences([[1]], length=-1)
    for sequences, found in [([[1], [1.7, 2.9]], "sequence 1: expected an array of integers"), ([heedml.ones(2)], "sequence 0: expected an array"),
                             ([[2**40 + 7]], "sequence 0: .*got 1099511627783"), ([numpy.array([2**63], "uint64")], "sequence 0: "),
                             ([[[1]]], r"sequence 0: .*shape \(1, 1\)")]:
        with pytest.raises(heedml.Error, match=f"^pad_sequences: {found}"):
            heedml.pad_sequences(sequences)
    with pytest.raises(heedml.Error, match="^pad_sequences: value: expected a whole number, got 0.5$"):
        heedml.pad_sequences([[1]], value=0.5)


@pytest.mark.parametrize("prefetch", [0, 2])
def test_a_loader_begins_again_and_names_the_step_of_a_stop_iteration(prefetch):
    loader = heedml.Loader(lambda step: step, steps=5, first=2, prefetch=prefetch)
    assert len(loader) == 3 and list(loader) == [2, 3, 4] == list(loader)
    assert list(itertools.islice(loader, 1)) == [2] and list(loader) == [3, 4]
    with loader as same:
        assert next(iter(same)) == 2
    with pytest.raises(heedml.Error, match="Loader: it is closed"):
        list(loader)
    with pytest.raises(TypeError, match="endless"):
        len(heedml.Loader(int, prefetch=prefetch))
    source = iter([1, 2])
    loader = iter(heedml.Loader(lambda step: next(source), steps=9, prefetch=prefetch))
    assert [next(loader), next(loader)] == [1, 2]
    with pytest.raises(heedml.Error, match=r"make_batch\(2\) raised StopIteration"):
        next(loader)
    with pytest.raises(heedml.Error, match="^Loader: steps: expected a whole number, got 3.5$"):
        heedml.Loader(int, steps=3.5)


def test_a_forked_child_is_told_to_make_its_own_loader():
    loader = heedml.Loader(lambda step: step, steps=8, prefetch=3)
    next(loader)
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            next(loader)
        except heedml.Error as error:
            os._exit(7 if "make the Loader in the child" in str(error) else 1)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7 and list(loader) == list(range(1, 8))


def test_splits_name_what_is_wrong():
    random = heedml.Random(1)
    for call, text in [(lambda: heedml.train_test_split(10, 1.5, random), "test: expected a share between 0 and 1 or a whole number"),
                       (lambda: heedml.train_test_split(10, 0.99, random), "test=0.99 of 10 examples leaves none for training"),
                       (lambda: heedml.train_test_split(10, 0.2, 1), "random: expected a Random, such as .*, got int"),
                       (lambda: heedml.train_test_split(10, 0.2, numpy.random.default_rng(1)), "random: expected a Random"),
                       (lambda: heedml.train_test_split(numpy.arange(10), 0.2, random), "count, .*: expected a whole number, got ndarray")]:
        with pytest.raises(heedml.Error, match=f"^train_test_split: {text}"):
            call()
