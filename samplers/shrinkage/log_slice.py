"""Slice sampling, on the log scale, of a scale that many normal coefficients share.

References
----------
R. M. Neal (2003). Slice sampling. Annals of Statistics 31(3), sections 4.1 and 4.2, figures 3 and 5.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.compiled import tight
from ppl_topics.core.prior import LARGEST_SCALE, SMALLEST_SCALE
from ppl_topics.samplers.variates.streams import Stream, exponential, integer, uniform

__all__ = ["LogDensity", "log_density", "slice_scale"]


WIDTH = 1.0
"""Of a slice, about: the logarithm of a scale is known to a factor of 2 or 3 where few coefficients tell."""

MOST_STEPS = 50

LOWER, UPPER = math.log(SMALLEST_SCALE), math.log(LARGEST_SCALE)


class LogDensity(NamedTuple):
    """The log density of x = log s, for a scale s on which precisions depend, up to a constant.

    With g = 1 / s^2 it is power x - log(1 + cauchy s^2) - rate g + sum_j log(slope_j g + offset_j) / 2.

    Attributes
    ----------
    power, cauchy, rate : float
        Of the prior's factors, with half the sum of squares of the coefficients in the rate.
    slope, offset : ndarray of float64, shape (p,)
        Coefficient j has precision ``slope[j] * g + offset[j]``.
    """

    power: float
    cauchy: float
    rate: float
    slope: FloatArray
    offset: FloatArray


@tight
def log_density(x: float, density: LogDensity) -> float:
    """Return the log density of x = log s."""
    slope, offset = density.slope, density.offset
    g = math.exp(-2.0 * x)
    total = density.power * x - density.rate * g
    if density.cauchy > 0.0:
        total -= math.log1p(density.cauchy / g)
    for j in range(slope.size):
        total += 0.5 * math.log(slope[j] * g + offset[j])
    return total


@tight
def slice_scale(stream: Stream, scale: float, density: LogDensity) -> float:
    """Return the next state of a chain that leaves the scale's distribution invariant: stepping out, and shrinkage."""
    x0 = math.log(scale)
    level = log_density(x0, density) - exponential(stream)
    left = x0 - WIDTH * uniform(stream)
    right = left + WIDTH
    steps_left = integer(stream, MOST_STEPS)
    steps_right = MOST_STEPS - 1 - steps_left
    while steps_left > 0 and left > LOWER and log_density(left, density) > level:
        left -= WIDTH
        steps_left -= 1
    while steps_right > 0 and right < UPPER and log_density(right, density) > level:
        right += WIDTH
        steps_right -= 1
    left, right = max(left, LOWER), min(right, UPPER)
    while True:
        x1 = left + uniform(stream) * (right - left)
        if x1 == x0 or log_density(x1, density) > level:
            return math.exp(x1)
        if x1 < x0:
            left = x1
        else:
            right = x1
