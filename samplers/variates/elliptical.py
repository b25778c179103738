"""Elliptical slice sampling of a vector that is normal a priori, under any likelihood.

References
----------
I. Murray, R. P. Adams, D. J. C. MacKay (2010). Elliptical slice sampling. AISTATS 2010, figure 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ppl_topics._util.arrays import FloatArray
from ppl_topics.samplers.variates.streams import Stream, exponential, uniform

__all__ = ["elliptical_slice_sample"]


def elliptical_slice_sample(
    log_likelihood: Callable[[FloatArray], float],
    value: FloatArray,
    deviate: FloatArray,
    stream: Stream,
    at_start: float | None = None,
) -> FloatArray:
    """Draw the next state of a chain that leaves the posterior invariant, given a draw of the prior, of mean 0.

    The log likelihood of the present value is `at_start`, if that is known; the last value of which it is computed is
    the one that is returned.

    Examples
    --------
    >>> import numpy as np
    >>> from ppl_topics.samplers.variates.elliptical import elliptical_slice_sample
    >>> from ppl_topics.samplers.variates.streams import open_stream
    >>> stream, rng, x, mean = open_stream(seed=3), np.random.default_rng(1), np.zeros(1), 0.0
    >>> for _ in range(2000):  # the mean of one observation, 2, of standard deviation 1
    ...     x = elliptical_slice_sample(lambda x: -0.5 * float((x - 2.0) @ (x - 2.0)), x, rng.normal(size=1), stream)
    ...     mean += x[0] / 2000
    >>> abs(mean - 1.0) < 0.1
    True
    """
    at_start = log_likelihood(value) if at_start is None else at_start
    if not math.isfinite(at_start):
        raise ValueError(f"the log likelihood at the current state is {at_start}; it must be finite")
    level = at_start - exponential(stream)
    angle = 2.0 * math.pi * uniform(stream)
    low, high = angle - 2.0 * math.pi, angle
    while True:
        proposed = value * math.cos(angle) + deviate * math.sin(angle)
        if log_likelihood(proposed) > level or angle == 0.0:
            return proposed
        if angle < 0.0:
            low = angle
        else:
            high = angle
        angle = low + uniform(stream) * (high - low)
