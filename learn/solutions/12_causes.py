"""The solution of step 12: does the answer depend on the attention that the picture shows? Cut it, and count."""

import numpy as np


def edge_weight(weights, query, key):
    """Returns for each head the mean weight from the query of each text to a key: weights (B, heads, T, T), row = query, column = key;
    query (B) and key (B) have one position per text.

        mean_h = mean over b of weights[b][h][query_b][key_b]
    """
    # begin edge_weight
    B, heads = weights.shape[:2]
    return [sum(weights[b, h, query[b], key[b]] for b in range(B)) / B for h in range(heads)]
    # end edge_weight


def without_edge(heads, T, cut, query, key):
    """Attention knockout. Returns a mask (B, heads, T, T) that hides one edge per text, in the heads of the list `cut`, and nothing else.
    The layer sets hidden scores to -infinity before its softmax, so the other keys share the weight.

        visible[b][h][i][j] = not (h is in cut and i == query_b and j == key_b)
    """
    # begin without_edge
    visible = np.ones((len(query), heads, T, T), dtype=bool)
    for b in range(len(query)):
        for h in cut:
            visible[b, h, query[b], key[b]] = False
    return visible
    # end without_edge


def advantage_lost(before, after, chance):
    """Returns the share of the advantage over chance that an intervention takes away: 0 when nothing changes, 1 when the model falls to
    chance, more when it falls below. All three arguments are accuracies between 0 and 1.

        lost = (before - after) / (before - chance)
    """
    # begin advantage_lost
    return (before - after) / (before - chance)
    # end advantage_lost


def half_width(right, n):
    """Returns half the width of the 95 % confidence interval of an accuracy: `right` of n independent sentences.

        p = right / n       half width = 1.96 sqrt(p (1 - p) / n)
    """
    # begin half_width
    p = right / n
    return 1.96 * np.sqrt(p * (1 - p) / n)
    # end half_width
