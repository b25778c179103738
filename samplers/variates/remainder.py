"""What draws by running sums in float32 leave out, drawn in float64.

A draw by `ppl_topics.samplers.variates.simd_categorical` picks cell k if a uniform point between 0 and B is in the
core of k, of length c_k. That is a little less than the weight w_k, and much less, or 0, if w_k is small beside the
running sum that it was added to. With probability 1 - sum_k c_k / B the point is in no core. Then the cell is drawn
from the remainders, w_k - c_k >= 0, by a point between 0 and B - sum_k c_k; beyond them all, the draw is repeated. So
the probability of cell k is

    (c_k + (w_k - c_k)) / sum_j w_j = w_k / sum_j w_j,

with weights in float64, whatever was rounded before. The lengths of the cores are known to float64, because a draw
compares numbers of float32: the float32 of a point is at least S from halfway between S and the number before it.
"""

from __future__ import annotations

import numpy as np

from ppl_topics._util.arrays import Float32Array, FloatArray
from ppl_topics._util.compiled import compiled
from ppl_topics.samplers.variates.simd import LANES
from ppl_topics.samplers.variates.simd_categorical import (
    ROUNDINGS,
    Real,
    core_share,
    find_cell,
    find_entry,
    point_bound,
)
from ppl_topics.samplers.variates.streams import Stream, uniform

__all__ = ["cores", "draw_from_remainders", "draw_rest", "subtract_cores"]


@compiled
def least_point(number: np.float32) -> float:
    """Return the least number whose float32 is at least `number`; 0 if that is not positive."""
    if not number > 0.0:
        return 0.0
    return 0.5 * (np.float64(number) + np.float64(np.nextafter(number, np.float32(0.0))))


@compiled
def cores(sums: Float32Array, size: int, bound: float, roundings: int) -> FloatArray:
    """Return where the cores begin and end, for points below `bound`, by their places in the running sums.

    The shape is (8 ceil(size / 8), 2); a core that ends before it begins is empty.
    """
    totals = LANES * ((size + LANES - 1) // LANES)
    # The lane of a point is the number of totals that it reaches; rounding may have put these out of order.
    edges = np.zeros(LANES + 1)
    for lane in range(1, LANES):
        edges[lane] = least_point(sums[totals + lane - 1])
    edges[LANES] = bound
    sort(edges)
    share = core_share(roundings)
    ends = np.empty((totals, 2))
    for lane in range(LANES):
        before = np.float64(sums[totals + lane - 1]) if lane > 0 else 0.0
        begin = 0.0
        for place in range(lane, totals, LANES):
            ends[place, 0] = max(before + begin, edges[lane])
            ends[place, 1] = min(before + least_point(sums[place] * share), edges[lane + 1])
            begin = least_point(sums[place])
    return ends


@compiled
def sort(values: FloatArray) -> None:
    """Sort a few numbers, by insertion; numba takes seconds to compile NumPy's sort."""
    for place in range(1, values.size):
        value, hole = values[place], place
        while hole > 0 and values[hole - 1] > value:
            values[hole] = values[hole - 1]
            hole -= 1
        values[hole] = value


@compiled
def subtract_cores(
    weights: FloatArray, sums: Float32Array, bound: float, in_list: bool, roundings: int = ROUNDINGS
) -> float:
    """Subtract the lengths of their cores from weights; return `bound` less the sum of the lengths.

    Parameters
    ----------
    weights : ndarray of float64 of shape (size,)
        Overwritten with the remainders.
    sums : ndarray of float32
        The running sums of the weights by lane, as `find_cell` takes them, or `find_entry` if `in_list`.
    bound : float
        What the points of the draws are below, at least the sum of the weights.
    in_list : bool
    roundings : int
        As in `find_entry`.
    """
    size = weights.size
    ends = cores(sums, size, bound, roundings)
    # The last row of running sums, where it is not whole, is the last eight cells, except in lists.
    last = size if in_list or size < LANES else size - size % LANES
    for cell in range(size):
        place = cell if cell < last else cell - size + last + LANES
        length = max(0.0, ends[place, 1] - ends[place, 0])
        bound -= length
        weights[cell] = max(0.0, weights[cell] - length)
    return bound


@compiled
def draw_from_remainders(stream: Stream, remainders: FloatArray, bound: float) -> int:
    """Draw an index by a point between 0 and `bound`, which is at least the sum; -1 if the point is beyond that."""
    point = uniform(stream) * bound
    for index in range(remainders.size):
        point -= remainders[index]
        if point < 0.0:
            return index
    return -1


@compiled
def draw_rest(
    stream: Stream,
    weights: FloatArray,
    sums: Float32Array,
    total: Real,
    in_list: bool = False,
    roundings: int = ROUNDINGS,
) -> int:
    """Draw after `draw_cell` (`draw_entry` if `in_list`) has settled nothing; the float64 weights are overwritten."""
    bound = point_bound(total, weights.size, roundings)
    left = subtract_cores(weights, sums, bound, in_list, roundings)
    new = -1
    while new < 0:
        new = draw_from_remainders(stream, weights, left)
        if new < 0:
            point = uniform(stream) * bound
            if in_list:
                new = find_entry(sums, weights.size, point, roundings)
            else:
                new = find_cell(sums, weights.size, point, roundings)
    return new
