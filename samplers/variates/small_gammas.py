"""Gamma variates of shapes below 1, many at once: proposals by vector instructions, accepted one by one.

Algorithm GS, or what of it lies above a cutoff: a point of the envelope's mass, in (0, width + shape / e), stands for
the variate (1 - point)^(1 / shape) below `width`, and for one from the tail beyond 1 above it. The width is 1, or
1 - cutoff^shape for variates given that they exceed the cutoff.

References
----------
J. H. Ahrens, U. Dieter (1974). Computer methods for sampling from gamma, beta, Poisson and binomial
distributions. Computing 12, algorithm GS.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ppl_topics._util.arrays import FloatArray, UInt64Array
from ppl_topics._util.compiled import compiled, inlined
from ppl_topics.samplers.variates.philox import BUFFER, POSITION, refill
from ppl_topics.samplers.variates.simd import LANES
from ppl_topics.samplers.variates.streams import Stream, uniform, uniform_open

__all__ = ["Proposals", "accepted", "finish", "new_proposals", "propose", "set_shape"]

FULL = np.uint64(8)
COARSE_SHIFT, COARSE_MASK = np.uint64(24), np.uint64(2**24 - 1)

FRACTION_BITS, FRACTION = np.uint64(52), np.uint64(2**52 - 1)
ROOT_HALF = np.float64(math.sqrt(0.5)).view(np.uint64)
FROM_ROOT_HALF = np.float64(1.0).view(np.uint64) - ROOT_HALF
"""Added to the bits of a number, it makes the exponent that of the number over sqrt(1/2)."""

LAST_DIGITS, BIAS = np.float64(2.0**52).view(np.uint64), 2.0**52 + 1023.0
"""An integer in the last digits of 2^52, read as a number, less 2^52, is that integer as a number."""

NEAREST = 1.5 * 2.0**52
"""A float64 this large has no digits after the point: to add and subtract it rounds."""

LEAST = -1000.0
"""Variates below 2^LEAST are that: far below what sums of variates, or float32, can tell from zero."""

L = tuple(2.0 / math.log(2.0) / (2 * power + 1) for power in range(10))
E = tuple(math.log(2.0) ** power / math.factorial(power) for power in range(14))


class Proposals(NamedTuple):
    """What `propose` makes of random words, for up to so many shapes.

    Attributes
    ----------
    raw : ndarray of uint64
        The random words: the upper 40 bits are the point, the others the first bits of the number that accepts it.
    scale, inverse : ndarray of float64
        Of each shape, see `set_shape`.
    point, value : ndarray of float64
        Points of the envelope's mass, and variates; those of points beyond the width mean nothing.
    """

    raw: UInt64Array
    scale: FloatArray
    inverse: FloatArray
    point: FloatArray
    value: FloatArray


@compiled
def new_proposals(size: int) -> Proposals:
    """Make room for proposals from so many shapes, which `set_shape` must set."""
    raw = np.empty(size + LANES, np.uint64)
    return Proposals(raw, np.empty(size), np.empty(size), np.empty(size), np.empty(size))


@inlined
def set_shape(proposals: Proposals, index: int, shape: float, width: float) -> None:
    """Set one of the shapes."""
    proposals.scale[index] = (width + shape / math.e) * 2.0**-40
    proposals.inverse[index] = 1.0 / shape


@compiled
def propose(stream: Stream, size: int, proposals: Proposals) -> None:
    """Propose variates of the first shapes, with fresh random words.

    The loop is free of calls and branches, so that it becomes vector instructions. The base-2 logarithm of 1 - point is
    the exponent of the number and the series of log((1 + s) / (1 - s)) for the rest, from sqrt(1/2) to sqrt(2), where
    what is lost in 1 - point is added again; the power of 2 is a shift of the exponent and the series of exp.
    """
    raw = proposals.raw
    for index in range(0, size, LANES):
        refill(stream)
        for lane in range(LANES):
            raw[index + lane] = stream[BUFFER + lane]
    stream[POSITION] = FULL
    for index in range(size):
        point = (np.float64(np.int64(raw[index] >> COARSE_SHIFT)) + 0.5) * proposals.scale[index]
        base = 1.0 - point
        lost = (1.0 - base) - point
        shifted = np.float64(base).view(np.uint64) + FROM_ROOT_HALF
        power = np.uint64((shifted >> FRACTION_BITS) | LAST_DIGITS).view(np.float64) - BIAS
        rest = np.uint64((shifted & FRACTION) + ROOT_HALF).view(np.float64)
        s = (rest - 1.0 + lost) / (rest + 1.0)
        q = s * s
        series = L[5] + q * (L[6] + q * (L[7] + q * (L[8] + q * L[9])))
        series = L[0] + q * (L[1] + q * (L[2] + q * (L[3] + q * (L[4] + q * series))))
        exponent = (power + s * series) * proposals.inverse[index]
        exponent = exponent if exponent > LEAST else LEAST
        whole = exponent + NEAREST
        t = exponent - (whole - NEAREST)
        value = E[9] + t * (E[10] + t * (E[11] + t * (E[12] + t * E[13])))
        value = E[4] + t * (E[5] + t * (E[6] + t * (E[7] + t * (E[8] + t * value))))
        value = E[0] + t * (E[1] + t * (E[2] + t * (E[3] + t * value)))
        bits = np.float64(value).view(np.uint64) + (np.float64(whole).view(np.uint64) << FRACTION_BITS)
        proposals.point[index] = point
        proposals.value[index] = np.uint64(bits).view(np.float64)


@inlined
def accepted(stream: Stream, index: int, shape: float, width: float, proposals: Proposals) -> float:
    """Return what was proposed for one of the shapes, or 0 if it is rejected.

    What is below 1 - x is below exp(-x): the first 24 bits of the uniform number nearly always show it.
    """
    point: float = proposals.point[index]
    value: float = proposals.value[index]
    coarse = np.float64(np.int64(proposals.raw[index] & COARSE_MASK))
    if point <= width and (coarse + 1.0) * 2.0**-24 <= 1.0 - value:
        return value
    return accepted_after_all(stream, shape, width, point, value, coarse)


@compiled
def accepted_after_all(stream: Stream, shape: float, width: float, point: float, value: float, coarse: float) -> float:
    """Return the proposal or 0 as `accepted` does, where that takes more than comparing the 24 bits in `coarse`."""
    if point <= width:
        return value if (coarse + uniform(stream)) * 2.0**-24 < math.exp(-value) else 0.0
    # A second uniform has the bits that the far tail needs.
    return finish(stream, shape, width, width + uniform_open(stream) * shape / math.e)


@compiled
def finish(stream: Stream, shape: float, width: float, point: float) -> float:
    """Turn a point of the envelope's mass into a variate, or 0 if it is rejected, or too small for a float."""
    if point <= width:
        value = math.exp(math.log1p(-point) / shape)
        return value if uniform_open(stream) < math.exp(-value) else 0.0
    value = 1.0 - math.log((point - width) * math.e / shape)
    return value if uniform_open(stream) < value ** (shape - 1.0) else 0.0
