"""Gamma and exponential variates below a bound, exact however little of the distribution is there.

References
----------
C. P. Robert (1995). Simulation of truncated normal variables. Statistics and Computing 5, whose rate of the proposal
is taken over to the logarithm of a gamma variate.
"""

from __future__ import annotations

import math

from ppl_topics._util.compiled import compiled
from ppl_topics.samplers.variates.gamma import gamma
from ppl_topics.samplers.variates.streams import Stream, exponential, uniform_open

__all__ = ["truncated_exponential", "truncated_gamma"]

FLAT = 1e-14
"""The density of an exponential distribution between 0 and this share of its mean is level, to the last bits."""


@compiled
def truncated_exponential(stream: Stream, rate: float, bound: float) -> float:
    """Draw an exponential variate that is at most `bound`, by inversion."""
    share = uniform_open(stream)
    if rate * bound < FLAT:
        return share * bound
    return min(-math.log1p(share * math.expm1(-rate * bound)) / rate, bound)


@compiled
def truncated_gamma(stream: Stream, shape: float, bound: float) -> float:
    """Draw a gamma variate of scale 1 that is at most `bound`; return it as a share of the bound, which may be 0.

    Where the bound is beyond the mean, variates above it are drawn again: fewer than two draws in expectation.
    Elsewhere t = log(bound / variate) has a density that falls as exp(-shape t - bound exp(-t)), and is drawn by
    rejection from an exponential distribution with the rate of the least rejection, of which Robert (1995) accepts
    above 0.75 in the normal limit.
    """
    if bound >= shape:
        while True:
            value = gamma(stream, shape)
            if value <= bound:
                return value / bound
    root = math.sqrt((shape - bound) ** 2 + 4.0 * bound)
    if shape > 1.0:
        # The density over that of the proposal is largest at exp(-t) = least.
        rate, least = 0.5 * (shape - bound + root), 2.0 * (shape - 1.0) / (shape + bound + root)
        excess, middle = bound * least, -math.log(least)
    else:
        rate, excess, middle = shape, 0.0, 0.0
    while True:
        t = exponential(stream) / rate
        share = math.exp(-t)
        if math.log(uniform_open(stream)) < excess * (1.0 + middle - t) - bound * share:
            return share
