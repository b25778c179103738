"""Exact draws of J*(b, v), four times a Polya-Gamma variate, by rejection from an inverse Gaussian distribution.

The density of J*(b, v) is an alternating series (Biane, Pitman, Yor 2001; Windle, Polson, Scott 2014),

    f(x) = cosh(v)^b 2^b b / sqrt(2 pi x^3) exp(-b^2 / (2 x) - v^2 x / 2) S(x),
    S(x) = sum over n of (-1)^n t_n,   t_n = (G(n + b) / (G(1 + b) n!)) (2 n + b) exp(-2 n (n + b) / x).

So beside S it is an inverse Gaussian density. The proposal here is the inverse Gaussian distribution g of the same mean
b u, u = tanh(v) / v, and of shape b^2, the first passage time with which the series begins:

    f(x) / g(x) = exp(e x - b A) S(x),   e = v^2 / (2 sinh(v)^2),   A = v coth(v) - log(2 cosh(v)),

and this ratio is at most exp(ENVELOPE e) for all b, v and x. At b -> 0 that is a theorem: b A vanishes, S becomes the
theta function 1 + 2 sum (-1)^n exp(-2 n^2 / x), and the supremum over x of e x + log S(x), convex in e and 0 at e = 0,
stays below its chord to e = 1/2, where it is 0.22847. At b -> infinity the supremum of the logarithm is
log(u^3 / V) / 2 with b V the variance, at most log(3/2) / 2 = 0.2027. In between it was found to decrease with b, by
computation, and the tests check the bound on a grid. So at least 0.79 of the proposals are accepted, whatever b and v.

The test needs no value of S: once the terms decrease they go on to, and the partial sums close in on S from both
sides (Devroye 2009).

References
----------
P. Biane, J. Pitman, M. Yor (2001). Probability distributions related to the Jacobi theta and Riemann zeta functions,
and Brownian excursions. Bulletin of the American Mathematical Society 38(4). L. Devroye (2009). On exact simulation
algorithms for some distributions related to Jacobi theta functions. Statistics and Probability Letters 79(21). J.
Windle, N. G. Polson, J. G. Scott (2014). Sampling Polya-Gamma random variates: alternate and approximate techniques.
arXiv:1405.0506.
"""

from __future__ import annotations

import math

from ppl_topics._util.compiled import tight
from ppl_topics.samplers.variates.inverse_gaussian import inverse_gaussian
from ppl_topics.samplers.variates.streams import Stream, uniform_open

__all__ = ["ENVELOPE", "draw_by_series", "series_exceeds"]

ENVELOPE = 0.457
"""Twice 0.22847, the greatest logarithm of the ratio at b = 0 and v = 0, rounded up."""


@tight
def draw_by_series(stream: Stream, shape: float, mean: float, excess: float, loss: float) -> float:
    """Draw a variate of J*(b, v), b A at most 5, given the u, e and A of `polya_gamma.hyperbolic_terms`."""
    log_scale = shape * loss + ENVELOPE * excess
    while True:
        x = inverse_gaussian(stream, shape * mean, shape * shape)
        level = uniform_open(stream) * math.exp(log_scale - excess * x)
        if series_exceeds(level, shape, x):
            return x


@tight
def series_exceeds(level: float, shape: float, x: float) -> bool:
    """Tell whether S(x) exceeds a level, from as few terms as it takes.

    The ratio t_(n + 1) / t_n decreases in n for every b > 0, so that the terms decrease for good from the first one
    that does not exceed the one before it.
    """
    power, factor = math.exp(-2.0 * (shape + 1.0) / x), math.exp(-4.0 / x)
    coefficient, before = power, 1.0
    partial, sign = 1.0, -1.0
    n = 1.0
    while True:
        term = coefficient * (2.0 * n + shape)
        reached = partial + sign * term
        if term <= before:
            # Both are equal once the term is lost in rounding: then one of the two comparisons holds.
            if level < min(partial, reached):
                return True
            if level >= max(partial, reached):
                return False
        partial, before, sign = reached, term, -sign
        power *= factor
        coefficient *= (n + shape) / (n + 1.0) * power
        n += 1.0
