"""Normal variates of variance 1 cut to one side of zero, exact however far their mean is on the other side.

References
----------
C. P. Robert (1995). Simulation of truncated normal variables. Statistics and Computing 5(2), 121-125.
"""

from __future__ import annotations

import math

import numpy as np

from ppl_topics._util.compiled import compiled
from ppl_topics.samplers.variates.streams import Stream, exponential, normal, uniform

__all__ = ["truncated_normal"]

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
