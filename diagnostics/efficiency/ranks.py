"""Ranks of the draws, their normal scores, and the quantiles that the sorted draws give away."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from ppl_topics._util.arrays import FloatArray, Int32Array
from ppl_topics._util.compiled import compiled

__all__ = ["count_at_most_quantile", "fold", "normal_score_table", "normal_scores"]


def normal_score_table(size: int) -> FloatArray:
    """Return the normal scores of all average ranks among ``size`` draws (Blom 1958), shape (2 * size + 1,).

    Entry ``2 r`` is the normal quantile of ``(r - 3/8) / (size + 1/4)``, where the average rank r is a multiple of 1/2
    because of ties. The first two entries are NaN.
    """
    table = np.full(2 * size + 1, np.nan)
    twice_rank = np.arange(2, 2 * size + 1)
    table[2:] = ndtri((twice_rank / 2 - 0.375) / (size + 0.25))
    return table


@compiled
def normal_scores(
    ordered: FloatArray,
    order: Int32Array,
    size: int,
    table: FloatArray,
    scores: FloatArray,
) -> None:
    """Fill ``scores[order[r]]`` with the normal score of the ``r``-th smallest draw; ties share their mean rank."""
    for r in range(size):
        scores[order[r]] = table[2 * r + 2]
    r = 1
    while r < size:
        if ordered[r] == ordered[r - 1]:
            first = r - 1
            while r < size and ordered[r] == ordered[first]:
                r += 1
            for tied in range(first, r):
                scores[order[tied]] = table[first + 1 + r]
        r += 1


@compiled
def fold(
    ordered: FloatArray,
    order: Int32Array,
    size: int,
    folded: FloatArray,
    folded_order: Int32Array,
) -> bool:
    """Sort the distances from the median of an even number of sorted draws, by merging its two sides.

    Return False, with nothing filled, if the median is not finite.
    """
    left = size // 2 - 1
    right = size // 2
    median = (ordered[left] + ordered[right]) / 2.0
    if not np.isfinite(median):
        return False
    position = 0
    while left >= 0 and right < size:
        below = median - ordered[left]
        above = ordered[right] - median
        from_left = int(below <= above)
        folded[position] = min(below, above)
        folded_order[position] = order[right + from_left * (left - right)]
        left -= from_left
        right += 1 - from_left
        position += 1
    while left >= 0:
        folded[position] = median - ordered[left]
        folded_order[position] = order[left]
        left -= 1
        position += 1
    while right < size:
        folded[position] = ordered[right] - median
        folded_order[position] = order[right]
        right += 1
        position += 1
    return True


@compiled
def count_at_most_quantile(ordered: FloatArray, probability: float) -> int:
    """Return how many sorted draws are at most a quantile (type 7, as NumPy); 0 if it is undefined."""
    n = ordered.size
    position = (n - 1) * probability
    below = int(np.floor(position))
    above = min(below + 1, n - 1)
    weight = position - below
    step = ordered[above] - ordered[below]
    quantile = ordered[below] + step * weight
    if weight >= 0.5:
        quantile = ordered[above] - step * (1.0 - weight)
    if np.isnan(quantile):
        return 0
    count = below
    while count < n and ordered[count] <= quantile:
        count += 1
    while count > 0 and ordered[count - 1] > quantile:
        count -= 1
    return count
