"""Step 10: a language model of characters, of NumPy arrays. It reads a text and predicts each next character. What you need:

    text[start:start + T]                T characters from `start` on
    np.array([row, row])                 an array of rows of equal length
    cross_entropy(logits, targets)       as in step 5
    optimizer.step(backward(loss), lr)   as in steps 1 and 9
    loss.item()                          the number in a tensor

The layers in given/models.py compute on the tape of arrays in given/tape.py. Both are short: read them after this step.
"""

import numpy as np

from given.models import causal_mask
from given.tape import backward, cross_entropy


def windows(text, starts, T):
    """Cuts a window of T characters from `text` at each start. The target of each character is the one after it.

        inputs_bt  = text[start_b + t]
        targets_bt = text[start_b + t + 1]

    Returns (inputs, targets), of shape (B, T) each.
    """
    raise NotImplementedError("windows")  # your code here


def logits(model, ids):
    """Returns the logits of the next character at each position: ids (B, T) -> (B, T, characters).

        x = positions(embedding(ids))
        x = block(x, causal), for each block in order
        logits = output(norm(x))

    model.embedding, model.positions, model.norm and model.output are the layers, model.blocks the list of blocks. The causal mask is
    causal_mask(T), as in step 6.
    """
    raise NotImplementedError("logits")  # your code here


def train_step(model, optimizer, inputs, targets, lr):
    """Takes one step of the optimiser, and returns the loss from before it, a number.

        loss = cross_entropy(logits(model, inputs), targets)
        optimizer.step(backward(loss), lr)
    """
    raise NotImplementedError("train_step")  # your code here


def draw(logits, temperature, uniform):
    """Draws the next character. A low temperature prefers the likely ones. `uniform` is random in [0, 1).

        p = softmax(logits / temperature)
        the first k with p_0 + ... + p_k > uniform
    """
    raise NotImplementedError("draw")  # your code here
