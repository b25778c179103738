"""Which words a topic includes, given assignments: a scan over words, the topics' probabilities integrated out.

A word with tokens in a topic is included. Any other is drawn given the rest: the odds of its inclusion are

    pi G(S + b) G(n + S) / ((1 - pi) G(n + S + b) G(S)),

with S the sum of beta over the *other* words that the topic includes, b its own beta, n the topic's tokens and G the
gamma function. The last word of a topic stays.

References
----------
M. Magnusson, L. Jonsson, M. Villani, D. Broman (2018). Sparse partially collapsed MCMC for parallel inference
in topic models. Journal of Computational and Graphical Statistics 27(2), appendix B.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

from ppl_topics._util.arrays import FloatArray, Int32Array, IntArray, UInt8Array
from ppl_topics._util.compiled import inlined, parallel, tight
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.topics.inclusion_ratio import log_inclusion_ratio
from ppl_topics.samplers.variates.streams import Stream, start, uint64, uniform

__all__ = ["indicator_scan", "log_odds", "scan_indicators", "scan_packed"]


BLOCK = 8
"""Topics that are scanned side by side: a byte has eight bits, and a random word eight bytes."""

CHUNKS = 64
"""Pieces of the vocabulary that are counted in parallel."""

CACHED = 4096
"""Odds that are kept for each topic, by the number of words that it includes; a power of 2."""

APART = 128
"""Length of small arrays, most of which is not used: what two threads write to must not lie side by side in memory."""

CERTAIN = 1e300
"""Odds from which a word is included: also those that are infinite, or not a number where that meets an underflow."""

BYTE = np.uint64(255)


@inlined
def level_of(odds: float) -> float:
    """Return 256 times the probability of inclusion."""
    return 256.0 * odds / (1.0 + odds) if odds < CERTAIN else 256.0


@inlined
def draws_inclusion(stream: Stream, byte: np.uint64, level: float) -> bool:
    """Draw whether a word is included, by eight random bits, and more where they leave it open."""
    first = np.float64(np.int64(byte))
    if first + 1.0 <= level:
        return True
    return bool(first < level and uniform(stream) < level - first)


@tight
def set_odds(
    place: int,
    number: int,
    tokens: int,
    beta: float,
    topic_log_odds: float,
    odds: FloatArray,
    held: IntArray,
    kept: FloatArray,
) -> None:
    """Set the odds of words that a topic includes now, and of those that it does not.

    Parameters
    ----------
    place : int
        Of the topic in its block.
    number : int
        Words that the topic includes.
    tokens : int
        Of the topic.
    beta, topic_log_odds : float
    odds : ndarray of float64 of shape (2, 8)
        Overwritten in this place: with the odds of a word that is excluded, and of one that is included.
    held : ndarray of int64 of shape (8, 4096)
    kept : ndarray of float64 of shape (8, 4096)
        Odds that have been computed, and for how many other words.
    """
    for now in range(2):
        others = number - now
        if others <= 0:
            odds[now, place] = np.inf
            continue
        slot = others & (CACHED - 1)
        if held[place, slot] != others:
            held[place, slot] = others
            kept[place, slot] = math.exp(log_inclusion_ratio(others * beta, beta, tokens) + topic_log_odds)
        odds[now, place] = kept[place, slot]


@tight
def scan_equal(
    block: int,
    size: int,
    occupied: UInt8Array,
    n_k: IntArray,
    beta: float,
    word_log_odds: FloatArray,
    topic_log_odds: FloatArray,
    stream: Stream,
    number: IntArray,
    odds: FloatArray,
    level: FloatArray,
    held: IntArray,
    kept: FloatArray,
    packed: UInt8Array,
) -> None:
    """Scan a block of `size` topics where beta is the same for all words (see `scan_indicators`, and `pack`).

    The odds then depend on the topic and the number of other words that it includes: they are computed once for each
    such number that comes up. See `set_odds` for the arrays. The array `level` is of the shape of `odds`, and `number`,
    of shape (8,), says how many words each topic includes.
    """
    first = BLOCK * block
    for place in range(size):
        topic = first + place
        set_odds(place, number[place], n_k[topic], beta, topic_log_odds[topic], odds, held, kept)
        level[0, place], level[1, place] = level_of(odds[0, place]), level_of(odds[1, place])
    for word in range(occupied.shape[1]):
        bits = uint64(stream)
        has, row = np.int64(occupied[block, word]), np.int64(packed[block, word])
        # The logarithm of the word's part of the prior odds; 0 unless each word has a probability of its own.
        own = word_log_odds[word]
        for place in range(size):
            byte = bits & BYTE
            bits >>= np.uint64(8)
            if (has >> place) & 1:
                continue
            before = (row >> place) & 1
            chance = level[before, place] if own == 0.0 else level_of(odds[before, place] * math.exp(own))
            now = np.int64(draws_inclusion(stream, byte, chance))
            if now != before:
                row ^= 1 << place
                topic = first + place
                number[place] += now - before
                set_odds(place, number[place], n_k[topic], beta, topic_log_odds[topic], odds, held, kept)
                level[0, place], level[1, place] = level_of(odds[0, place]), level_of(odds[1, place])
        packed[block, word] = row


@tight
def scan_unequal(
    block: int,
    size: int,
    occupied: UInt8Array,
    n_k: IntArray,
    beta: FloatArray,
    word_log_odds: FloatArray,
    topic_log_odds: FloatArray,
    stream: Stream,
    before: FloatArray,
    after: FloatArray,
    packed: UInt8Array,
) -> None:
    """Scan a block of `size` topics for any beta (see `scan_indicators`, and `pack`).

    S is the sum over the words before, which have been drawn, and the words after, which have not: nothing is ever
    subtracted, so it is right for the smallest beta beside the largest. The array `before` has shape (8,), `after`
    (V + 1, 8); both are zero.
    """
    first, n_words = BLOCK * block, occupied.shape[1]
    for word in range(n_words - 1, -1, -1):
        for place in range(size):
            after[word, place] = after[word + 1, place] + beta[word] * ((np.int64(packed[block, word]) >> place) & 1)
    for word in range(n_words):
        bits = uint64(stream)
        has, row = np.int64(occupied[block, word]), np.int64(0)
        for place in range(size):
            topic = first + place
            byte = bits & BYTE
            bits >>= np.uint64(8)
            now = True
            others = before[place] + after[word + 1, place]
            if (has >> place) & 1 == 0 and others > 0.0:
                ratio = log_inclusion_ratio(others, beta[word], n_k[topic])
                odds = math.exp(ratio + topic_log_odds[topic] + word_log_odds[word])
                now = draws_inclusion(stream, byte, level_of(odds))
            if now:
                row |= 1 << place
                before[place] += beta[word]
        packed[block, word] = row


@parallel
def pack(n_wk: Int32Array, included: UInt8Array, occupied: UInt8Array, packed: UInt8Array) -> IntArray:
    """Pack blocks of eight topics into bytes, in parallel over words; return how many words each topic includes.

    A block of topics reads every row of the arrays: from bytes in a row the scan takes about half of the time.

    Parameters
    ----------
    n_wk : ndarray of int32 of shape (V, K)
    included : ndarray of uint8 of shape (V, K)
    occupied : ndarray of uint8 of shape (blocks, V)
        Overwritten: a bit is 1 where a word has tokens in the topic.
    packed : ndarray of uint8 of shape (blocks, V)
        Overwritten: a bit is 1 there, and where the word is included.
    """
    n_words, n_topics = n_wk.shape
    partial = np.zeros((CHUNKS, n_topics), np.int64)
    for chunk in numba.prange(CHUNKS):
        for word in range(n_words * chunk // CHUNKS, n_words * (chunk + 1) // CHUNKS):
            for block in range(occupied.shape[0]):
                has, row = np.int64(0), np.int64(0)
                for topic in range(BLOCK * block, min(BLOCK * (block + 1), n_topics)):
                    tokens = np.int64(n_wk[word, topic] > 0)
                    now = tokens | np.int64(included[word, topic])
                    has |= tokens << (topic & (BLOCK - 1))
                    row |= now << (topic & (BLOCK - 1))
                    partial[chunk, topic] += now
                occupied[block, word], packed[block, word] = has, row
    number = np.zeros(n_topics, np.int64)
    for chunk in range(CHUNKS):
        number += partial[chunk]
    return number


@parallel
def unpack(packed: UInt8Array, included: UInt8Array) -> None:
    """Write the bits of blocks of eight topics as a matrix of indicators, in parallel over words; see `pack`."""
    for word in numba.prange(included.shape[0]):
        for topic in range(included.shape[1]):
            included[word, topic] = (packed[topic // BLOCK, word] >> (topic & (BLOCK - 1))) & 1


@parallel
def scan_packed(
    in_topic: IntArray,
    n_k: IntArray,
    beta: FloatArray,
    word_log_odds: FloatArray,
    topic_log_odds: FloatArray,
    key: Key,
    occupied: UInt8Array,
    packed: UInt8Array,
) -> None:
    """Draw packed indicators (see `pack`), in parallel over blocks of eight topics; see `scan_indicators`.

    Parameters
    ----------
    in_topic : ndarray of int64 of shape (K,)
        Words that each topic includes.
    n_k : ndarray of int64 of shape (K,)
    beta, word_log_odds : ndarray of float64 of shape (V,)
    topic_log_odds : ndarray of float64 of shape (K,)
    key : Key
        Of the random streams; the unit is the block's first topic.
    occupied : ndarray of uint8 of shape (blocks, V)
    packed : ndarray of uint8 of shape (blocks, V)
        Updated in place.
    """
    n_words, n_topics, n_blocks = beta.size, n_k.size, packed.shape[0]
    equal = True
    for word in range(1, n_words):
        equal &= beta[word] == beta[0]
    for block in numba.prange(n_blocks):
        first, size = BLOCK * block, min(BLOCK, n_topics - BLOCK * block)
        # A stream, in a long array (see `APART`).
        stream = np.zeros(APART, np.uint64)
        start(stream, key, first)
        if equal:
            number, held = np.zeros(APART, np.int64), np.full((BLOCK, CACHED), -1, np.int64)
            number[:size] = in_topic[first : first + size]
            odds, level, kept = np.empty((APART, BLOCK)), np.empty((APART, BLOCK)), np.empty((BLOCK, CACHED))
            scan_equal(
                block,
                size,
                occupied,
                n_k,
                beta[0],
                word_log_odds,
                topic_log_odds,
                stream,
                number,
                odds,
                level,
                held,
                kept,
                packed,
            )
        else:
            before, after = np.zeros(APART), np.zeros((n_words + 1, BLOCK))
            scan_unequal(block, size, occupied, n_k, beta, word_log_odds, topic_log_odds, stream, before, after, packed)


def scan_indicators(
    n_wk: Int32Array,
    n_k: IntArray,
    beta: FloatArray,
    word_log_odds: FloatArray,
    topic_log_odds: FloatArray,
    key: Key,
    included: UInt8Array,
) -> None:
    """Draw the indicator of each word in each topic from its full conditional, phi integrated out.

    In parallel over blocks of eight topics, which are independent; in a topic one word after another.

    Parameters
    ----------
    n_wk : ndarray of int32 of shape (V, K)
    n_k : ndarray of int64 of shape (K,)
        Counts of words and of all tokens in the topics.
    beta : ndarray of float64 of shape (V,)
    word_log_odds : ndarray of float64 of shape (V,)
    topic_log_odds : ndarray of float64 of shape (K,)
        Their sum is the prior log odds of inclusion; infinite where it is certain.
    key : Key
        Of the random streams; the unit is the block's first topic.
    included : ndarray of uint8 of shape (V, K)
        Updated in place.
    """
    n_words, n_topics = n_wk.shape
    shape = -(-n_topics // BLOCK), n_words
    occupied, packed = np.empty(shape, np.uint8), np.empty(shape, np.uint8)
    number = pack(n_wk, included, occupied, packed)
    scan_packed(number, n_k, beta, word_log_odds, topic_log_odds, key, occupied, packed)
    unpack(packed, included)


def log_odds(pi: FloatArray, n_words: int, n_topics: int) -> tuple[FloatArray, FloatArray]:
    """Return log(pi / (1 - pi)) as a sum of a part for each word, shape (V,), and one for each topic, shape (K,).

    Parameters
    ----------
    pi : ndarray of float64 of shape (), (V, 1) or (K,)
    n_words, n_topics : int
    """
    with np.errstate(divide="ignore"):
        odds = np.log(pi) - np.log1p(-pi)
    of_words, of_topics = np.zeros(n_words), np.zeros(n_topics)
    if odds.ndim == 2:
        of_words += odds[:, 0]
    else:
        of_topics += odds
    return of_words, of_topics


@kernel(
    "indicator_scan",
    updates="included",
    integrates_out="phi",
    reads=("z", "beta", "pi"),
    handles=("spike_slab", "words"),
    exact=True,
    automatic=True,
    parallel_over="topic",
    cost="11 * V * K",
    memory="V * K / 4 + 400_000",
    tasks="(K + 7) // 8",
    reference="Magnusson et al. 2018, appendix B",
)
def indicator_scan(binding: Binding) -> KernelFunctions:
    """Draw which words each topic includes, one word after another, phi integrated out; parallel over topics."""
    included = binding.names["included"]
    block: Any = binding.blocks[binding.names["phi"]]
    sizes = binding.sizes

    def step(state: ChainState, memory: None, key: Key) -> None:
        odds = log_odds(block.probability(state), sizes.words, sizes.topics)
        scan_indicators(state.n_wk, state.n_k, state.beta, *odds, key, state.arrays[included])

    return KernelFunctions(step)
