"""Step 1: a tape that differentiates any expression of numbers.

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
        raise NotImplementedError("backward")  # your code here

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
        raise NotImplementedError("subtract")  # your code here

    def __mul__(a, b):
        """y = a b;  dy/da = b,  dy/db = a."""
        b = a.other(b)
        raise NotImplementedError("multiply")  # your code here

    def __truediv__(a, b):
        """y = a / b;  dy/da = 1 / b,  dy/db = -a / b^2."""
        b = a.other(b)
        raise NotImplementedError("divide")  # your code here

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
    raise NotImplementedError("exp")  # your code here


def log(x):
    """y = ln x;  dy/dx = 1 / x."""
    raise NotImplementedError("log")  # your code here


def tanh(x):
    """y = tanh x;  dy/dx = 1 - y^2."""
    raise NotImplementedError("tanh")  # your code here
