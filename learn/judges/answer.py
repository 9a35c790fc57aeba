"""answer.py: calls the functions of a step in Python for the judge (python.cpp).

A request is a line "load|FILE|SECONDS", of processor time that the file may use, or "name|argument|...". The answer is a line "ok|result|..."
or "text|...", "missing|function|line", "invalid|message" for a ValueError, or "error|message". An array is "sizes:numbers"; "b sizes:numbers" is one of booleans, "i sizes:numbers" one of integers. "i:numbers"
is a list of integers, "n:number" an integer, "f:number" a number, "m;NAME=ARRAY;..." the parameters of a model by name.
"p:N" is a part: a function of the judge's that the step may call by the answer "call|N|array", to which the judge answers with an array.
"""

import importlib.util
import os
import resource
import sys
import time
import traceback

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the matrices are small: more threads would wait for each other

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # for given
from given.models import AdamW, CharacterModel
from given.tape import Tensor, cross_entropy

np.seterr(all="ignore")
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what the step prints must not reach the judge


def limit(seconds):
    """Ends this process by SIGXCPU after as many more seconds of processor time, rounded up."""
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    soft = int(time.process_time() + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


def load(file):
    spec = importlib.util.spec_from_file_location("step", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# The expressions of step 1.
def expressions(step):
    return {
        "add": lambda v: v[0] + v[1],
        "subtract": lambda v: v[0] - v[1],
        "multiply": lambda v: v[0] * v[1],
        "divide": lambda v: v[0] / v[1],
        "exp": lambda v: step.exp(v[0]),
        "log": lambda v: step.log(v[0]),
        "tanh": lambda v: step.tanh(v[0]),
        "chain": lambda v: ((v[0] + v[1]) + v[2]) + v[3],
        "reused": lambda v: (v[0] + v[1]) + (v[0] + v[0]),
        "neuron": lambda v: step.tanh(v[0] * v[2] + v[1] * v[3] + v[4]) / (1.0 + step.exp(-v[0])),
    }


def differentiated(step, name, x):
    tape = step.Tape()
    leaves = [tape.leaf(float(number)) for number in x]
    y = expressions(step)[name](leaves)
    gradient = tape.backward(y)
    return y.number, [gradient[leaf.index] for leaf in leaves]


def earlier(step, a, b):
    """Returns y and its gradient by all entries of a tape on which y is not the last one."""
    tape = step.Tape()
    a, b = tape.leaf(float(a)), tape.leaf(float(b))
    y = a + b
    y + a
    return y.number, tape.backward(y)


def drawn(step):
    tape = step.Tape()
    a, b = tape.leaf(2), tape.leaf(-3)
    return tape, a * b + a


def entries(tape):
    """Returns the tape for its picture: a line per entry, with its operation and value, and each input's entry and derivative."""
    return "\n".join(" ".join(map(str, [operation, number, *(x for pair in inputs for x in pair)]))
                     for operation, number, inputs in tape.entries)


def parsed(argument):
    if argument.startswith("m"):
        return {name: parsed(array) for name, array in (one.split("=") for one in argument.split(";")[1:])}
    head, numbers = argument.split(":")
    if head in ("n", "f"):
        return int(numbers) if head == "n" else float(numbers)
    if head == "p":
        return lambda x: called(numbers, x)
    if head == "i":
        return [int(n) for n in numbers.split()]
    kind, sizes = (head[0], head[1:]) if head[:1] in ("b", "i") else ("", head)
    x = np.array([float(n) for n in numbers.split()]).reshape([int(n) for n in sizes.split()])
    return x.astype({"b": bool, "i": int}[kind]) if kind else x


def written(name, result):
    if result is None:
        raise TypeError(f"{name}() returned None: is its return missing?")
    array = np.asarray(result, dtype=float)
    return " ".join(map(str, array.shape)) + ":" + " ".join(repr(float(x)) for x in array.ravel())


def called(part, x):
    """Calls a part, which the judge computes."""
    print(f"call|{part}|{written('the argument of a part', x)}", file=answers, flush=True)
    return parsed(sys.stdin.readline().rstrip("\n"))


def adamw_steps(step, p, gradients, options):
    """Returns the parameters after each step, and then the moments."""
    moments, steps = step.Moments(len(p)), []
    for g in gradients:
        p = step.adamw_step(p, g, moments, *map(float, options))
        steps.append(p)
    return np.array([*steps, moments.m, moments.v])


class Characters:
    """Step 10: trains the model of given/models.py by the functions of the step."""

    @staticmethod
    def checked_logits(step, model, ids):
        y = step.logits(model, ids)
        if not isinstance(y, Tensor):
            raise TypeError(f"logits() returned {type(y).__name__}, expected the Tensor that model.output() returns")
        return y

    @staticmethod
    def loss(step, model, optimizer, inputs, targets, lr):
        loss = step.train_step(model, optimizer, inputs, targets, lr)
        if not isinstance(loss, (int, float, np.number)):
            raise TypeError(f"train_step() returned {type(loss).__name__}, expected a number: loss.item()")
        return float(loss)

    @staticmethod
    def logits(step, parameters, heads, ids):
        return Characters.checked_logits(step, CharacterModel(parameters, heads), ids).values

    @staticmethod
    def four_steps(step, parameters, heads, inputs, targets, lr):
        model = CharacterModel(parameters, heads)
        optimizer = AdamW(model.parameters)
        return np.array([Characters.loss(step, model, optimizer, inputs, targets, lr) for _ in range(4)])

    @staticmethod
    def train(step, parameters, heads, T, text, held_out, starts, held_out_starts, rates, uniform, newline):
        """Returns the loss of each step, the held-out loss, and the characters that the model writes."""
        model = CharacterModel({name: x.astype(np.float32) for name, x in parameters.items()}, heads)
        optimizer = AdamW(model.parameters)
        losses = []
        for start, lr in zip(starts, rates):
            inputs, targets = map(np.asarray, step.windows(text, start, T))
            losses.append(Characters.loss(step, model, optimizer, inputs, targets, float(lr)))
        inputs, targets = map(np.asarray, step.windows(held_out, held_out_starts, T))
        loss = cross_entropy(Characters.checked_logits(step, model, inputs), targets).item()
        written = [newline]
        for number in uniform:
            logits = Characters.checked_logits(step, model, np.array([written[-T:]])).values[0, -1]
            written.append(int(step.draw(logits.astype(float), 0.5, float(number))))
        return losses, loss, written[1:]


def answer(step, name, arguments):
    if name == "drawn":
        tape, y = drawn(step)
        return "text|" + tape.drawn(y).replace("\n", "\\n")
    if name == "entries":
        return "text|" + entries(drawn(step)[0]).replace("\n", "\\n")
    if name == "tape.earlier":
        result = earlier(step, *parsed(*arguments))
    elif name.startswith("tape."):
        result = differentiated(step, name[5:], *map(parsed, arguments))
    elif name.startswith("characters."):
        result = getattr(Characters, name[11:])(step, *map(parsed, arguments))
    elif name == "adamw_steps":
        result = adamw_steps(step, *map(parsed, arguments))
    else:
        result = getattr(step, name)(*map(parsed, arguments))
    if name == "broadcast_shape" and isinstance(result, tuple):  # a shape as NumPy has it
        result = list(result)
    results = result if isinstance(result, tuple) else (result,)
    return "|".join(["ok", *(written(name, one) for one in results)])


def failed(error, file):
    """Returns the answer for an exception: its message and the line of the step."""
    places = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    line = places[-1].lineno if places else getattr(error, "lineno", 0) or 0
    if isinstance(error, NotImplementedError) and error.args:
        return f"missing|{error.args[0]}|{line}"
    kind = "invalid" if isinstance(error, ValueError) else "error"
    text = f"{type(error).__name__}: {error}" + (f"\n(line {line})" if line else "")
    return f"{kind}|" + text.replace("\\", "/").replace("\n", "\\n")


def main():
    step = file = None
    for request in sys.stdin:
        name, *arguments = request.rstrip("\n").split("|")
        try:
            if name == "load":  # run by the first call, which reports its errors
                step, file, said = None, arguments[0], "ok"
                limit(int(arguments[1]))
            else:
                step = step or load(file)
                said = answer(step, name, arguments)
        except Exception as error:  # whatever the learner's code throws
            said = failed(error, file)
        print(said, file=answers, flush=True)


main()
