"""Alias tables: draws from a fixed categorical distribution in constant time.

References
----------
A. J. Walker (1977). An efficient method for generating discrete random variables with general distributions.
ACM TOMS 3(3).
M. D. Vose (1991). A linear algorithm for generating random numbers with a given distribution.
IEEE Transactions on Software Engineering 17(9).
"""

from __future__ import annotations

from ppl_topics._util.arrays import IntegerArray, RealArray
from ppl_topics._util.compiled import compiled
from ppl_topics.samplers.variates.streams import Stream, uniform

__all__ = ["build_alias", "draw_alias"]


@compiled
def build_alias(weights: RealArray, probability: RealArray, alias: IntegerArray, scratch: IntegerArray) -> float:
    """Build the table of a categorical distribution (Vose 1991).

    All arithmetic is in float64, so the distribution that the table implies differs from the weights only by the
    rounding of the stored probabilities.
    """
    size = weights.size
    total = 0.0
    largest = 0
    for index in range(size):
        total += weights[index]
        if weights[index] > weights[largest]:
            largest = index
    if not total > 0.0:
        for index in range(size):
            probability[index] = 1.0
            alias[index] = index
        return total
    scale = size / total
    small, large = 0, size
    for index in range(size):
        share = weights[index] * scale
        probability[index] = share
        alias[index] = largest
        if share < 1.0:
            scratch[small] = index
            small += 1
        else:
            large -= 1
            scratch[large] = index
    emptied, left = -1, 1.0
    while large < size:
        giver = scratch[large]
        large += 1
        share = weights[giver] * scale
        if emptied >= 0:
            alias[emptied] = giver
            share -= 1.0 - left
        while small > 0 and share >= 1.0:
            small -= 1
            taker = scratch[small]
            alias[taker] = giver
            share -= 1.0 - weights[taker] * scale
        probability[giver] = share
        emptied, left = (int(giver), share) if share < 1.0 else (-1, 1.0)
    return total


@compiled
def draw_alias(stream: Stream, probability: RealArray, alias: IntegerArray) -> int:
    """Draw an index from a table (Walker 1977) with one uniform number."""
    place = uniform(stream) * probability.size
    cell = int(place)
    if place - cell < probability[cell]:
        return cell
    return int(alias[cell])
