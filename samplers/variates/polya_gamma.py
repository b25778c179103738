"""Polya-Gamma variates PG(b, z) for any real b > 0 and any real z.

PG(b, z) is a quarter of J*(b, z / 2), whose Laplace transform is (cosh(v) / cosh(sqrt(v^2 + 2 t)))^b at v = abs(z) / 2
(Polson, Scott, Windle 2013). Its mean is b u with u = tanh(v) / v.

Two samplers share the plane. `polya_gamma_series` is exact rejection after Devroye, for any real b, and stops where
the alternating series loses too many digits: at b A(v) > 5 with A = v coth(v) - log(2 cosh(v)), that is at b > 16.2
for z = 0, at b > 26 for abs(z) = 2, at b > 183 for abs(z) = 5. Beyond, `polya_gamma_sum` adds gamma variates. A draw of
either costs about the same whatever b is, so nothing is gained by adding draws of PG(1, z) for integer b.

References
----------
N. G. Polson, J. G. Scott, J. Windle (2013). Bayesian inference for logistic models using Polya-Gamma latent
variables. JASA 108(504).
"""

from __future__ import annotations

import math

import numpy as np

from ppl_topics._util.compiled import tight
from ppl_topics.samplers.variates.polya_gamma_series import draw_by_series
from ppl_topics.samplers.variates.polya_gamma_sum import draw_by_sum
from ppl_topics.samplers.variates.streams import Stream

__all__ = ["hyperbolic_terms", "polya_gamma"]

SERIES_UP_TO = 5.0
"""The largest b A(v) of the series: its terms then exceed their sum by about e^5 at the mean of the distribution."""

NEAR_ZERO = 1e-3


@tight
def hyperbolic_terms(half_tilt: float) -> tuple[float, float, float]:
    """Compute what both samplers need of v = abs(z) / 2."""
    v = half_tilt
    if v < NEAR_ZERO:
        square = v * v
        mean = 1.0 - square * (1.0 / 3.0 - square * (2.0 / 15.0))
        excess = 0.5 - square * (1.0 / 6.0 - square / 30.0)
        loss = 1.0 - math.log(2.0) - square * (1.0 / 6.0 - square * (11.0 / 180.0))
        return mean, excess, loss
    small = math.exp(-2.0 * v)
    rest = 1.0 - small
    mean = rest / ((1.0 + small) * v)
    excess = 2.0 * v * (v * small) / (rest * rest)
    loss = 2.0 * v * small / rest - math.log1p(small)
    return mean, excess, loss


@tight
def polya_gamma(stream: Stream, shape: float, tilt: float) -> float:
    """Draw a Polya-Gamma variate PG(b, z): mean b tanh(z / 2) / (2 z).

    The distribution is exact but for rounding where the series serves (any b up to 16, greater b where abs(z) is
    large): the error in total variation is below 1e-10. Beyond, the distribution function is off by less than 1e-9, and
    the first three moments by rounding only (`polya_gamma_sum`). For b from 1e-100 to 1e100 and abs(z) up to 1e100 the
    variate is positive and finite, and the work does not grow with b or z.
    """
    half_tilt = 0.5 * abs(tilt)
    if not (0.0 < shape < np.inf and half_tilt < np.inf):
        return np.nan
    mean, excess, loss = hyperbolic_terms(half_tilt)
    if shape * loss <= SERIES_UP_TO:
        return 0.25 * draw_by_series(stream, shape, mean, excess, loss)
    return 0.25 * draw_by_sum(stream, shape, half_tilt)
