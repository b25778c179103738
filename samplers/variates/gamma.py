"""Gamma variates of scale 1, and their logarithms for shapes so small that the variate underflows.

References
----------
G. Marsaglia, W. W. Tsang (2000). A simple method for generating gamma variables. ACM TOMS 26(3).
J. H. Ahrens, U. Dieter (1974). Computer methods for sampling from gamma, beta, Poisson and binomial
distributions. Computing 12, algorithm GS.
"""

from __future__ import annotations

import math

from ppl_topics._util.compiled import compiled
from ppl_topics.samplers.variates.streams import Stream, normal, uniform_open

__all__ = ["gamma", "gamma_above_one", "gamma_below_one", "gamma_from_proposal", "log_gamma"]


@compiled
def gamma_above_one(stream: Stream, shape: float) -> float:
    """Draw a gamma variate of shape at least 1 (Marsaglia and Tsang 2000, section 2)."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(stream)
        t = 1.0 + c * x
        if t <= 0.0:
            continue
        v = t * t * t
        u = uniform_open(stream)
        square = x * x
        if u < 1.0 - 0.0331 * square * square:
            break
        if math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
            break
    return d * v


@compiled
def gamma_below_one(stream: Stream, shape: float) -> float:
    """Draw a gamma variate of shape below 1 (Ahrens and Dieter 1974, algorithm GS).

    One uniform number suffices where the variate is tiny, since it is then accepted with probability
    exp(-x) = 1 to the last bit.
    """
    return gamma_from_proposal(stream, shape, (1.0 + shape / math.e) * uniform_open(stream))


@compiled
def gamma_from_proposal(stream: Stream, shape: float, p: float) -> float:
    """Finish algorithm GS from its first uniform number, for callers that look at that number themselves.

    The number p is uniform on (0, 1 + shape / e): below 1 it proposes p^(1 / shape), above 1 a variate from the tail.
    """
    bound = 1.0 + shape / math.e
    while True:
        if p <= 1.0:
            x = math.exp(math.log(p) / shape)
            if x < 2.0**-54 or uniform_open(stream) < math.exp(-x):
                break
        else:
            x = -math.log((bound - p) / shape)
            if math.log(uniform_open(stream)) < (shape - 1.0) * math.log(x):
                break
        p = bound * uniform_open(stream)
    return x


@compiled
def gamma(stream: Stream, shape: float) -> float:
    """Draw a gamma variate of scale 1."""
    if shape < 1.0:
        return gamma_below_one(stream, shape)
    return gamma_above_one(stream, shape)


@compiled
def log_gamma(stream: Stream, shape: float) -> float:
    """Draw the logarithm of a gamma variate of scale 1.

    For shapes below 1 it is log G(a + 1) + log(U) / a (Marsaglia and Tsang 2000, section 6), which neither
    underflows nor loses accuracy for shapes down to 1e-300.
    """
    if shape < 1.0:
        boosted = math.log(gamma_above_one(stream, shape + 1.0))
        return boosted + math.log(uniform_open(stream)) / shape
    return math.log(gamma_above_one(stream, shape))
