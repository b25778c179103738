"""p-values for a sample of states against their exact distribution, and for what chains do to the mean of a statistic.

References
----------
N. Cressie, T. R. C. Read (1984). Multinomial goodness-of-fit tests. Journal of the Royal Statistical Society B 46.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma
from scipy.stats import chi2, t

from ppl_topics._util.arrays import FloatArray, IntArray

__all__ = ["chi_square", "expected_total_variation", "mix", "same_mean", "score", "total", "total_variation"]

LEAST_EXPECTED = 10.0
POWER = 2 / 3


def chi_square(observed: IntArray, probability: FloatArray) -> float:
    """Return the p-value of a chi-square test of independent draws from a known distribution.

    The statistic is Cressie and Read's, of power 2/3. Its tail follows the chi-square distribution down to p-values of
    about 1e-6, where that of Pearson's statistic is more than twice as heavy, which would break the stated rate of
    false alarms. Cells are joined, rarest first, until each is expected about 10 times, and never less than 5.
    """
    impossible = probability <= 0
    if observed[impossible].any():
        return 0.0
    order = np.argsort(probability, kind="stable")
    expected = probability[order] * observed.sum()
    # A new cell starts whenever the running sum has passed another ten.
    group = (np.cumsum(expected) // LEAST_EXPECTED).astype(np.int64)
    _, group = np.unique(group, return_inverse=True)
    observed_by_group = np.bincount(group, observed[order])
    expected_by_group = np.bincount(group, expected)
    small = expected_by_group < LEAST_EXPECTED / 2
    if small.any() and not small.all():
        keep = int(np.flatnonzero(~small)[0])
        group = np.where(small[group], keep, group)
        observed_by_group = np.bincount(group, observed[order])
        expected_by_group = np.bincount(group, expected)
    used = expected_by_group > 0
    if used.sum() < 2:
        return 1.0
    ratio = observed_by_group[used] / expected_by_group[used]
    statistic = 2 / (POWER * (POWER + 1)) * (observed_by_group[used] * (ratio**POWER - 1)).sum()
    return float(chi2.sf(statistic, used.sum() - 1))


def same_mean(before: FloatArray, after: FloatArray, reference: FloatArray) -> float:
    """Return the p-value of the hypothesis that chains leave a statistic's mean as it is, by Student's t distribution.

    Each of n chains gives its value at the start, ``before``, and its average over the sweeps, ``after``; m further
    values of starts are the ``reference``. The start serves as control variate, by the coefficient that has the least
    variance: near 1 for what hardly moves, where pairs differ by little; near n / (n + m) for what moves fast,
    where the average of a chain has much less noise than a single state. Two degrees of freedom go to the mean and to
    that coefficient; the reference would add some.
    """
    n, m = len(before), len(reference)
    values = np.concatenate([before, after, reference]).astype(np.float64)
    if not np.isfinite(values).all():
        return 0.0
    shared = np.cov(before, after, ddof=1)
    noise = reference.var(ddof=1) * n / m
    weight = (shared[0, 1] + noise) / (shared[0, 0] + noise) if shared[0, 0] + noise > 0 else 1.0
    weight = float(np.clip(weight, 0, 1))
    rest = after - weight * before
    difference = rest.mean() - (1 - weight) * reference.mean()
    # Averages of equal numbers are rounded; a difference of that size is none.
    rounding = 1e-12 * np.abs(values).max()
    variance = rest.var(ddof=1) / n + (1 - weight) ** 2 * reference.var(ddof=1) / m + rounding**2
    return float(2 * t.sf(abs(difference) / np.sqrt(variance), max(1, n - 2))) if variance > 0 else 1.0


def total(array: NDArray[Any]) -> FloatArray:
    """Return the sum over all axes but the first, shape (n,)."""
    return np.asarray(array.reshape(len(array), -1).sum(axis=1))


def score(counts: NDArray[Any], concentration: FloatArray) -> FloatArray:
    """Return how fast the log probability of counts grows with the logarithm of their concentration's sum, shape (n,).

    The last axis is that of the Dirichlet-multinomial distribution; the rows of counts, the axis before it, are summed
    over. No statistic shows with fewer samples that a concentration is a little too large or small.
    """
    mass = concentration.sum(axis=-1, keepdims=True)
    cells = concentration * (digamma(counts + concentration) - digamma(concentration))
    rows = mass * (digamma(counts.sum(axis=-1, keepdims=True) + mass) - digamma(mass))
    return total(cells) - total(rows)


def mix(array: NDArray[Any]) -> FloatArray:
    """Return a combination of all elements but over the first axis, each with its own weight, shape (n,).

    It and its square show an error in any element.
    """
    rows = array.reshape(len(array), -1)
    return np.asarray(rows @ np.cos(1 + 2 * np.arange(rows.shape[1])))


def total_variation(observed: IntArray, probability: FloatArray) -> float:
    """Return the total variation between observed frequencies and a distribution; NaN if nothing was observed."""
    if not observed.any():
        return float("nan")
    return float(0.5 * np.abs(observed / observed.sum() - probability).sum())


def expected_total_variation(samples: int, probability: FloatArray) -> float:
    """Return about the total variation that this many independent draws from the distribution itself would show."""
    spread = np.sqrt(probability * (1 - probability) / samples)
    return float(0.5 * np.sqrt(2 / np.pi) * spread.sum())
