"""The solution of step 11: find the heads by which a model copies. Sequences repeat random symbols,

    position  0 1 2 3 4 5 6 7 8 ...        period 4
    symbol    x K f R x K f R x ...

so after the second K comes what came after the first. A model of two layers learns it with two kinds of heads: a previous-token head
attends from each symbol to the one before; an induction head attends from the second K to the symbol after the first K.
"""

import numpy as np


def targets(symbols, period):
    """Returns what the model is to predict at each position: the next symbol where it follows from what was seen, else -1, which the loss
    ignores. Position t can know its next symbol when the symbol at t has occurred before:

        target_t = symbols[t + 1]   if t >= period and t + 1 < T
        target_t = -1             otherwise

    symbols (T) is an array of integers, and so is the result.
    """
    # begin targets
    result = np.full(len(symbols), -1)
    for t in range(period, len(symbols) - 1):
        result[t] = symbols[t + 1]
    return result
    # end targets


def previous_token_score(weights):
    """Returns for each head how strongly it is a previous-token head. weights (heads, T, T): row = query, column = key.

        score_h = mean over t from 1 to T - 1 of weights[h][t][t - 1]
    """
    # begin previous_token_score
    heads, T, _ = weights.shape
    return [sum(weights[h, t, t - 1] for t in range(1, T)) / (T - 1) for h in range(heads)]
    # end previous_token_score


def induction_score(weights, period):
    """Returns for each head how strongly it is an induction head: the weight on the symbol after the last occurrence of the current one.
    The symbol at t occurred last at t - period.

        score_h = mean over t from period to T - 1 of weights[h][t][t - period + 1]
    """
    # begin induction_score
    heads, T, _ = weights.shape
    return [sum(weights[h, t, t - period + 1] for t in range(period, T)) / (T - period) for h in range(heads)]
    # end induction_score
