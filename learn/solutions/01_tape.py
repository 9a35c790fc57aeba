"""The solution of step 1: a tape that differentiates any expression of numbers.

    tape = Tape()
    a, b = tape.leaf(2), tape.leaf(-3)
    y = a * b + a                       # -4
    gradient = tape.backward(y)
    gradient[a.index]                   # dy/da = b + 1 = -2
    gradient[b.index]                   # dy/db = a = 2

Each operation appends one entry to the tape: its value, the entries that it was computed from, and its derivative by each of them.
An entry depends on earlier entries alone. So one loop from the last entry to the first applies the chain rule to all of them.
"""

import math


class Tape:
    """The list of everything that was computed, in order: (operation, number, inputs). An input is (index, derivative)."""

    def __init__(self):
        self.entries = []

    def leaf(self, number):
        """Appends a number that was not computed: a variable or a constant."""
        return self.record("leaf", number, [])

    def record(self, operation, number, inputs):
        """Appends the result of an operation on other values: inputs = [(value, derivative), ...]."""
        self.entries.append((operation, number, [(value.index, derivative) for value, derivative in inputs]))
        return Value(self, len(self.entries) - 1)

    def backward(self, y):
        """Returns the list of dy/dv for every entry v. The chain rule: an entry v changes y through every entry u that was computed from it,

            dy/dy = 1
            dy/dv = sum over u of dy/du * du/dv

        Walk from y back to the first entry. When the walk reaches u, dy/du is complete, since all entries that read u come later.
        Add dy/du * du/dv to the gradient of each input v of u.
        """
        # begin backward
        gradient = [0.0] * len(self.entries)
        gradient[y.index] = 1.0
        for u in range(y.index, -1, -1):
            _, _, inputs = self.entries[u]
            for v, derivative in inputs:
                gradient[v] += gradient[u] * derivative
        return gradient
        # end backward

    def drawn(self, y):
        """Returns the tape as a table: one line per entry, with the gradient of y."""
        gradient = self.backward(y)
        text = "entry  operation  inputs       value   gradient\n"
        for i, (operation, number, inputs) in enumerate(self.entries):
            read = ", ".join(str(v) for v, _ in inputs)
            text += f"{i:5}  {operation:9}  {read:6} {number:11.4f}{gradient[i]:11.4f}\n"
        return text


class Value:
    """A number on a tape."""

    def __init__(self, tape, index):
        self.tape = tape
        self.index = index  # of its entry

    @property
    def number(self):
        return self.tape.entries[self.index][1]

    def other(self, x):
        """Returns x as a value: a plain number is a constant, a leaf whose gradient nobody reads."""
        return x if isinstance(x, Value) else self.tape.leaf(x)

    def __add__(a, b):
        """y = a + b. Both derivatives are 1. This one is written: each operation below follows its pattern."""
        b = a.other(b)
        return a.tape.record("+", a.number + b.number, [(a, 1), (b, 1)])

    def __sub__(a, b):
        """y = a - b;  dy/da = 1,  dy/db = -1."""
        b = a.other(b)
        # begin subtract
        return a.tape.record("-", a.number - b.number, [(a, 1), (b, -1)])
        # end subtract

    def __mul__(a, b):
        """y = a b;  dy/da = b,  dy/db = a."""
        b = a.other(b)
        # begin multiply
        return a.tape.record("*", a.number * b.number, [(a, b.number), (b, a.number)])
        # end multiply

    def __truediv__(a, b):
        """y = a / b;  dy/da = 1 / b,  dy/db = -a / b^2."""
        b = a.other(b)
        # begin divide
        y = a.number / b.number
        return a.tape.record("/", y, [(a, 1 / b.number), (b, -y / b.number)])
        # end divide

    def __radd__(b, a):
        return b.other(a) + b

    def __rsub__(b, a):
        return b.other(a) - b

    def __rmul__(b, a):
        return b.other(a) * b

    def __rtruediv__(b, a):
        return b.other(a) / b

    def __neg__(x):
        return 0.0 - x


def exp(x):
    """y = e^x;  dy/dx = e^x = y."""
    # begin exp
    y = math.exp(x.number)
    return x.tape.record("exp", y, [(x, y)])
    # end exp


def log(x):
    """y = ln x;  dy/dx = 1 / x."""
    # begin log
    return x.tape.record("log", math.log(x.number), [(x, 1 / x.number)])
    # end log


def tanh(x):
    """y = tanh x;  dy/dx = 1 - y^2."""
    # begin tanh
    y = math.tanh(x.number)
    return x.tape.record("tanh", y, [(x, 1 - y * y)])
    # end tanh
