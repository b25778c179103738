"""Poisson variates, and those that are known not to be zero.

References
----------
W. Hoermann (1993). The transformed rejection method for generating Poisson random variables. Insurance: Mathematics and
Economics 12(1), algorithm PTRS.
"""

from __future__ import annotations

import math

from ppl_topics._util.compiled import compiled
from ppl_topics.samplers.variates.streams import Stream, uniform, uniform_open

__all__ = ["poisson", "positive_poisson"]

SMALL = 10.0
"""Below this mean, the probabilities are summed up to a uniform number."""


@compiled
def poisson(stream: Stream, mean: float) -> int:
    """Draw a Poisson variate of a positive mean."""
    if mean < SMALL:
        return find_poisson(mean, uniform(stream))
    root = math.sqrt(mean)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    scale, limit = math.log(1.1239 + 1.1328 / (b - 3.4)), 0.9277 - 3.6224 / (b - 2.0)
    while True:
        u, v = uniform(stream) - 0.5, uniform_open(stream)
        distance = 0.5 - abs(u)
        if distance <= 0.0:
            continue
        number = math.floor((2.0 * a / distance + b) * u + mean + 0.43)
        if distance >= 0.07 and v <= limit:
            return int(number)
        if number < 0 or (distance < 0.013 and v > distance):
            continue
        log_ratio = math.log(v) + scale - math.log(a / (distance * distance) + b)
        if log_ratio <= number * math.log(mean) - mean - math.lgamma(number + 1.0):
            return int(number)


@compiled
def positive_poisson(stream: Stream, mean: float) -> int:
    """Draw a Poisson variate of a mean below 10, given that it is not zero."""
    zero = math.exp(-mean)
    return max(1, find_poisson(mean, zero - math.expm1(-mean) * uniform(stream)))


@compiled
def find_poisson(mean: float, point: float) -> int:
    """Find the number at which the distribution function of a small mean first exceeds a point below 1."""
    number, probability = 0, math.exp(-mean)
    reached = probability
    # The probabilities end before the sum can, by rounding, stay below the point.
    while reached <= point and probability > 0.0:
        number += 1
        probability *= mean / number
        reached += probability
    return number
