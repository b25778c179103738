"""Univariate slice sampling of any density, by stepping out and shrinkage.

References
----------
R. M. Neal (2003). Slice sampling. Annals of Statistics 31(3), sections 4.1 and 4.2, figures 3 and 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ppl_topics.samplers.variates.streams import Stream, exponential, integer, uniform

__all__ = ["slice_sample"]


def slice_sample(
    log_density: Callable[[float], float],
    x0: float,
    width: float,
    stream: Stream,
    max_steps_out: int = 50,
    lower: float = -math.inf,
    upper: float = math.inf,
) -> float:
    """Draw the next state of a chain that leaves a density on the line invariant.

    Examples
    --------
    >>> from ppl_topics.samplers.variates.slice import slice_sample
    >>> from ppl_topics.samplers.variates.streams import open_stream
    >>> stream = open_stream(seed=3)
    >>> x = 1.0
    >>> for _ in range(10):
    ...     x = slice_sample(lambda value: -value, x, 1.0, stream, lower=0.0)
    >>> x > 0.0
    True
    """
    if not lower < x0 < upper:
        raise ValueError(f"the current state {x0} is not between {lower} and {upper}")
    at_start = log_density(x0)
    if not math.isfinite(at_start):
        raise ValueError(f"the log density at the current state {x0} is {at_start}; it must be finite")
    level = at_start - exponential(stream)
    left = x0 - width * uniform(stream)
    right = left + width
    steps_left = integer(stream, max_steps_out)
    steps_right = max_steps_out - 1 - steps_left
    while steps_left > 0 and left > lower and log_density(left) > level:
        left -= width
        steps_left -= 1
    while steps_right > 0 and right < upper and log_density(right) > level:
        right += width
        steps_right -= 1
    left, right = max(left, lower), min(right, upper)
    while True:
        x1 = left + uniform(stream) * (right - left)
        if x1 == x0 or (lower < x1 < upper and log_density(x1) > level):
            return x1
        if x1 < x0:
            left = x1
        else:
            right = x1
