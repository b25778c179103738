"""Draws of J*(b, v), four times a Polya-Gamma variate, as a sum of gamma variates, for large b.

J*(b, v) is the sum over k of G_k / (r_k + v^2 / 2), r_k = pi^2 (k - 1/2)^2 / 2, the G_k independent gamma variates of
shape b (Polson, Scott, Windle 2013, equation 1). The first four are drawn. The rest has the cumulants
b (j - 1)! S_j, S_j the sum of (r_k + v^2 / 2)^-j over k > 4; a gamma variate and a constant stand for it that have its
first three. So the first three moments of the draw are right. The later cumulants of that variate are
b (j - 1)! S_3 (S_3 / S_2)^(j - 3), positive and, since log S_j is convex in j, no greater than those of the rest: each
is too small by less than what the rest adds, a small part of the whole.

Where `ppl_topics.samplers.variates.polya_gamma` uses it, at b > 16, the distribution function is off by less than 1e-9:
the tests compute the leading term of the Edgeworth series of the difference, at most 5e-10. A test would need 1e17
draws to see it.

References
----------
N. G. Polson, J. G. Scott, J. Windle (2013). Bayesian inference for logistic models using Polya-Gamma latent
variables. JASA 108(504).
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from ppl_topics._util.compiled import tight
from ppl_topics.samplers.variates.gamma import gamma_above_one
from ppl_topics.samplers.variates.streams import Stream

__all__ = ["TERMS", "draw_by_sum", "rest_sums"]

TERMS = 4
"""Gamma variates that are drawn one by one."""

POWERS = 12
TAYLOR_UP_TO = 2.0
HALF_PI_SQUARED = 0.5 * math.pi**2
ORDERS = np.arange(1, POWERS + 3)
POWER_SUMS = special.zeta(2.0 * ORDERS, TERMS + 0.5) * HALF_PI_SQUARED**-ORDERS
"""Sums of r_k^-j over the rest of the k, for j = 1, 2, ... (Hurwitz zeta function)."""


@tight
def rest_sums(half_tilt: float) -> tuple[float, float, float]:
    """Sum (r_k + v^2 / 2)^-j over k > 4, for j = 1, 2, 3.

    Near v = 0 by Taylor series in v^2 / 2, whose terms shrink by 2 / r_5 = 0.02; elsewhere as the sums over all k,
    which are known (u, V and half the third cumulant of J*(1, v)), less the first four terms.
    """
    square = half_tilt * half_tilt
    shift = 0.5 * square
    first, second, third = 0.0, 0.0, 0.0
    if shift < TAYLOR_UP_TO:
        for order in range(POWERS - 1, -1, -1):
            first = POWER_SUMS[order] - shift * first
            second = (order + 1) * POWER_SUMS[order + 1] - shift * second
            third = 0.5 * (order + 1) * (order + 2) * POWER_SUMS[order + 2] - shift * third
        return first, second, third
    first = math.tanh(half_tilt) / half_tilt
    slope = (first - 1.0) / square
    second = slope + first * first
    third = 0.5 * (second + 2.0 * slope) / square + first * second
    for k in range(1, TERMS + 1):
        weight = 1.0 / (HALF_PI_SQUARED * (k - 0.5) ** 2 + shift)
        first -= weight
        second -= weight * weight
        third -= weight * weight * weight
    return first, second, third


@tight
def draw_by_sum(stream: Stream, shape: float, half_tilt: float) -> float:
    """Draw a variate of J*(b, v)."""
    first, second, third = rest_sums(half_tilt)
    scale = third / second
    # Not negative, by the inequality of Cauchy and Schwarz.
    total = shape * (first - second / scale)
    total += scale * gamma_above_one(stream, shape * second / (scale * scale))
    for k in range(1, TERMS + 1):
        rate = HALF_PI_SQUARED * (k - 0.5) ** 2 + 0.5 * half_tilt * half_tilt
        total += gamma_above_one(stream, shape) / rate
    return total
