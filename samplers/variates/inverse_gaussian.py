"""Inverse Gaussian variates, for means from the smallest to infinity.

References
----------
J. R. Michael, W. R. Schucany, R. W. Haas (1976). Generating random variates using transformations with multiple
roots. The American Statistician 30(2).
"""

from __future__ import annotations

import math

from ppl_topics._util.compiled import tight
from ppl_topics.samplers.variates.streams import Stream, normal, uniform_open

__all__ = ["inverse_gaussian"]

CONSTANT_FROM = 1e300


@tight
def inverse_gaussian(stream: Stream, mean: float, shape: float) -> float:
    """Draw an inverse Gaussian variate: density sqrt(s / (2 pi x^3)) exp(-s (x - m)^2 / (2 m^2 x)).

    s (x - m)^2 / (m^2 x) is chi-square with one degree of freedom and has two roots in x, of product m^2, of which
    the smaller is chosen with probability m / (m + x). Michael, Schucany, Haas print the smaller one as a difference,
    which loses all digits where m y is much greater than s. Here its reciprocal is computed, a sum of positive
    terms: 1 / x = 1 / m + h + sqrt(h (h + 2 / m)) with h = y / (2 s).

    Guaranteed for a shape s from 1e-250 to 1e250 and a mean m from 1e-300 to 1e290, or infinite: the variate is
    positive and finite, and each root is exact to a few units in the last place whatever m / s. An infinite mean
    gives the Levy distribution of s / (standard normal)^2. Where s / m exceeds 1e300, the variate is m itself, from
    which it would differ by less than 1e-149 of m.

    The mean is positive and may be infinite; the variance is mean^3 / shape. NaN if the mean is NaN.
    """
    ratio = shape / mean
    if ratio > CONSTANT_FROM:
        return mean
    deviate = normal(stream)
    while deviate == 0.0:
        # Once in 2^52 draws; the Levy variate would be infinite.
        deviate = normal(stream)
    half = 0.5 * deviate * deviate
    reciprocal = ratio + half + math.sqrt(half * (half + 2.0 * ratio))
    if uniform_open(stream) * (ratio + reciprocal) < ratio:
        return mean * (reciprocal / ratio)
    return shape / reciprocal
