"""Chains of zeros and ones, packed 64 draws a word: their autocovariances are counts of common bits."""

from __future__ import annotations

import numpy as np

from ppl_topics._util.arrays import FloatArray, Int32Array, IntArray, UInt64Array
from ppl_topics._util.compiled import compiled

__all__ = ["indicator_lag", "pack", "unpack", "words_per_chain"]

ONE = np.uint64(1)
WORD_MASK = np.uint64(63)
ODD_BITS = np.uint64(0x5555555555555555)
PAIRS = np.uint64(0x3333333333333333)
NIBBLES = np.uint64(0x0F0F0F0F0F0F0F0F)
BYTES = np.uint64(0x0101010101010101)


@compiled
def words_per_chain(n_draws: int) -> int:
    """Return how many words a chain takes, including the empty word at its end that shifts read."""
    return n_draws // 64 + 2


@compiled
def _ones(word: np.uint64) -> int:
    word = word - ((word >> ONE) & ODD_BITS)
    word = (word & PAIRS) + ((word >> np.uint64(2)) & PAIRS)
    word = (word + (word >> np.uint64(4))) & NIBBLES
    return int(np.int64((word * BYTES) >> np.uint64(56)))


@compiled
def _bit(words: UInt64Array, draw: int) -> int:
    return int(np.int64((words[draw >> 6] >> (np.uint64(draw) & WORD_MASK)) & ONE))


@compiled
def pack(
    order: Int32Array,
    start: int,
    stop: int,
    n_draws: int,
    words: UInt64Array,
    means: FloatArray,
) -> None:
    """Set the bits of the draws ``order[start:stop]`` and no others; ``means`` gets each chain's share of ones.

    ``order`` holds positions in the (n_chains, n_draws) array, negative for a draw that is in no chain.
    """
    words[:] = np.uint64(0)
    means[:] = 0.0
    for r in range(start, stop):
        place = order[r]
        if place >= 0:
            chain = place // n_draws
            draw = place - chain * n_draws
            words[chain, draw >> 6] |= ONE << (np.uint64(draw) & WORD_MASK)
            means[chain] += 1.0
    for chain in range(means.size):
        means[chain] /= n_draws


@compiled
def unpack(words: UInt64Array, means: FloatArray, centred: FloatArray) -> None:
    """Write the chains out as centred real numbers, float64 of shape (n_chains, n_draws)."""
    n_chains, n_draws = centred.shape
    for chain in range(n_chains):
        for draw in range(n_draws):
            centred[chain, draw] = _bit(words[chain], draw) - means[chain]


@compiled
def indicator_lag(words: UInt64Array, means: FloatArray, n_draws: int, lag: int, edges: IntArray) -> float:
    """Return the products of the centred draws ``lag`` apart, summed over draws and chains.

    The product of two centred draws expands into the number of ones that meet a one ``lag`` draws later and the number
    of ones among the first and the last ``lag`` draws, which ``edges`` keeps between calls: the lags must be requested
    in the order 0, 1, 2, ... Divided by n_chains * n_draws, the sum is the mean autocovariance.
    """
    n_words = (n_draws + 63) >> 6
    skip = lag >> 6
    right = np.uint64(lag) & WORD_MASK
    left = WORD_MASK - right
    total = 0.0
    for chain in range(means.size):
        row = words[chain]
        if lag == 0:
            edges[chain] = 0
        else:
            edges[chain] += _bit(row, lag - 1) + _bit(row, n_draws - lag)
        common = 0
        for j in range(n_words - skip):
            ahead = (row[j + skip] >> right) | ((row[j + skip + 1] << ONE) << left)
            common += _ones(row[j] & ahead)
        mean = means[chain]
        total += common - mean * (2.0 * mean * n_draws - edges[chain]) + (n_draws - lag) * mean * mean
    return total
