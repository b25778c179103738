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

from ppl_topics._util.arrays import Float32Array, FloatArray, Int32Array, UInt8Array
from ppl_topics._util.compiled import compiled
from ppl_topics.core.keys import Key
from ppl_topics.samplers.variates.gamma import gamma, gamma_above_one
from ppl_topics.samplers.variates.philox import POSITION, refill
from ppl_topics.samplers.variates.row_masks import included_cells, positive_cells
from ppl_topics.samplers.variates.simd_masks import CELLS, compare_bytes, lowest_bit
from ppl_topics.samplers.variates.small_gammas import accepted, finish, new_proposals, propose, set_shape
from ppl_topics.samplers.variates.streams import Stream, new_stream, start, uniform, uniform_open

__all__ = ["CUTOFF", "GammaShapes", "draw_exceeding", "draw_gammas", "exceeding_probability"]

CUTOFF = 2.0**-40
LOG_CUTOFF = math.log(CUTOFF)
ZERO, ONE, FULL = np.uint64(0), np.uint64(1), np.uint64(8)

SPARSEST = 0.5
"""Where beta is larger, all but one in a million cells exceed the cutoff: all are drawn."""


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
def draw_gammas(first: int, last: int, shapes: GammaShapes, key: Key, gammas: Float32Array, total: FloatArray) -> None:
    """Draw gamma variates for words `first` to `last` - 1, and add them to the `total` of each topic, shape (K,).

    Variates of cells without tokens are 0 below `CUTOFF`. The unit of the streams is the word.
    """
    n_wk, beta, included = shapes.n_wk, shapes.beta, shapes.included
    n_topics = gammas.shape[1]
    stream = new_stream()
    exceeding, counted = np.empty(n_topics, np.int64), np.empty(n_topics, np.int64)
    proposals = new_proposals(n_topics)
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
            for index in range(n_topics):
                set_shape(proposals, index, prior, width)
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
        propose(stream, n_exceeding, proposals)
        for index in range(n_exceeding):
            topic = exceeding[index]
            drawn = accepted(stream, index, prior, width, proposals)
            if drawn == 0.0:
                drawn = draw_exceeding(stream, prior)
            gammas[word, topic] = drawn
            total[topic] += drawn
        for index in range(n_counted):
            topic = counted[index]
            drawn = gamma_above_one(stream, n_wk[word, topic] + prior)
            gammas[word, topic] = drawn
            total[topic] += drawn
