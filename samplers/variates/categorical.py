"""Draws from a categorical distribution by one uniform number."""

from __future__ import annotations

import math

import numpy as np

from ppl_topics._util.arrays import FloatArray, RealArray
from ppl_topics._util.compiled import compiled
from ppl_topics.samplers.variates.streams import Stream, uniform

__all__ = ["categorical", "categorical_cumulated", "categorical_in_log_space", "find_cumulated"]


@compiled
def categorical(stream: Stream, weights: RealArray) -> int:
    """Draw an index with probability proportional to its weight.

    The weights are not negative, with a positive and finite sum. An index of weight zero is never drawn: where rounding
    carries the scan past the end, the last positive one is.
    """
    total = 0.0
    for weight in weights:
        total += weight
    target = uniform(stream) * total
    reached = 0.0
    last = 0
    for index in range(weights.size):
        weight = weights[index]
        if weight > 0.0:
            last = index
            reached += weight
            if target < reached:
                break
    return last


@compiled
def categorical_cumulated(stream: Stream, cumulated: RealArray, size: int) -> int:
    """Draw an index from weights that are already cumulated, by binary search.

    Only the first `size` running sums are used; the last of these is positive and finite.
    """
    return find_cumulated(cumulated, size, uniform(stream) * cumulated[size - 1])


@compiled
def find_cumulated(cumulated: RealArray, size: int, target: float) -> int:
    """Find the first index whose running sum exceeds `target`, or else the last of positive weight.

    Since an index of weight zero has the running sum of the one before, it is never found.
    """
    if target >= cumulated[size - 1]:
        target = np.nextafter(cumulated[size - 1], -1.0)
    below, above = -1, size - 1
    while above - below > 1:
        middle = (below + above) >> 1
        if cumulated[middle] > target:
            above = middle
        else:
            below = middle
    return above


@compiled
def categorical_in_log_space(stream: Stream, log_weights: FloatArray) -> int:
    """Draw an index from the logarithms of its weights: for weights of any size.

    The log weights, finite or minus infinity, are overwritten. Returns -1 if all weights are zero.
    """
    largest = -np.inf
    for index in range(log_weights.size):
        largest = max(largest, log_weights[index])
    if largest == -np.inf:
        return -1
    for index in range(log_weights.size):
        log_weights[index] = math.exp(log_weights[index] - largest)
    return categorical(stream, log_weights)
