"""Normal variates of variance 1 cut to one side of zero, or to an interval, exact however far off their mean is.

References
----------
C. P. Robert (1995). Simulation of truncated normal variables. Statistics and Computing 5(2), 121-125.
"""

from __future__ import annotations

import math

import numpy as np

from ppl_topics._util.compiled import compiled
from ppl_topics.samplers.variates.streams import Stream, exponential, normal, uniform

__all__ = ["normal_between", "truncated_normal"]

TAIL_FROM = 0.45
"""Standard deviations beyond zero from which proposals are exponential: there both ways take about as long."""

SMALLEST = 5e-324


@compiled
def truncated_normal(stream: Stream, mean: float, sign: float) -> float:
    """Draw from Normal(mean, 1), given that the variate has a sign.

    Where the mean has that sign, or is at most 0.45 on the other side, normal variates are drawn until one has it: with
    probability at least 0.33 each. Beyond, the distance x from zero is proposed from an exponential distribution of
    rate r = (m + sqrt(m^2 + 4)) / 2, m the mean's distance from zero, and accepted with probability exp(-(x - 1 / r)^2
    / 2) (Robert 1995, section 2.2): at least 0.81, and 1 far out. Since x is what is drawn, not its sum with the mean,
    no digits are lost in the tail.

    It is on (0, inf) where `sign` is positive, on (-inf, 0) where negative, never zero; NaN if the mean is not finite.
    """
    if not abs(mean) < np.inf:
        return np.nan
    inside = mean if sign > 0.0 else -mean
    x = 0.0
    if inside > -TAIL_FROM:
        while x <= 0.0:
            x = inside + normal(stream)
        return x if sign > 0.0 else -x
    # 1 / r, for r - m = 1 / r.
    scale = 2.0 / (math.hypot(inside, 2.0) - inside)
    while True:
        x = max(scale * exponential(stream), SMALLEST)
        square = 0.5 * (x - scale) * (x - scale)
        # The exponential function is at least its tangent.
        u = uniform(stream)
        if u < 1.0 - square or u < math.exp(-square):
            break
    return x if sign > 0.0 else -x


NARROW = 2.0
"""Intervals around the mean, in standard deviations, up to which proposals are uniform."""


@compiled
def normal_between(stream: Stream, mean: float, lower: float, upper: float) -> float:
    """Draw from Normal(mean, 1), given that the variate is between two bounds, of which one or both may be infinite.

    With the mean inside, proposals are uniform in a narrow interval, accepted with probability exp(-x^2 / 2), x the
    distance from the mean; in a wide one they are normal variates. With the mean outside, at a distance m from the
    nearer bound, they are uniform or, where that bound is so much likelier than the other that these would take longer
    (Robert 1995, section 2.3), exponential as in `truncated_normal`.

    NaN if the mean is not finite or the bounds do not ascend.
    """
    if not (abs(mean) < np.inf and lower < upper):
        return np.nan
    low, high, sign = lower - mean, upper - mean, 1.0
    if low + high < 0.0:
        low, high, sign = -high, -low, -1.0
    if low == high:
        # The mean is so far off that it has no digits for the distance of the bounds.
        return lower if sign > 0.0 else upper
    x = 0.0
    if low <= 0.0 and high - low > NARROW:
        x = normal(stream)
        while not low < x < high:
            x = normal(stream)
    else:
        nearest = max(low, 0.0)
        root = math.hypot(nearest, 2.0)
        # 1 / r, for r - m = 1 / r.
        scale = 2.0 / (nearest + root)
        width = high - low
        tail = low > 0.0 and width > scale * math.exp(0.5 - 0.25 * nearest * (root - nearest))
        while True:
            if tail:
                distance = scale * exponential(stream)
                square = 0.5 * (distance - scale) * (distance - scale)
            else:
                distance = width * uniform(stream)
                square = 0.5 * (low + distance - nearest) * (low + distance + nearest)
            if distance < width and uniform(stream) < math.exp(-square):
                x = low + distance
                break
    return min(max(mean + sign * x, lower), upper)
