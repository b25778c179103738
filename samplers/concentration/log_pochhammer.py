"""The logarithm of the rising factorial a (a + 1) ... (a + n - 1) = G(a + n) / G(a)."""

from __future__ import annotations

import math

from ppl_topics._util.compiled import compiled

__all__ = ["log_pochhammer"]

FEW = 16
STIRLING_FROM = 100.0


@compiled
def log_pochhammer(a: float, n: int) -> float:
    """Compute log G(a + n) - log G(a) without cancellation, for a from 0 to 1e19.

    Few factors are multiplied; for large a the two Stirling series are subtracted term by term
    (Abramowitz, Stegun 1964, 6.1.41); otherwise the log gamma functions differ by enough.
    """
    if n < FEW:
        product = 1.0
        for factor in range(n):
            product *= a + factor
        return math.log(product)
    if a < STIRLING_FROM:
        return math.lgamma(a + n) - math.lgamma(a)
    main = (a - 0.5) * math.log1p(n / a) + n * (math.log(a + n) - 1.0)
    return main + stirling_rest(a + n) - stirling_rest(a)


@compiled
def stirling_rest(x: float) -> float:
    """Sum the first terms of log G(x) - ((x - 1/2) log x - x + log(2 pi) / 2), for x of 100 or more."""
    square = x * x
    return (1.0 - (1.0 / 30.0 - 1.0 / (105.0 * square)) / square) / (12.0 * x)
