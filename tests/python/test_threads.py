"""Daemon threads at the end of the interpreter."""

import subprocess
import sys

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
