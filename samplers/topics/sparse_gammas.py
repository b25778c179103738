"""Gamma variates for the counts of a word, most of which are zero: those that cannot matter cost next to nothing.

A cell without tokens has a gamma variate of shape beta, far below any other as a rule: for beta = 0.01 three in four
lie below 2^-40 of a token. Which cells exceed that is drawn first, from eight random bits a cell (and more where they
leave it open); these alone are given a variate, from the gamma distribution conditional on exceeding.

References
----------
J. H. Ahrens, U. Dieter (1974). Computer methods for sampling from gamma, beta, Poisson and binomial
distributions. Computing 12, algorithm GS.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ppl_topics._util.arrays import Float32Array, FloatArray, Int32Array, UInt8Array, UInt64Array
from ppl_topics._util.compiled import compiled, inlined
from ppl_topics.core.keys import Key
from ppl_topics.samplers.variates.gamma import gamma, gamma_above_one
from ppl_topics.samplers.variates.philox import BUFFER, POSITION, refill
from ppl_topics.samplers.variates.row_masks import included_cells, positive_cells
from ppl_topics.samplers.variates.simd import LANES
from ppl_topics.samplers.variates.simd_masks import CELLS, compare_bytes, lowest_bit
from ppl_topics.samplers.variates.streams import Stream, new_stream, start, uniform, uniform_open

__all__ = ["CUTOFF", "GammaShapes", "draw_exceeding", "draw_gammas", "exceeding_probability"]

CUTOFF = 2.0**-40
LOG_CUTOFF = math.log(CUTOFF)
ZERO, ONE, FULL = np.uint64(0), np.uint64(1), np.uint64(8)
COARSE_SHIFT, COARSE_MASK = np.uint64(24), np.uint64(2**24 - 1)
LARGEST_SERIES = 0.5
"""Where 1 - CUTOFF^beta is larger, the series of the logarithm is too slow, and cells are drawn one by one."""

SPARSEST = 0.5
"""Where beta is larger, all but one in a million cells exceed the cutoff: all are drawn."""

L = tuple(1.0 / (2 * power + 1) for power in range(13))
E = tuple((-1.0 / 64.0) ** power / math.factorial(power) for power in range(12))


class GammaShapes(NamedTuple):
    """Shapes of gamma variates that, normalised by topic, are a draw of phi: n_wk + beta_w.

    Attributes
    ----------
    n_wk : ndarray of int32, shape (V, K)
    beta : ndarray of float64, shape (V,)
    included : ndarray of uint8, shape (V, K) or (0, 0)
        Cells of 0 without tokens are left out: their phi is zero. Of shape (0, 0) where topics include all words.
    """

    n_wk: Int32Array
    beta: FloatArray
    included: UInt8Array


@compiled
def exceeding_probability(shape: float) -> float:
    """Return the probability that a gamma variate of shape below 1 exceeds `CUTOFF`.

    The series of the incomplete gamma function (DLMF 8.7.1) has two terms that count: the next is below 2^-81.
    """
    correction = math.log1p(-shape * CUTOFF / (shape + 1.0))
    return -math.expm1(shape * LOG_CUTOFF - math.lgamma(shape + 1.0) + correction)


@compiled
def draw_exceeding(stream: Stream, shape: float) -> float:
    """Draw a gamma variate of shape below 1, given that it exceeds `CUTOFF` (GS without its first piece)."""
    width = -math.expm1(shape * LOG_CUTOFF)
    while True:
        value = finish(stream, shape, width, (width + shape / math.e) * uniform_open(stream))
        if value > 0.0:
            return value


@compiled
def finish(stream: Stream, shape: float, width: float, place: float) -> float:
    """Turn a point of the envelope's mass into a variate, or 0 if it is rejected.

    The point is in (0, width + shape / e), with width = 1 - CUTOFF^shape: below `width` it stands for the variate
    (1 - place)^(1 / shape), which lies between CUTOFF and 1; above, for one from the tail beyond 1.
    """
    if place <= width:
        value = math.exp(math.log1p(-place) / shape)
        return value if uniform_open(stream) < math.exp(-value) else 0.0
    value = 1.0 - math.log((place - width) * math.e / shape)
    return value if uniform_open(stream) < value ** (shape - 1.0) else 0.0


@inlined
def propose(raw: UInt64Array, size: int, shape: float, width: float, place: FloatArray, value: FloatArray) -> None:
    """Turn random words into points of the envelope's mass, and these into variates as `finish` does, all at once.

    The loop is free of calls and branches, so that it becomes vector instructions: the logarithm is the series of
    log((1 + s) / (1 - s)), and the exponential that of exp(-t / 64) to the 64th power; both are right to 1e-11. It
    uses the 40 upper bits of each word and a width of at most 1/2; values of places beyond `width` mean nothing.
    """
    scale = (width + shape / math.e) * 2.0**-40
    for index in range(size):
        point = (np.float64(np.int64(raw[index] >> COARSE_SHIFT)) + 0.5) * scale
        s = point / (2.0 - point)
        q = s * s
        series = L[8] + q * (L[9] + q * (L[10] + q * (L[11] + q * L[12])))
        series = L[4] + q * (L[5] + q * (L[6] + q * (L[7] + q * series)))
        series = L[0] + q * (L[1] + q * (L[2] + q * (L[3] + q * series)))
        t = 2.0 * s * series / shape
        root = E[8] + t * (E[9] + t * (E[10] + t * E[11]))
        root = E[4] + t * (E[5] + t * (E[6] + t * (E[7] + t * root)))
        root = E[0] + t * (E[1] + t * (E[2] + t * (E[3] + t * root)))
        root = root * root
        root = root * root
        root = root * root
        root = root * root
        root = root * root
        place[index] = point
        value[index] = root * root


@compiled
def draw_gammas(first: int, last: int, shapes: GammaShapes, key: Key, gammas: Float32Array, total: FloatArray) -> None:
    """Draw gamma variates for words `first` to `last` - 1, and add them to the `total` of each topic, shape (K,).

    Variates of cells without tokens are 0 below `CUTOFF`. The unit of the streams is the word.
    """
    n_wk, beta, included = shapes.n_wk, shapes.beta, shapes.included
    n_topics = gammas.shape[1]
    stream = new_stream()
    exceeding, counted = np.empty(n_topics, np.int64), np.empty(n_topics, np.int64)
    raw = np.empty(n_topics + LANES, np.uint64)
    place, value = np.empty(n_topics), np.empty(n_topics)
    known, probability, width = -1.0, 0.0, 0.0
    restricted = included.size > 0
    for word in range(first, last):
        start(stream, key, word)
        prior = beta[word]
        if prior > SPARSEST:
            for topic in range(n_topics):
                if restricted and included[word, topic] == 0 and n_wk[word, topic] == 0:
                    gammas[word, topic] = 0.0
                    continue
                drawn = gamma(stream, n_wk[word, topic] + prior)
                gammas[word, topic] = drawn
                total[topic] += drawn
            continue
        if prior != known:
            known, probability, width = prior, exceeding_probability(prior), -math.expm1(prior * LOG_CUTOFF)
        level = np.uint64(np.int64(256.0 * probability))
        undecided = 256.0 * probability - np.float64(np.int64(level))
        n_exceeding = n_counted = 0
        for begin in range(0, n_topics, CELLS):
            end = min(begin + CELLS, n_topics)
            refill(stream)
            stream[POSITION] = FULL
            below, equal = compare_bytes(stream, level)
            positive = positive_cells(n_wk, word, begin, end)
            free = ~positive & (~ZERO >> np.uint64(CELLS - (end - begin)))
            if restricted:
                free &= included_cells(included, word, begin, end)
            equal &= free
            while equal != ZERO:
                if uniform(stream) < undecided:
                    below |= equal & (~equal + ONE)
                equal &= equal - ONE
            below &= free
            while below != ZERO:
                exceeding[n_exceeding] = begin + lowest_bit(below)
                n_exceeding += 1
                below &= below - ONE
            while positive != ZERO:
                counted[n_counted] = begin + lowest_bit(positive)
                n_counted += 1
                positive &= positive - ONE
        for topic in range(n_topics):
            gammas[word, topic] = 0.0
        if width <= LARGEST_SERIES:
            for index in range(0, n_exceeding, LANES):
                refill(stream)
                for lane in range(LANES):
                    raw[index + lane] = stream[BUFFER + lane]
            propose(raw, n_exceeding, prior, width, place, value)
        stream[POSITION] = FULL
        for index in range(n_exceeding):
            topic = exceeding[index]
            if width > LARGEST_SERIES:
                drawn = draw_exceeding(stream, prior)
            else:
                drawn = value[index]
                # What is below 1 - x is below exp(-x): the first 24 bits of the uniform number nearly always show it.
                coarse = np.float64(np.int64(raw[index] & COARSE_MASK))
                if place[index] > width or (coarse + 1.0) * 2.0**-24 > 1.0 - drawn:
                    drawn = accept(stream, prior, width, place[index], drawn, coarse)
            gammas[word, topic] = drawn
            total[topic] += drawn
        for index in range(n_counted):
            topic = counted[index]
            drawn = gamma_above_one(stream, n_wk[word, topic] + prior)
            gammas[word, topic] = drawn
            total[topic] += drawn


@compiled
def accept(stream: Stream, shape: float, width: float, place: float, value: float, coarse: float) -> float:
    """Accept what `propose` proposes where that takes more than comparing the 24 bits in `coarse`, or draw again."""
    if place <= width:
        accepted = value if (coarse + uniform(stream)) * 2.0**-24 < math.exp(-value) else 0.0
    else:
        # A second uniform has the bits that the far tail needs.
        accepted = finish(stream, shape, width, width + uniform_open(stream) * shape / math.e)
    return accepted if accepted > 0.0 else draw_exceeding(stream, shape)
