"""The logarithm of the rising factorial a (a + 1) ... (a + n - 1) = G(a + n) / G(a)."""

from __future__ import annotations

import math

from ppl_topics._util.compiled import compiled

__all__ = ["FEW", "log_pochhammer"]

FEW = 16
STIRLING_FROM = 12.0
"""From here on the terms that are left out of the Stirling series are below 3e-15."""


@compiled
def log_pochhammer(a: float, n: int) -> float:
    """Compute log G(a + n) - log G(a) without cancellation, for a from 0 to 1e19.

    Few factors are multiplied. Otherwise the two Stirling series are subtracted term by term (Abramowitz, Stegun 1964,
    6.1.41), for small a after the first twelve factors.
    """
    if n < FEW:
        product = 1.0
        for factor in range(n):
            product *= a + factor
        return math.log(product)
    first = 0.0
    if a < STIRLING_FROM:
        # The product of (a + i) and (a + 11 - i) is that of a and a + 11, plus i (11 - i).
        pair = a * (a + 11.0)
        first = math.log(pair * (pair + 10.0) * (pair + 18.0) * (pair + 24.0) * (pair + 28.0) * (pair + 30.0))
        a, n = a + 12.0, n - 12
    main = (a - 0.5) * math.log1p(n / a) + n * (math.log(a + n) - 1.0)
    return first + main + stirling_rest(a + n) - stirling_rest(a)


@compiled
def stirling_rest(x: float) -> float:
    """Sum the first terms of log G(x) - ((x - 1/2) log x - x + log(2 pi) / 2), for x of 12 or more."""
    inverse = 1.0 / x
    square = inverse * inverse
    inner = 1.0 / 1260.0 - square * (1.0 / 1680.0 - square / 1188.0)
    return inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square * inner))
