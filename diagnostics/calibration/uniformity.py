"""A test that numbers are independent and uniform on (0, 1), by their empirical distribution function, and its band.

References
----------
T. Säilynoja, P.-C. Bürkner, A. Vehtari (2022). Graphical test for discrete uniformity and its applications in
goodness-of-fit evaluation and multiple sample comparison. Statistics and Computing 32, section 2.
"""

from __future__ import annotations

import functools

import numpy as np
from scipy.special import gammaln
from scipy.stats import binom

from ppl_topics._util.arrays import BoolArray, FloatArray

__all__ = ["points", "simultaneous_band", "uniform_p_value"]

POINTS = 100
"""Points at which the distribution function is looked at, at most."""

BISECTIONS = 40

SURELY = 1e-6
"""A p-value below it need not be exact."""


def points(size: int) -> FloatArray:
    """Return the points at which the distribution function of so many numbers is looked at: i / n, both ends left out.

    There is a middle at least.
    """
    number = max(2, min(size, POINTS))
    return np.arange(1, number) / number


def uniform_p_value(values: FloatArray) -> float:
    """Return the p-value of the hypothesis that numbers are independent and uniform on (0, 1).

    At each point z the number of values up to z is binomial, and the statistic gamma is the smallest of its two-sided
    tail probabilities over all points (equation 7). Its distribution is computed exactly.
    """
    size = len(values)
    z = points(size)
    number = np.searchsorted(np.sort(values), z, side="right")
    tails = np.minimum(binom.cdf(number, size, z), binom.sf(number - 1, size, z))
    return _chance_outside(size, 2.0 * float(tails.min()))


@functools.lru_cache(maxsize=64)
def simultaneous_band(size: int, false_alarm: float) -> tuple[FloatArray, FloatArray]:
    """Return the lowest and the highest share of uniform numbers up to each of the `points`.

    The empirical distribution function of ``size`` numbers leaves this band anywhere with a probability of at most
    ``false_alarm``, just where `uniform_p_value` is at most that.
    """
    # On a scale of logarithms: the level of each point is far below that of all.
    low, high = np.log(1e-18), 0.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if _chance_outside(size, float(np.exp(middle))) <= false_alarm else (low, middle)
    inside = _inside(size, float(np.exp(low)))
    lowest, highest = inside.argmax(axis=1), size - inside[:, ::-1].argmax(axis=1)
    return lowest / size, highest / size


def _inside(size: int, level: float) -> BoolArray:
    """Return which numbers of values up to each point, shape (points, size + 1), have tails above half the level."""
    z, number = points(size)[:, None], np.arange(size + 1)
    tails = np.minimum(binom.cdf(number, size, z), binom.sf(number - 1, size, z))
    # Of equal tails rounding makes different ones.
    inside: BoolArray = tails > level / 2.0 * (1.0 + 1e-9)
    return inside


def _chance_outside(size: int, level: float) -> float:
    """Return the probability that the tail probability of some point is at most the level.

    Numbers of values up to successive points are a Markov chain with binomial steps, which is followed as long as it
    is inside (section 2.1, algorithm 1).
    """
    z = points(size)
    if level * len(z) < SURELY:
        # At most the sum over all points.
        return level * len(z)
    inside = _inside(size, level)
    log_factorial = gammaln(np.arange(size + 1) + 1.0)
    held, weights, before = np.zeros(1, dtype=np.int64), np.ones(1), 0.0
    for allowed, point in zip(inside, z, strict=True):
        to, step = np.flatnonzero(allowed), (point - before) / (1.0 - before)
        rest, added = size - held[:, None], to - held[:, None]
        possible = added >= 0
        added, left = np.where(possible, added, 0), np.where(possible, rest - added, 0)
        log_p = log_factorial[rest] - log_factorial[added] - log_factorial[left]
        log_p += added * np.log(step) + left * np.log1p(-step)
        weights = weights @ np.exp(np.where(possible, log_p, -np.inf))
        held, before = to, point
    return float(np.clip(1.0 - weights.sum(), 0.0, 1.0))
