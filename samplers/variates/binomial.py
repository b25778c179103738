"""Binomial variates of any size, by halves.

References
----------
L. Devroye (1986). Non-uniform random variate generation, chapter X.4.3: recursive binomial generators.
"""

from __future__ import annotations

from ppl_topics._util.compiled import compiled
from ppl_topics.samplers.variates.gamma import gamma_above_one
from ppl_topics.samplers.variates.streams import Stream, uniform

__all__ = ["binomial"]


FEW = 16
"""So many trials are made one by one."""


@compiled
def binomial(stream: Stream, trials: int, probability: float) -> int:
    """Draw how many of some trials succeed, in time proportional to the logarithm of their number.

    A trial succeeds if its uniform number is below the probability. Of n uniform numbers the i-th smallest is
    Beta(i, n + 1 - i), a ratio of gamma variates; it says on which side of the probability the first i or the last
    n + 1 - i of them are, and the others are independent and uniform again, on what is left.
    """
    successes = 0
    while trials > FEW and 0.0 < probability < 1.0:
        middle = (trials + 1) // 2
        below = gamma_above_one(stream, float(middle))
        point = below / (below + gamma_above_one(stream, float(trials + 1 - middle)))
        if point <= probability:
            successes += middle
            trials -= middle
            probability = (probability - point) / (1.0 - point)
        else:
            trials = middle - 1
            probability /= point
    for _ in range(trials):
        successes += uniform(stream) < probability
    return successes
