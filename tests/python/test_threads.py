"""Threads that share what they train, and daemon threads at the end of the interpreter."""

import subprocess
import sys
import threading

import heedml
import numpy
import pytest

AT_THE_END = """
import heedml, threading, time
def work():
    scope = heedml.Scope(seed=1)
    layer, x = heedml.Linear(scope, 64, 64), heedml.ones((64, 64))
    adam = heedml.Adam(scope.parameters)
    double = heedml.custom_operation(lambda x: x * 2, lambda dy, y, x: dy * 2)
    while True:
        with heedml.Hook(lambda name, value: value), heedml.Recording():
            adam.step(double(layer(x)).square().mean().backward())
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
print("end", flush=True)
"""


def test_the_interpreter_ends_while_daemon_threads_compute():
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", AT_THE_END], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


def test_a_second_thread_cannot_update_the_same_parameters():
    scope = heedml.Scope(seed=1)
    layer = heedml.Linear(scope, 2, 1)
    lbfgs, adam = heedml.Lbfgs(scope.parameters), heedml.Adam(scope.parameters)
    with heedml.Recording():
        gradients = layer(heedml.ones((3, 2))).mean().backward()
    copies = {name: parameter.clone() for name, parameter in scope.parameters.items()}
    state, is_inside, may_end = adam.state(), threading.Event(), threading.Event()

    def loss():
        is_inside.set()
        may_end.wait(60)
        return layer(heedml.ones((3, 2))).square().mean()

    other = threading.Thread(target=lbfgs.step, args=(loss,))
    other.start()
    assert is_inside.wait(60)
    text = "another thread updates these parameters; let one thread at a time train a model"
    for update in (lambda: adam.step(gradients), lambda: lbfgs.step(loss), lambda: adam.load_state(state),
                   lambda: heedml.Linear(scope / "more", 2, 1), lambda: scope.parameters.load(copies)):
        with pytest.raises(heedml.Error, match=text):
            update()
    may_end.set()
    other.join()
    adam.step(gradients)


def test_functions_of_numpy_lose_no_gradient_on_another_thread():
    w, seen = heedml.variable([1.0, 2.0]), []

    def use(y):
        for f in (numpy.exp, numpy.sum, numpy.asarray, lambda y: y.numpy(), lambda y: numpy.exp(y.detach())):
            try:
                seen.append(f(y).sum())
            except heedml.Error as error:
                seen.append(str(error))

    def on_a_thread(y):
        seen.clear()
        other = threading.Thread(target=use, args=(y,))
        other.start()
        other.join()
        return seen

    with heedml.Recording():
        y = w * 2
        of_other = list(on_a_thread(y))
        seen.clear()
        use(y)
        assert of_other == seen and "numpy.exp: a Recording follows" in seen[0] and "would lose its gradient" in seen[3]
        assert all(isinstance(each, str) for each in seen[:4]) and seen[4] > 0
    assert not any(isinstance(each, str) for each in on_a_thread(y))


def test_threads_that_share_gradients_get_errors_or_results():
    scope = heedml.Scope(seed=1)
    layers = [heedml.Linear(scope / str(i), 256, 256) for i in range(8)]
    sgd, errors = heedml.SGD(scope.parameters, lr=1e-6), []

    def backward():
        with heedml.Recording():
            x = heedml.ones((4, 256))
            for layer in layers:
                x = layer(x)
            return x.mean().backward()

    shared, extra = heedml.Gradients(), backward()
    shared += backward()

    def work(use):
        for i in range(300):
            try:
                use(i)
            except heedml.Error as error:
                errors.append(str(error))

    def add(i):
        nonlocal shared
        shared += extra
        shared[heedml.variable(float(i))] = heedml.tensor(0.0)

    uses = [lambda i: sgd.step(shared), add, lambda i: heedml.clip_by_global_norm(shared, 1e-3), lambda i: heedml.global_norm(shared)]
    threads = [threading.Thread(target=work, args=(use,)) for use in uses]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert {error.split(";")[0] for error in errors} <= {"Gradients: another thread uses them now", "Gradients: another thread changes them now"}
    assert heedml.global_norm(backward()) < float("inf")
